package capture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// definitionNamespace is the namespace of the ids of names that were seen.
var definitionNamespace = UUID{0x5b, 0x6c, 0x1d, 0x0e, 0x0f, 0x2a, 0x4d, 0x8e, 0x9c, 0x31, 0x7a, 0x52, 0xe4, 0x90, 0x3b, 0xd6}

// DefinitionID is the id of a name: a UUID of version 5 of its project, kind, group
// type and text, so that it is the same for ever and on every server.
func (s *SeenName) DefinitionID() UUID {
	return nameID(definitionNamespace, s.ProjectID, strconv.Itoa(int(s.Kind))+":"+strconv.Itoa(s.Group)+":"+s.Name)
}

// staleAfter is for how long a name that nobody uses counts as one in use.
const staleAfter = 30 * 24 * time.Hour

// NameQuery chooses names of events; zero members choose all (spec/clients.md §2.2).
type NameQuery struct {
	// Search are words, each of which is in the name, in any case.
	Search string
	// Custom: only those whose name does not begin with $; Own: only those whose name
	// does.
	Custom, System bool
	Names          []string
	// Since: only those that were seen then or later.
	Since time.Time
	// Order is name or last_seen_at, with - in front for descending; empty: by name.
	Order string
}

// StaleCutoff is a NameQuery.Since that leaves names out which nobody has used for 30
// days.
func StaleCutoff(now time.Time) time.Time { return now.Add(-staleAfter) }

// Filter returns those of a list of names that the query asks for.
func (q *NameQuery) Filter(list []SeenName) []SeenName {
	words := strings.Fields(strings.ToLower(q.Search))
	out := slices.DeleteFunc(slices.Clone(list), func(s SeenName) bool {
		isSystem := strings.HasPrefix(s.Name, "$")
		return q.Custom && isSystem || q.System && !isSystem || len(q.Names) > 0 && !slices.Contains(q.Names, s.Name) || !hasWords(s.Name, words) ||
			!q.Since.IsZero() && s.At.Before(q.Since)
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

func hasWords(name string, words []string) bool {
	name = strings.ToLower(name)
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(name, word) })
}

// PropertyQuery chooses names of properties; zero members choose all
// (spec/clients.md §2.2).
type PropertyQuery struct {
	// Search are words, each of which is in the name, in any case.
	Search string
	// Group is the number of a group type, nil: of all.
	Group *int
	Names []string
	// Numerical: whether the values are numbers; Flag: whether it is the answer of a
	// flag, whose name begins with $feature/.
	Numerical, Flag *bool
	Excluded        []string
	// ExcludeCore leaves out what SDKs set by themselves: names that begin with $, but for
	// answers of flags, and those of campaigns.
	ExcludeCore bool
}

// Filter returns those of a list of names that the query asks for.
func (q *PropertyQuery) Filter(list []SeenName) []SeenName {
	words := strings.Fields(strings.ToLower(q.Search))
	return slices.DeleteFunc(slices.Clone(list), func(s SeenName) bool {
		isFlag := strings.HasPrefix(s.Name, flagAnswer)
		return q.Group != nil && s.Group != *q.Group || len(q.Names) > 0 && !slices.Contains(q.Names, s.Name) || slices.Contains(q.Excluded, s.Name) ||
			q.Numerical != nil && *q.Numerical != (s.Type == typeNumeric) || q.Flag != nil && *q.Flag != isFlag ||
			q.ExcludeCore && !isFlag && isCore(s.Name) || !hasWords(s.Name, words)
	})
}

// isCore reports whether SDKs set a property by themselves.
func isCore(name string) bool {
	return strings.HasPrefix(name, "$") || name == "distinct_id" || name == "token" || slices.Contains(copiedKeys[:], name)
}

// flagAnswer begins the names of properties that hold what a flag has answered.
const flagAnswer = "$feature/"
