package management

import "time"

// DefaultPage is how many items a page has when nobody says (§3).
const DefaultPage = 100

// Page is a stretch of a list.
type Page struct{ Limit, Offset int }

// List is a page and the length of the whole list.
type List[T any] struct {
	Count   int
	Results []T
}

// Counted returns the list without its type.
func (l List[T]) Counted() (count int, results any) {
	if l.Results == nil {
		return l.Count, []T{}
	}
	return l.Count, l.Results
}

// Stamp is a time as the API writes it (§2.4): UTC, with microseconds unless they
// are 0. The zero value is null.
type Stamp struct{ time.Time }

// At is a Stamp in UTC, cut to microseconds as times are stored.
func At(t time.Time) Stamp {
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

// UnmarshalJSON implements json.Unmarshaler: null is the zero value.
func (s *Stamp) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*s = Stamp{}
		return nil
	}
	return s.Time.UnmarshalJSON(text)
}

// listOfRecords is a page of records that are stored as they are shown.
func listOfRecords[T any](tx Tx, q Query) (List[T], error) {
	records, count, err := tx.List(q)
	if err != nil {
		return List[T]{}, err
	}
	out := List[T]{Count: count, Results: make([]T, 0, len(records))}
	for i := range records {
		v, err := decode[T](&records[i])
		if err != nil {
			return List[T]{}, err
		}
		out.Results = append(out.Results, *v)
	}
	return out, nil
}
