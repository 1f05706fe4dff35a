package management

import "time"

// Page is a part of a list: at most Limit items after the first Offset.
type Page struct{ Limit, Offset int }

// List is a page of a list. Count is the length of the whole list.
type List[T any] struct {
	Count   int
	Results []T
}

// Counted returns Count and Results as an untyped value, which is never a nil slice.
func (l List[T]) Counted() (count int, results any) {
	if l.Results == nil {
		return l.Count, []T{}
	}
	return l.Count, l.Results
}

// Stamp is a time in the API's format (§2.4): UTC, with microseconds unless they are 0. The zero
// value is null.
type Stamp struct{ time.Time }

// NewStamp returns t as a Stamp in UTC, cut to microseconds like stored times.
func NewStamp(t time.Time) Stamp {
	if t.IsZero() {
		return Stamp{}
	}
	return Stamp{t.UTC().Truncate(time.Microsecond)}
}

// MarshalJSON implements json.Marshaler.
func (s Stamp) MarshalJSON() ([]byte, error) {
	switch {
	case s.IsZero():
		return []byte("null"), nil
	case s.Nanosecond() < 1000:
		return []byte(s.UTC().Format(`"2006-01-02T15:04:05Z"`)), nil
	}
	return []byte(s.UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}

// UnmarshalJSON implements json.Unmarshaler; null sets the zero value.
func (s *Stamp) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*s = Stamp{}
		return nil
	}
	return s.Time.UnmarshalJSON(text)
}

// ListRecords returns a page of records whose stored form is also that of responses.
func ListRecords[T any](tx Tx, q Query) (List[T], error) {
	records, count, err := tx.List(q)
	if err != nil {
		return List[T]{}, err
	}
	out := List[T]{Count: count, Results: make([]T, 0, len(records))}
	for i := range records {
		v, err := Decode[T](&records[i])
		if err != nil {
			return List[T]{}, err
		}
		out.Results = append(out.Results, *v)
	}
	return out, nil
}

// NonNilStrings returns list, or an empty list if it is nil, so that its JSON is never null.
func NonNilStrings(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
