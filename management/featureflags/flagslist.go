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
)

// FlagQuery narrows a list of flags down. Zero members do not, but for Archived.
type FlagQuery struct {
	management.Page
	Active       string   // true, false, STALE
	Archived     bool     // only archived ones; else only the others
	Status       []string // active, inactive, stale, archived: any of them; then Archived says nothing
	Mine         int64    // a user who made or last changed it, 0 for anybody
	Creators     []int64
	Search       string // in key and name, ignoring case; a blank stands for - and _ too; at most 200 characters
	Key          string // ignoring case
	Type         string // boolean, multivariant, experiment, remote_config
	Runtime      string // evaluation_runtime
	Excluded     []string
	Tags         []string // any of them
	ExcludedTags []string // none of them
	Contexts     *bool    // whether there are evaluation contexts
	Experimental *bool    // whether an experiment may be made of it
	Order        string   // a field of flagOrders, status or last_called_at, with - in front for descending; empty: newest first
}

// flagOrders are the fields by which flags can be ordered.
var flagOrders = map[string]func(a, b *storedFlag) int{
	"id":         func(a, b *storedFlag) int { return cmp.Compare(a.ID, b.ID) },
	"key":        func(a, b *storedFlag) int { return strings.Compare(a.Key, b.Key) },
	"name":       func(a, b *storedFlag) int { return strings.Compare(a.Name, b.Name) },
	"active":     func(a, b *storedFlag) int { return compareBool(a.Active, b.Active) },
	"version":    func(a, b *storedFlag) int { return cmp.Compare(a.Version, b.Version) },
	"created_at": func(a, b *storedFlag) int { return a.CreatedAt.Compare(b.CreatedAt.Time) },
	"updated_at": func(a, b *storedFlag) int { return a.UpdatedAt.Compare(b.UpdatedAt.Time) },
}

// orders are the fields by which flags can be ordered; what they need beside the flags
// is read for the one that is asked for.
func (s Flags) orders(tx Tx, scope *management.Scope, by string) (map[string]func(a, b *storedFlag) int, error) {
	out := flagOrders
	switch strings.TrimPrefix(by, "-") {
	case "status":
		now := s.Env.Now()
		out = maps.Clone(out)
		out["status"] = func(a, b *storedFlag) int { return strings.Compare(a.listStatus(now), b.listStatus(now)) }
	case "last_called_at":
		calls, err := tx.LastCalls(scope.Project.ID)
		if err != nil {
			return nil, err
		}
		out = maps.Clone(out)
		out["last_called_at"] = func(a, b *storedFlag) int { return calls[a.Key].Compare(calls[b.Key]) }
	}
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// wordSeparators makes the signs one that stand between the words of a key.
var wordSeparators = strings.NewReplacer("-", " ", "_", " ")

// matcher makes the test of a query.
func (q *FlagQuery) matcher(s *core) (func(*storedFlag) bool, error) {
	if utf8.RuneCountInString(q.Search) > management.MaxSearch {
		return nil, management.Fault("search", "Search term cannot exceed %d characters", management.MaxSearch)
	}
	for _, word := range q.Status {
		if !slices.Contains(listStatuses, word) {
			return nil, management.Fault("status", "Choose among %s.", strings.Join(listStatuses, ", "))
		}
	}
	tags, excludedTags, now := management.NormalizeTags(q.Tags), management.NormalizeTags(q.ExcludedTags), s.Env.Now()
	return func(f *storedFlag) bool {
		switch q.Active {
		case "true", "false":
			if f.Active != (q.Active == "true") {
				return false
			}
		case "STALE":
			if f.status(now).Status != statusStale {
				return false
			}
		}
		return !f.Hidden && q.hasStatus(f, now) && (q.Mine == 0 || q.Mine == f.CreatedBy || q.Mine == f.ModifiedBy) &&
			management.MatchesValue(q.Creators, f.CreatedBy) && f.isOfType(q.Type) && (q.Runtime == "" || f.runtime() == q.Runtime) &&
			!slices.Contains(q.Excluded, f.Key) && management.MatchesAny(tags, f.Tags) && (len(excludedTags) == 0 || !management.MatchesAny(excludedTags, f.Tags)) &&
			(q.Key == "" || strings.EqualFold(f.Key, q.Key)) && management.MatchesBool(q.Contexts, len(f.Contexts) > 0) &&
			(q.Experimental == nil || *q.Experimental == f.isExperimental()) && q.matchesText(f)
	}, nil
}

// hasStatus reports whether a flag is where the query looks.
func (q *FlagQuery) hasStatus(f *storedFlag, now time.Time) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, f.listStatus(now))
	}
	return f.Archived == q.Archived
}

// matchesText reports whether a flag holds the text that is searched for.
func (q *FlagQuery) matchesText(f *storedFlag) bool {
	if management.ContainsFold(f.Key, q.Search) || management.ContainsFold(f.Name, q.Search) {
		return true
	}
	return strings.Contains(q.Search, " ") && (management.ContainsFold(wordSeparators.Replace(f.Key), q.Search) || management.ContainsFold(wordSeparators.Replace(f.Name), q.Search))
}

// isExperimental reports whether a flag is one for experiments: it has two variants
// or more, and the first of them is the control group (spec/clients.md §13).
func (f *storedFlag) isExperimental() bool {
	variants := f.shape().variants()
	return len(variants) >= 2 && variants[0].Key == "control"
}

// isOfType reports whether a flag is of a type of the list's filter.
func (f *storedFlag) isOfType(kind string) bool {
	switch kind {
	case "boolean":
		return !f.RemoteConfig && len(f.shape().variants()) == 0
	case "multivariant":
		return len(f.shape().variants()) > 0
	case "experiment":
		return liveCount(f.Links.Experiments) > 0
	case "remote_config":
		return f.RemoteConfig
	}
	return true
}

// selectMatching are the flags of a query, all of its pages, in its order.
func (s Flags) selectMatching(tx Tx, scope *management.Scope, q *FlagQuery) (all []*storedFlag, err error) {
	match, err := q.matcher(s.core)
	if err != nil {
		return nil, err
	}
	var failed error
	_, _, err = tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: scope.Project.ID, Limit: 1, Match: func(d *Definition) bool {
		f, err := decodeFlag(scope.Project.ID, d)
		if err != nil {
			failed = err
		} else if scope.CanSee(f.accessObject()) && match(f) {
			all = append(all, f)
		}
		return false
	}})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	orders, err := s.orders(tx, scope, q.Order)
	management.SortBy(all, orders, q.Order)
	return all, err
}

// List returns a page of flags that are not deleted.
func (s Flags) List(ctx context.Context, scope *management.Scope, q FlagQuery) (management.List[Flag], error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (management.List[Flag], error) {
		all, err := s.selectMatching(tx, scope, &q)
		if err != nil {
			return management.List[Flag]{}, err
		}
		page, count := management.PageOf(all, q.Page)
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
