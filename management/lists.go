package management

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

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

// NewStamp is a Stamp in UTC, cut to microseconds as times are stored.
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

// UnmarshalJSON implements json.Unmarshaler: null is the zero value.
func (s *Stamp) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*s = Stamp{}
		return nil
	}
	return s.Time.UnmarshalJSON(text)
}

// MaxSearch is how long a text that is searched for may be, in characters.
const MaxSearch = 200

// CheckSearch refuses a text to search for that is too long.
func CheckSearch(text string) error {
	if utf8.RuneCountInString(text) > MaxSearch {
		return CodedFault(CodeMaxLength, "search", "Ensure this field has no more than %d characters.", MaxSearch)
	}
	return nil
}

// MatchesValue reports whether a value is one of those that are asked for; none asks for
// all.
func MatchesValue[T comparable](requested []T, value T) bool {
	return len(requested) == 0 || slices.Contains(requested, value)
}

// MatchesAny reports whether one of the values that are asked for is there; none asks
// for all.
func MatchesAny[T comparable](requested, values []T) bool {
	return len(requested) == 0 || slices.ContainsFunc(requested, func(v T) bool { return slices.Contains(values, v) })
}

// MatchesBool reports whether a truth is the one that is asked for; nil asks for both.
func MatchesBool(requested *bool, value bool) bool { return requested == nil || *requested == value }

// IsBetween reports whether from < at < to; zero bounds are none.
func IsBetween(when Stamp, from, to time.Time) bool {
	return (from.IsZero() || when.After(from)) && (to.IsZero() || when.Before(to))
}

// SortBy puts a list in the order of a field, with - in front the other way round. A
// field that is not there leaves it as it is.
func SortBy[T any](list []T, fields map[string]func(a, b T) int, by string) {
	field := fields[strings.TrimPrefix(by, "-")]
	if field == nil {
		return
	}
	slices.SortStableFunc(list, field)
	if strings.HasPrefix(by, "-") {
		slices.Reverse(list)
	}
}

// PageOf is a page of a whole list.
func PageOf[T any](all []T, p Page) (page []T, count int) {
	from := min(p.Offset, len(all))
	return all[from:min(from+p.Limit, len(all))], len(all)
}

// EveryRecord are all records that a query chooses, at most MaxScan, of which keep
// says yes.
func EveryRecord[T any](tx Tx, q Query, keep func(*T) bool) ([]T, error) {
	q.Offset, q.Limit = 0, 0
	list, err := ListRecords[T](tx, q)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Results, func(v T) bool { return !keep(&v) }), nil
}

// ListRecords is a page of records that are stored as they are shown.
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

// ContainsFold reports whether a text holds another one, in whatever case.
func ContainsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// NormalizeTags are tags trimmed, in lower case and without duplicates (§4.1.1).
func NormalizeTags(list []string) []string {
	out, seen := []string{}, map[string]bool{"": true}
	for _, tag := range list {
		if tag = strings.ToLower(strings.TrimSpace(tag)); !seen[tag] {
			seen[tag] = true
			out = append(out, tag)
		}
	}
	return out
}

// NonNilStrings is a list that is never null.
func NonNilStrings(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
