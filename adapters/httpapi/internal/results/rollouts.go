package results

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rollouts"
)

// rolloutEndpoints are the endpoints of guarded rollouts (experiments.md §4.9).
var rolloutEndpoints = func() []frame.Endpoint {
	const path = "/guarded_rollouts"
	rows := []frame.Row[rollouts.Service]{
		frame.Handle(http.MethodGet, path, "List guarded rollouts", listRollouts),
		frame.Create(path, "Create a guarded rollout", rollouts.Bodies.Rollout, rollouts.Service.Create).WithCheck(checksOf(rolloutQuestions)),
		frame.Get(path+"/{id}", "Read a guarded rollout", rollouts.Service.Get),
		frame.Update(path+"/{id}", "Change a guarded rollout that is a draft or paused", "Replace a guarded rollout", rollouts.Bodies.Rollout, rollouts.Service.Update).WithCheck(checksOf(rolloutQuestions)),
		frame.Remove(path+"/{id}", "Delete a guarded rollout that is a draft or has ended", rollouts.Service.Delete),
		frame.Handle(http.MethodGet, path+"/{id}/evaluations", "List the decisions of a guarded rollout, newest first", func(svc rollouts.Service, c *frame.Call) (management.List[rollouts.Evaluation], error) {
			return svc.Evaluations(c.Ctx, c.Scope, c.Part("id"), c.Page())
		}),
		frame.Row[rollouts.Service]{Do: func(svc rollouts.Service, c *frame.Call) (any, error) { return svc.DryRun(c.Ctx, c.Scope, c.Body) }, Endpoint: frame.Endpoint{
			Method: http.MethodPost, Path: path + "/dry_run", KeyScope: "feature_flag:read", SecondScope: "query:read", NoTimeout: true,
			Summary: "Evaluate a step of a guarded rollout on the stored events, without changing anything", BodyFields: rollouts.Bodies.DryRun, Response: guarded.Evaluation{},
		}}.WithCheck(checksOf(rolloutQuestions)),
		{Do: func(svc rollouts.Service, c *frame.Call) (any, error) { return svc.Simulate(c.Ctx, c.Body) }, Endpoint: frame.Endpoint{
			Method: http.MethodPost, Path: path + "/simulate", KeyScope: "feature_flag:read", NoTimeout: true,
			Summary: "Simulate how a guarded rollout would respond to harms of different sizes", BodyFields: rollouts.Bodies.Simulate, Response: guarded.SimulationResult{},
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(rollouts.Calls)) {
		step := rollouts.Calls[name]
		rows = append(rows, frame.Handle(http.MethodPost, path+"/{id}/"+name, step.Title, func(svc rollouts.Service, c *frame.Call) (*rollouts.Rollout, error) {
			return svc.Call(c.Ctx, c.Scope, c.Part("id"), name, c.Body)
		}).WithBody(step.Fields))
	}
	return frame.Resource(frame.InProject, "feature_flag", func(s *frame.Server) rollouts.Service { return *s.Management.Rollouts }, rows)
}()

func listRollouts(svc rollouts.Service, c *frame.Call) (management.List[rollouts.Rollout], error) {
	return svc.List(c.Ctx, c.Scope, c.ListValues.Int("feature_flag"), c.ListValues.Text("status"), c.Page())
}

// RunAndWait runs a query for a caller outside of HTTP and waits for the result. s may be nil. The result has
// the members of the response. Errors of the query are management errors; if queries are not
// available, the error has the kind Unavailable.
func RunAndWait(ctx context.Context, s *frame.Server, p *management.ProjectRecord, query json.RawMessage, mode queries.Mode, name string) (map[string]any, error) {
	unavailable := &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Queries are not available on this server at the moment."}
	if s == nil || s.Queries == nil {
		return nil, unavailable
	}
	ctx = wire.Context(ctx)
	svc := Of(s)
	project, err := svc.Project(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := svc.Runner.Execute(ctx, queries.Request{Project: project, Query: query, Mode: mode, Name: name})
	var ours *queries.Error
	var wrong *port.Error
	switch {
	case errors.As(err, &wrong):
		return nil, management.Fault("", "%s", wrong.Detail)
	case errors.As(err, &ours) && ours.Kind == queries.TimedOut:
		return nil, management.Fault("", "%s", ours.Detail)
	case errors.As(err, &ours):
		unavailable.Message = ours.Detail
		return nil, unavailable
	case err != nil:
		return nil, err
	}
	return found.Result, nil
}
