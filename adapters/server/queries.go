package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"runtime"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
)

// openQueries creates the service for queries over events, if the server has both Capture and
// Management.
func (p *parts) openQueries() (err error) {
	if p.recorder == nil || p.rooms == nil {
		return nil
	}
	limits := p.Queries
	if limits.Workers <= 0 {
		limits.Workers = max(runtime.GOMAXPROCS(0)/2, 1)
	}
	p.queries, err = queries.New(queries.Config{
		Source: p.store, States: p.store, RunStore: p.store, NewID: rand.Text, Limits: limits,
		Definitions: func(ctx context.Context, projectID int64) (*flags.Definitions, error) {
			d, err := p.store.Definitions(ctx, flags.Project{ID: projectID})
			return &d, err
		},
		Actions: func(ctx context.Context, projectID int64) (map[int64]port.Action, error) {
			if p.rooms.Dashboards == nil {
				return nil, nil
			}
			out := map[int64]port.Action{}
			err := p.rooms.Dashboards.Actions.Each(ctx, projectID, func(id int64, name string, steps json.RawMessage) {
				out[id] = port.Action{Name: name, Steps: steps}
			})
			return out, err
		},
		Work: func() uint64 {
			recorded := p.recorder.Stats()
			return p.decider.Stats().Requests + recorded.Events + recorded.Duplicates + recorded.Commits
		},
		OnSlowQuery: func(s queries.SlowQuery) {
			p.log.Warn("slow query", "kind", s.Kind, "project", s.Project, "rows", s.Rows, "seconds", s.Took.Seconds(), "name", s.Name)
		},
	})
	return err
}
