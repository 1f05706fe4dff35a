package management

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultPage is the length of a page if the request has no limit (§3).
const DefaultPage = 100

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

// MaxSearch is the greatest length of a search string, in characters.
const MaxSearch = 200

// CheckSearch returns an error if a search string is longer than MaxSearch.
func CheckSearch(text string) error {
	if utf8.RuneCountInString(text) > MaxSearch {
		return CodedFault(CodeMaxLength, "search", "Ensure this field has no more than %d characters.", MaxSearch)
	}
	return nil
}

// MatchesValue reports whether value is one of requested. It is true if requested is empty.
func MatchesValue[T comparable](requested []T, value T) bool {
	return len(requested) == 0 || slices.Contains(requested, value)
}

// MatchesAny reports whether values has one of requested. It is true if requested is empty.
func MatchesAny[T comparable](requested, values []T) bool {
	return len(requested) == 0 || slices.ContainsFunc(requested, func(v T) bool { return slices.Contains(values, v) })
}

// MatchesBool reports whether value is the requested one. It is true if requested is nil.
func MatchesBool(requested *bool, value bool) bool { return requested == nil || *requested == value }

// IsBetween reports whether from < when < to. A zero from or to is no bound.
func IsBetween(when Stamp, from, to time.Time) bool {
	return (from.IsZero() || when.After(from)) && (to.IsZero() || when.Before(to))
}

// SortBy sorts a list in place by a field, in descending order if by starts with "-". It leaves the
// list unchanged if fields does not have the field.
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

// PageOf returns a page of a complete list, and the length of the list.
func PageOf[T any](all []T, p Page) (page []T, count int) {
	from := min(p.Offset, len(all))
	return all[from:min(from+p.Limit, len(all))], len(all)
}

// EveryRecord returns all records of a query for which keep returns true. The query's page is
// ignored, and at most MaxScan records are read.
func EveryRecord[T any](tx Tx, q Query, keep func(*T) bool) ([]T, error) {
	q.Offset, q.Limit = 0, 0
	list, err := ListRecords[T](tx, q)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Results, func(v T) bool { return !keep(&v) }), nil
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

// ContainsFold reports whether text contains part, regardless of case.
func ContainsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// NormalizeTags returns tags trimmed, in lower case, and without duplicates and empty ones
// (§4.1.1).
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

// NonNilStrings returns list, or an empty list if it is nil, so that its JSON is never null.
func NonNilStrings(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
