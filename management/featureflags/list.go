package featureflags

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// FlagQuery selects and sorts flags. A field with its zero value does not restrict the list, except
// Archived: by default, archived flags are not included.
type FlagQuery struct {
	management.Page
	Active   string   // true, false or STALE
	Archived bool     // only archived flags instead of only the rest
	Status   []string // any of active, inactive, stale and archived; if set, Archived is ignored
	Mine     int64    // id of a user who created or last changed the flag
	// IDs are ids of flags; if set, only these flags match. There are at most maxListIDs.
	IDs []int64
	// Creators are ids of users; a flag matches if one of them created it.
	Creators []int64
	// Cohort is the id of a cohort; a flag matches if its conditions use the cohort, directly or
	// through other cohorts.
	Cohort  *int64
	Group   *int64 // index of a group type; a flag matches if it is for groups of this type
	Search  string // substring of key or name, ignoring case; a space also matches - and _; at most 200 characters
	Key     string // the whole key, ignoring case
	Type    string // boolean, multivariant, experiment or remote_config
	Runtime string // evaluation_runtime
	// Excluded are keys of flags that do not match.
	Excluded     []string
	Tags         []string // at least one of them
	ExcludedTags []string // flags with any of them are left out
	Contexts     *bool    // whether the flag has evaluation contexts
	Experimental *bool    // whether an experiment can use the flag
	Order        string   // a key of flagOrders, status or last_called_at, with a leading - if descending; empty: newest first
}

// flagOrders are the comparisons for sorting flags by their own fields, in ascending order.
var flagOrders = map[string]func(a, b *storedflags.Flag) int{
	"id":         func(a, b *storedflags.Flag) int { return cmp.Compare(a.ID, b.ID) },
	"key":        func(a, b *storedflags.Flag) int { return strings.Compare(a.Key, b.Key) },
	"name":       func(a, b *storedflags.Flag) int { return strings.Compare(a.Name, b.Name) },
	"active":     func(a, b *storedflags.Flag) int { return compareBool(a.Active, b.Active) },
	"version":    func(a, b *storedflags.Flag) int { return cmp.Compare(a.Version, b.Version) },
	"created_at": func(a, b *storedflags.Flag) int { return a.CreatedAt.Compare(b.CreatedAt.Time) },
	"updated_at": func(a, b *storedflags.Flag) int { return a.UpdatedAt.Compare(b.UpdatedAt.Time) },
}

// orders returns flagOrders, extended by the order of the parameter if it needs the current time or
// the calls of flags. These are read only for that order.
func (s Flags) orders(tx storeTx, scope *management.Scope, by string) (map[string]func(a, b *storedflags.Flag) int, error) {
	out := flagOrders
	switch strings.TrimPrefix(by, "-") {
	case "status":
		// All comparisons use the same time, so that the order is consistent.
		now := s.Env.Now()
		out = maps.Clone(out)
		out["status"] = func(a, b *storedflags.Flag) int { return strings.Compare(listStatus(a, now), listStatus(b, now)) }
	case "last_called_at":
		calls, err := tx.LastCalls(scope.Project.ID)
		if err != nil {
			return nil, err
		}
		out = maps.Clone(out)
		out["last_called_at"] = func(a, b *storedflags.Flag) int { return calls[a.Key].Compare(calls[b.Key]) }
	}
	return out, nil
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// maxListIDs limits the ids of a query.
const maxListIDs = 200

// wordSeparators replaces the characters between the words of a key with spaces.
var wordSeparators = strings.NewReplacer("-", " ", "_", " ")

// matcher returns a function that reports whether a flag matches the query. Tags are normalized
// here, once for all flags. It returns an error if the search is too long, a status is unknown, or there are too many ids.
func (q *FlagQuery) matcher(s *core) (func(*storedflags.Flag) bool, error) {
	// Check the query before flags are read.
	if utf8.RuneCountInString(q.Search) > lists.MaxSearch {
		return nil, management.Fault("search", "Search term cannot exceed %d characters", lists.MaxSearch)
	}
	for _, word := range q.Status {
		if !slices.Contains(listStatuses, word) {
			return nil, management.Fault("status", "Must be one of %s.", strings.Join(listStatuses, ", "))
		}
	}
	if len(q.IDs) > maxListIDs {
		return nil, management.Fault("ids", "Give at most %d ids.", maxListIDs)
	}
	tags, excludedTags, now := lists.NormalizeTags(q.Tags), lists.NormalizeTags(q.ExcludedTags), s.Env.Now()
	return func(f *storedflags.Flag) bool {
		return q.isActive(f, now) && !f.Hidden && lists.MatchesValue(q.IDs, f.ID) && q.hasStatus(f, now) && (q.Mine == 0 || q.Mine == f.CreatedBy || q.Mine == f.ModifiedBy) &&
			lists.MatchesValue(q.Creators, f.CreatedBy) && isOfType(f, q.Type) && (q.Runtime == "" || f.EffectiveRuntime() == q.Runtime) &&
			!slices.Contains(q.Excluded, f.Key) && lists.MatchesAny(tags, f.Tags) && (len(excludedTags) == 0 || !lists.MatchesAny(excludedTags, f.Tags)) &&
			(q.Group == nil || isForGroups(f, *q.Group)) && (q.Key == "" || strings.EqualFold(f.Key, q.Key)) && lists.MatchesBool(q.Contexts, len(f.Contexts) > 0) &&
			(q.Experimental == nil || *q.Experimental == isExperimental(f)) && q.matchesText(f)
	}, nil
}

// isActive reports whether a flag is on, off or stale as the query requires.
func (q *FlagQuery) isActive(f *storedflags.Flag, now time.Time) bool {
	switch q.Active {
	case "true", "false":
		return f.Active == (q.Active == "true")
	case "STALE":
		return statusOfFlag(f, now).Status == statusStale
	}
	return true
}

// hasStatus reports whether a flag has one of the statuses of the query.
func (q *FlagQuery) hasStatus(f *storedflags.Flag, now time.Time) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, listStatus(f, now))
	}
	return f.Archived == q.Archived
}

