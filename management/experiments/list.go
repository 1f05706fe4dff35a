package experiments

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/lists"
)

// Query filters a list of experiments. Zero values of its members do not filter, except
// for Archived.
type Query struct {
	management.Page
	Search   string // in the name, at most 200 characters
	Status   string // draft, running, paused, exposure_frozen, stopped or complete; any other value does not filter
	Archived bool   // true returns only archived experiments, false only those that are not
	// Creators are the ids of the accepted authors.
	Creators []int64
	Flag     int64
	Order    string // a key of experimentOrders, with - for descending order; if empty, newest first
}

// experimentOrders are the fields by which experiments can be sorted.
var experimentOrders = map[string]func(a, b storedExperiment) int{
	"created_at": func(a, b storedExperiment) int { return a.CreatedAt.Compare(b.CreatedAt.Time) },
	"updated_at": func(a, b storedExperiment) int { return a.UpdatedAt.Compare(b.UpdatedAt.Time) },
	"start_date": func(a, b storedExperiment) int { return a.Start.Compare(b.Start.Time) },
	"end_date":   func(a, b storedExperiment) int { return a.End.Compare(b.End.Time) },
	"name":       func(a, b storedExperiment) int { return strings.Compare(a.Name, b.Name) },
}

// experimentStatuses maps the values of Query.Status to those of Experiment.Status.
var experimentStatuses = map[string]string{"draft": "draft", "running": "running", "paused": "paused", "exposure_frozen": "exposure_frozen", "stopped": "stopped", "complete": "stopped"}

// match reports whether the caller may see an experiment and it matches the query. Status is not
// checked: it depends on the flag (statusOf).
func (q *Query) match(scope *management.Scope, e *storedExperiment) bool {
	return scope.CanSee(e.accessObject()) && e.Archived == q.Archived && lists.ContainsFold(e.Name, q.Search) && lists.MatchesValue(q.Creators, e.CreatedBy) && (q.Flag == 0 || e.Flag == q.Flag)
}

// statusOf returns the status of an experiment: draft, running, paused, exposure_frozen or stopped.
// A launched experiment is paused while its flag is off, also if its exposure is frozen. If the flag
// is deleted, the experiment counts as running.
func (s Service) statusOf(tx storeTx, scope *management.Scope, e *storedExperiment) (string, error) {
	switch {
	case e.isDraft():
		return "draft", nil
	case !e.End.IsZero():
		return "stopped", nil
	}
	flag, err := s.stored.Find(tx, scope, e.Flag)
	if err == nil && flag != nil && !flag.Active {
		return "paused", nil
	}
	if e.Frozen != nil {
		return "exposure_frozen", err
	}
	return "running", err
}

// List returns a page of the experiments that match the query and that the caller may see.
func (s Service) List(ctx context.Context, scope *management.Scope, q Query) (management.List[Experiment], error) {
	if err := lists.CheckSearch(q.Search); err != nil {
		return management.List[Experiment]{}, err
	}
	return management.Read(ctx, s.env, func(tx storeTx) (out management.List[Experiment], err error) {
		all, err := s.selectMatching(tx, scope, &q)
		if err != nil {
			return out, err
		}
		page, count := lists.PageOf(all, q.Page)
		return s.Rows(&view{Tx: tx, Scope: scope}, management.List[storedExperiment]{Count: count, Results: page})
	})
}

// experimentStats are the numbers of recently launched and completed experiments (experiments.md
// §3.1).
type experimentStats struct {
	Launched  int     `json:"launched_last_30d"`
	Before    int     `json:"launched_previous_30d"`
	Change    float64 `json:"percent_change"` // in percent from Before to Launched, 0 if Before is 0
	Active    int     `json:"active_experiments"`
	Completed int     `json:"completed_last_30d"`
}

// Stats counts the experiments that the caller may see: those launched or completed recently, and
// all that have not ended.
func (s Service) Stats(ctx context.Context, scope *management.Scope) (*experimentStats, error) {
	return management.Read(ctx, s.env, func(tx storeTx) (*experimentStats, error) {
		now, out := s.env.Now(), &experimentStats{}
		// The period of the last 30 days, and the 30 days before it for comparison.
		from, before := now.AddDate(0, 0, -30), now.AddDate(0, 0, -60)
		// The function counts as it visits the records, and keeps none of them.
		_, err := lists.EveryRecord(tx, management.Query{Kind: kindExperiment, Parent: scope.Parent()}, func(x *storedExperiment) bool {
			if !scope.CanSee(x.accessObject()) || x.isDraft() {
				return false
			}
			switch {
			case x.Start.After(now) || x.Start.Before(before):
			case x.Start.Before(from):
				out.Before++
			default:
				out.Launched++
			}
			if x.End.IsZero() {
				out.Active++
			} else if !x.End.Before(from) && !x.End.After(now) {
				out.Completed++
			}
			return false
		})
		if out.Before > 0 {
			// Rounded to one decimal place.
			out.Change = math.Round(1000*float64(out.Launched-out.Before)/float64(out.Before)) / 10
		}
		return out, err
	})
}

// ListEligibleFlags returns a page of the flags that an experiment can use: those with at least
// two variants, of which the first is control.
func (s Service) ListEligibleFlags(ctx context.Context, scope *management.Scope, search string, p management.Page) (management.List[featureflags.Flag], error) {
	// Experimental selects the flags with suitable variants, see FlagQuery.
	experimental := true
	return s.flags.List(ctx, scope, featureflags.FlagQuery{Page: p, Search: search, Experimental: &experimental})
}

// ListWithoutCalls returns a page of the running experiments whose flag has never been called.
func (s Service) ListWithoutCalls(ctx context.Context, scope *management.Scope, p management.Page) (management.List[Experiment], error) {
	return management.Read(ctx, s.env, func(tx storeTx) (out management.List[Experiment], err error) {
		calls, err := tx.LastCalls(scope.Project.ID)
		if err != nil {
			return out, err
		}
		all, err := s.selectMatching(tx, scope, &Query{})
		if err != nil {
			return out, err
		}
		// After a first error the function does no more reads, and the error is returned below.
		all = slices.DeleteFunc(all, func(x storedExperiment) bool {
			if err != nil || x.isDraft() || !x.End.IsZero() {
				return true
			}
			flag, fault := s.stored.Find(tx, scope, x.Flag)
			err = fault
			return flag == nil || !calls[flag.Key].IsZero()
		})
		if err != nil {
			return out, err
		}
		page, count := lists.PageOf(all, p)
		return s.Rows(&view{Tx: tx, Scope: scope}, management.List[storedExperiment]{Count: count, Results: page})
	})
}

// selectMatching returns all experiments that match a query, in its order.
func (s Service) selectMatching(tx storeTx, scope *management.Scope, q *Query) ([]storedExperiment, error) {
	all, err := lists.EveryRecord(tx, management.Query{Kind: kindExperiment, Parent: management.ProjectParent(scope.Project.ID), Descending: true}, func(e *storedExperiment) bool { return q.match(scope, e) })
	if err != nil {
		return nil, err
	}
	// The status depends on the flag, so it is filtered after the records have been read.
	if status := experimentStatuses[q.Status]; status != "" {
		var failed error
		all = slices.DeleteFunc(all, func(e storedExperiment) bool {
			actual, err := s.statusOf(tx, scope, &e)
			failed = cmp.Or(failed, err)
			return actual != status
		})
		if failed != nil {
			return nil, failed
		}
	}
	lists.SortBy(all, experimentOrders, q.Order)
	return all, nil
}
