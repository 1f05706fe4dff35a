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
func (s Flags) orders(tx Tx, st *management.Standing, by string) (map[string]func(a, b *storedFlag) int, error) {
	out := flagOrders
	switch strings.TrimPrefix(by, "-") {
	case "status":
		now := s.Desk.Now()
		out = maps.Clone(out)
		out["status"] = func(a, b *storedFlag) int { return strings.Compare(a.standsAt(now), b.standsAt(now)) }
	case "last_called_at":
		calls, err := tx.LastCalls(st.Project.ID)
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

// blanks makes the signs one that stand between the words of a key.
var blanks = strings.NewReplacer("-", " ", "_", " ")

// matcher makes the test of a query.
func (q *FlagQuery) matcher(s *core) (func(*storedFlag) bool, error) {
	if utf8.RuneCountInString(q.Search) > management.MaxSearch {
		return nil, management.Fault("search", "Search term cannot exceed %d characters", management.MaxSearch)
	}
	for _, word := range q.Status {
		if !slices.Contains(standings, word) {
			return nil, management.Fault("status", "Choose among %s.", strings.Join(standings, ", "))
		}
	}
	tags, without, now := management.TidyTags(q.Tags), management.TidyTags(q.ExcludedTags), s.Desk.Now()
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
		return !f.Hidden && q.stands(f, now) && (q.Mine == 0 || q.Mine == f.CreatedBy || q.Mine == f.ModifiedBy) &&
			management.Among(q.Creators, f.CreatedBy) && f.isOf(q.Type) && (q.Runtime == "" || f.runtime() == q.Runtime) &&
			!slices.Contains(q.Excluded, f.Key) && management.Shares(tags, f.Tags) && (len(without) == 0 || !management.Shares(without, f.Tags)) &&
			(q.Key == "" || strings.EqualFold(f.Key, q.Key)) && management.Is(q.Contexts, len(f.Contexts) > 0) &&
			(q.Experimental == nil || *q.Experimental == f.experimental()) && q.found(f)
	}, nil
}

// stands reports whether a flag is where the query looks.
func (q *FlagQuery) stands(f *storedFlag, now time.Time) bool {
	if len(q.Status) > 0 {
		return slices.Contains(q.Status, f.standsAt(now))
	}
	return f.Archived == q.Archived
}

// found reports whether a flag holds the text that is searched for.
func (q *FlagQuery) found(f *storedFlag) bool {
	if management.HoldsText(f.Key, q.Search) || management.HoldsText(f.Name, q.Search) {
		return true
	}
	return strings.Contains(q.Search, " ") && (management.HoldsText(blanks.Replace(f.Key), q.Search) || management.HoldsText(blanks.Replace(f.Name), q.Search))
}

// experimental reports whether a flag is one for experiments: it has two variants
// or more, and the first of them is the control group (spec/clients.md §13).
func (f *storedFlag) experimental() bool {
	variants := f.shape().variants()
	return len(variants) >= 2 && variants[0].Key == "control"
}

// isOf reports whether a flag is of a type of the list's filter.
func (f *storedFlag) isOf(kind string) bool {
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

// matching are the flags of a query, all of its pages, in its order.
func (s Flags) matching(tx Tx, st *management.Standing, q *FlagQuery) (all []*storedFlag, err error) {
	match, err := q.matcher(s.core)
	if err != nil {
		return nil, err
	}
	var failed error
	_, _, err = tx.Definitions(DefinitionQuery{Kind: FlagDefinition, Project: st.Project.ID, Limit: 1, Match: func(d *Definition) bool {
		f, err := decodeFlag(st.Project.ID, d)
		if err != nil {
			failed = err
		} else if st.Sees(f.thing()) && match(f) {
			all = append(all, f)
		}
		return false
	}})
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	orders, err := s.orders(tx, st, q.Order)
	management.Order(all, orders, q.Order)
	return all, err
}

// List returns a page of flags that are not deleted.
func (s Flags) List(ctx context.Context, st *management.Standing, q FlagQuery) (management.List[Flag], error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (management.List[Flag], error) {
		all, err := s.matching(tx, st, &q)
		if err != nil {
			return management.List[Flag]{}, err
		}
		page, count := management.PageOf(all, q.Page)
		out := management.List[Flag]{Count: count}
		look := s.look(&view{Tx: tx, Standing: st})
		for _, f := range page {
			shown, err := look.flag(f)
			if err != nil {
				return management.List[Flag]{}, err
			}
			out.Results = append(out.Results, *shown)
		}
		return out, nil
	})
}