// matchesText reports whether the key or name of a flag contains the search.
func (q *FlagQuery) matchesText(f *storedflags.Flag) bool {
	if lists.ContainsFold(f.Key, q.Search) || lists.ContainsFold(f.Name, q.Search) {
		return true
	}
	// A search with spaces also finds keys such as new-checkout and new_checkout.
	return strings.Contains(q.Search, " ") && (lists.ContainsFold(wordSeparators.Replace(f.Key), q.Search) || lists.ContainsFold(wordSeparators.Replace(f.Name), q.Search))
}

// isExperimental reports whether an experiment can use the flag: the flag must have at least two
// variants, the first must be the control group (spec/clients.md §13), and the flag must not be a
// remote configuration.
func isExperimental(f *storedflags.Flag) bool {
	variants := f.Shape().Variants()
	return !f.RemoteConfig && len(variants) >= 2 && variants[0].Key == "control"
}

// isForGroups reports whether a flag is for groups of a type.
func isForGroups(f *storedflags.Flag, index int64) bool {
	of := f.Shape().Aggregation
	return of != nil && int64(*of) == index
}

// isOfType reports whether a flag has a type; any other kind than the four types matches all flags.
func isOfType(f *storedflags.Flag, kind string) bool {
	switch kind {
	case "boolean":
		return !f.RemoteConfig && len(f.Shape().Variants()) == 0
	case "multivariant":
		return len(f.Shape().Variants()) > 0
	case "experiment":
		return storedflags.LiveCount(f.Links.Experiments) > 0
	case "remote_config":
		return f.RemoteConfig
	}
	return true
}

// selectMatching returns the flags on all pages of a query that the caller may see, in its order.
func (s Flags) selectMatching(tx storeTx, scope *management.Scope, q *FlagQuery) (all []*storedflags.Flag, err error) {
	match, err := q.matcher(s.core)
	if err != nil {
		return nil, err
	}
	usesCohort, err := q.usesCohort(tx, scope)
	if err != nil {
		return nil, err
	}
	// Match collects the flags and always returns false, so that the store builds no page by
	// itself.
	var failed error
	_, _, err = tx.Definitions(management.DefinitionQuery{Kind: management.FlagDefinition, Project: scope.Project.ID, Limit: 1, Match: func(d *management.Definition) bool {
		f, err := storedflags.Decode(scope.Project.ID, d)
		if err != nil {
			failed = err
		} else if scope.CanSee(f.AccessObject()) && match(f) && (usesCohort == nil || usesCohort(f)) {
			all = append(all, f)
		}
		return false
	}})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	orders, err := s.orders(tx, scope, q.Order)
	lists.SortBy(all, orders, q.Order)
	return all, err
}

// List returns a page of flags that are not deleted.
func (s Flags) List(ctx context.Context, scope *management.Scope, q FlagQuery) (management.List[Flag], error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (management.List[Flag], error) {
		all, err := s.selectMatching(tx, scope, &q)
		if err != nil {
			return management.List[Flag]{}, err
		}
		page, count := lists.PageOf(all, q.Page)
		out := management.List[Flag]{Count: count}
		renderer := s.newRenderer(&view{Tx: tx, Scope: scope})
		for _, f := range page {
			row, err := renderer.render(f)
			if err != nil {
				return management.List[Flag]{}, err
			}
			out.Results = append(out.Results, *row)
		}
		return out, nil
	})
}
