package capture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// definitionNamespace is the namespace of the UUIDs that DefinitionID returns.
var definitionNamespace = UUID{0x5b, 0x6c, 0x1d, 0x0e, 0x0f, 0x2a, 0x4d, 0x8e, 0x9c, 0x31, 0x7a, 0x52, 0xe4, 0x90, 0x3b, 0xd6}

// DefinitionID returns the ID of the name: a UUID of version 5 of its project, kind, group
// type and name. It is therefore the same on every server and never changes.
func (s *SeenName) DefinitionID() UUID {
	return nameID(definitionNamespace, s.ProjectID, strconv.Itoa(int(s.Kind))+":"+strconv.Itoa(s.Group)+":"+s.Name)
}

// staleAfter is the time after which a name without new events is stale.
const staleAfter = 30 * 24 * time.Hour

// NameQuery selects names of events or of properties. The zero value selects all
// (spec/clients.md §2.2).
type NameQuery struct {
	// Search is a list of words separated by spaces. A name matches if it contains all of
	// them, ignoring case.
	Search string
	// Names selects the names in the list; if empty, all.
	Names []string
	// Excluded names do not match.
	Excluded []string
	// Custom selects names that do not begin with $, System those that do.
	Custom, System bool
	// ActiveAt excludes stale names: those that were not seen in the 30 days before that time.
	// If it is zero, they match.
	ActiveAt time.Time
	// Group is the number of a group type. If nil, properties of all group types match.
	Group *int
	// Numerical selects properties by whether their type is Numeric, Flag by whether the name
	// begins with $feature/, as that of the value of a feature flag. If nil, both match.
	Numerical, Flag *bool
	// ExcludeCore excludes the properties that SDKs set by themselves: campaign properties,
	// and names that begin with $, except those of feature flags.
	ExcludeCore bool
	// Order is name or last_seen_at, with a leading - for descending order. If empty, the
	// order of the list stays, which is by name.
	Order string
}

// Filter returns the names of list that match the query, in its order. It does not modify
// list.
func (q *NameQuery) Filter(list []SeenName) []SeenName {
	words := strings.Fields(strings.ToLower(q.Search))
	out := slices.DeleteFunc(slices.Clone(list), func(s SeenName) bool {
		return !q.matchesName(&s) || !q.matchesProperty(&s) || !hasWords(s.Name, words)
	})
	switch q.Order {
	case "-name":
		slices.Reverse(out)
	case "last_seen_at":
		slices.SortStableFunc(out, func(a, b SeenName) int { return a.At.Compare(b.At) })
	case "-last_seen_at":
		slices.SortStableFunc(out, func(a, b SeenName) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
	}
	return out
}

// matchesName applies the conditions on all names, except Search.
func (q *NameQuery) matchesName(s *SeenName) bool {
	isSystem := strings.HasPrefix(s.Name, "$")
	switch {
	case q.Custom && isSystem, q.System && !isSystem, slices.Contains(q.Excluded, s.Name):
		return false
	case len(q.Names) > 0 && !slices.Contains(q.Names, s.Name):
		return false
	}
	return q.ActiveAt.IsZero() || !s.At.Before(q.ActiveAt.Add(-staleAfter))
}

// matchesProperty applies the conditions on names of properties.
func (q *NameQuery) matchesProperty(s *SeenName) bool {
	isFlag := strings.HasPrefix(s.Name, flagAnswer)
	switch {
	case q.Group != nil && s.Group != *q.Group, q.Numerical != nil && *q.Numerical != (s.Type == typeNumeric), q.Flag != nil && *q.Flag != isFlag:
		return false
	}
	return !q.ExcludeCore || isFlag || !isCore(s.Name)
}

// hasWords reports whether a name contains all words, ignoring case. The words must be in
// lower case.
func hasWords(name string, words []string) bool {
	name = strings.ToLower(name)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) })
}

// isCore reports whether SDKs set a property by themselves.
func isCore(name string) bool {
	return strings.HasPrefix(name, "$") || name == "distinct_id" || name == "token" || slices.Contains(copiedKeys[:], name)
}

// flagAnswer is the prefix of the properties that contain the value of a feature flag.
const flagAnswer = "$feature/"
