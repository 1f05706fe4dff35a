package featureflags

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// ExperimentQuery narrows a list of experiments down. Zero members do not, but for
// Archived.
type ExperimentQuery struct {
	management.Page
	Search   string // in the name, at most 200 characters
	Status   string // draft, running, paused, stopped or complete; others are all
	Archived bool   // only archived ones; else only the others
	Creators []int64
	Flag     int64
	Order    string // a field of experimentOrders, with - in front for descending; empty: newest first
}

// experimentOrders are the fields by which experiments can be ordered.
var experimentOrders = map[string]func(a, b storedExperiment) int{
	"created_at": func(a, b storedExperiment) int { return a.CreatedAt.Compare(b.CreatedAt.Time) },
	"updated_at": func(a, b storedExperiment) int { return a.UpdatedAt.Compare(b.UpdatedAt.Time) },
	"start_date": func(a, b storedExperiment) int { return a.Start.Compare(b.Start.Time) },
	"end_date":   func(a, b storedExperiment) int { return a.End.Compare(b.End.Time) },
	"name":       func(a, b storedExperiment) int { return strings.Compare(a.Name, b.Name) },
}

// experimentStatuses are the words of a query for how far an experiment is.
var experimentStatuses = map[string]string{"draft": "draft", "running": "running", "paused": "paused", "stopped": "stopped", "complete": "stopped"}

func (q *ExperimentQuery) match(st *management.Standing, e *storedExperiment) bool {
	return st.Sees(e.thing()) && e.Archived == q.Archived && management.HoldsText(e.Name, q.Search) && management.Among(q.Creators, e.CreatedBy) && (q.Flag == 0 || e.Flag == q.Flag)
}

// statusOf is how far an experiment is: while its flag is off it is paused.
func (s *core) statusOf(tx Tx, st *management.Standing, e *storedExperiment) (string, error) {
	switch {
	case e.draft():
		return "draft", nil
	case !e.End.IsZero():
		return "stopped", nil
	}
	flag, err := flagOf(tx, st, Flags{s}, e.Flag)
	if err == nil && flag != nil && !flag.Active {
		return "paused", nil
	}
	return "running", err
}

// List returns a page of experiments.
func (s Experiments) List(ctx context.Context, st *management.Standing, q ExperimentQuery) (management.List[Experiment], error) {
	if err := management.CheckSearch(q.Search); err != nil {
		return management.List[Experiment]{}, err
	}
	return management.Read(ctx, &s.Desk, func(tx Tx) (out management.List[Experiment], err error) {
		all, err := s.chosen(tx, st, &q)
		if err != nil {
			return out, err
		}
		page, count := management.PageOf(all, q.Page)
		return s.Rows(&view{Tx: tx, Standing: st}, management.List[storedExperiment]{Count: count, Results: page})
	})
}

// chosen are the experiments that a query asks for, in its order.
func (s Experiments) chosen(tx Tx, st *management.Standing, q *ExperimentQuery) ([]storedExperiment, error) {
	all, err := management.EveryRecord(tx, management.Query{Kind: kindExperiment, Parent: management.ProjectParent(st.Project.ID), Descending: true}, func(e *storedExperiment) bool { return q.match(st, e) })
	if err != nil {
		return nil, err
	}
	if status := experimentStatuses[q.Status]; status != "" {
		var failed error
		all = slices.DeleteFunc(all, func(e storedExperiment) bool {
			is, err := s.statusOf(tx, st, &e)
			failed = cmp.Or(failed, err)
			return is != status
		})
		if failed != nil {
			return nil, failed
		}
	}
	management.Order(all, experimentOrders, q.Order)
	return all, nil
}
