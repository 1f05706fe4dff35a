package lists

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// MaxSearch is the greatest length of a search string, in characters.
const MaxSearch = 200

// CheckSearch returns an error if a search string is longer than MaxSearch.
func CheckSearch(text string) error {
	if utf8.RuneCountInString(text) > MaxSearch {
		return management.CodedFault(management.CodeMaxLength, "search", "Ensure this field has no more than %d characters.", MaxSearch)
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

// IsBetween reports whether from < when < to. A zero from or to is no bound.
func IsBetween(when management.Stamp, from, to time.Time) bool {
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
func PageOf[T any](all []T, p management.Page) (page []T, count int) {
	from := min(p.Offset, len(all))
	return all[from:min(from+p.Limit, len(all))], len(all)
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

// MatchesBool reports whether value is the requested one. It is true if requested is nil.
func MatchesBool(requested *bool, value bool) bool { return requested == nil || *requested == value }

// EveryRecord returns all records of a query for which keep returns true. The query's page is
// ignored, and at most MaxScan records are read.
func EveryRecord[T any](tx management.Tx, q management.Query, keep func(*T) bool) ([]T, error) {
	q.Offset, q.Limit = 0, 0
	list, err := management.ListRecords[T](tx, q)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Results, func(v T) bool { return !keep(&v) }), nil
}
