package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// rolloutEndpoints are the endpoints of guarded rollouts (experiments.md §4.9).
var rolloutEndpoints = func() []endpoint {
	const path = "/guarded_rollouts"
	rows := []row[featureflags.Rollouts]{
		handle(http.MethodGet, path, "List guarded rollouts", listRollouts),
		create(path, "Create a guarded rollout", featureflags.RolloutFields, featureflags.Rollouts.Create).withCheck(checksOf(rolloutQuestions)),
		get(path+"/{id}", "Read a guarded rollout", featureflags.Rollouts.Get),
		update(path+"/{id}", "Change a guarded rollout that is a draft or paused", "Replace a guarded rollout", featureflags.RolloutFields, featureflags.Rollouts.Update).withCheck(checksOf(rolloutQuestions)),
		remove(path+"/{id}", "Delete a guarded rollout that is a draft or has ended", featureflags.Rollouts.Delete),
		handle(http.MethodGet, path+"/{id}/evaluations", "List the decisions of a guarded rollout, newest first", func(svc featureflags.Rollouts, c *call) (management.List[featureflags.Evaluation], error) {
			return svc.Evaluations(c.ctx, c.scope, c.part("id"), c.page())
		}),
		row[featureflags.Rollouts]{do: func(svc featureflags.Rollouts, c *call) (any, error) { return svc.DryRun(c.ctx, c.scope, c.body) }, endpoint: endpoint{
			method: http.MethodPost, path: path + "/dry_run", keyScope: "feature_flag:read", secondScope: "query:read", noTimeout: true,
			summary: "Evaluate a step of a guarded rollout on the stored events, without changing anything", bodyFields: featureflags.DryRunFields, response: experiments.Evaluation{},
		}}.withCheck(checksOf(rolloutQuestions)),
		{do: func(svc featureflags.Rollouts, c *call) (any, error) { return svc.Simulate(c.ctx, c.body) }, endpoint: endpoint{
			method: http.MethodPost, path: path + "/simulate", keyScope: "feature_flag:read", noTimeout: true,
			summary: "Simulate how a guarded rollout would respond to harms of different sizes", bodyFields: featureflags.SimulateFields, response: experiments.SimulationResult{},
		}},
	}
	for _, name := range slices.Sorted(maps.Keys(featureflags.RolloutCalls)) {
		step := featureflags.RolloutCalls[name]
		rows = append(rows, handle(http.MethodPost, path+"/{id}/"+name, step.Title, func(svc featureflags.Rollouts, c *call) (*featureflags.Rollout, error) {
			return svc.Call(c.ctx, c.scope, c.part("id"), name, c.body)
		}).withBody(featureflags.RolloutCallFields(name)))
	}
	return resource(inProject, "feature_flag", func(s *server) featureflags.Rollouts { return s.Management.FeatureFlags.Rollouts }, rows)
}()

func listRollouts(svc featureflags.Rollouts, c *call) (management.List[featureflags.Rollout], error) {
	return svc.List(c.ctx, c.scope, c.listValues.Int("feature_flag"), c.listValues.Text("status"), c.page())
}

// runAndWait runs a query for a caller outside of HTTP and waits for the result. s may be nil. The result has
// the members of the response. Errors of the query are management errors; if queries are not
// available, the error has the kind Unavailable.
func runAndWait(ctx context.Context, s *server, p *management.ProjectRecord, query json.RawMessage, mode queries.Mode, name string) (map[string]any, error) {
	unavailable := &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "Queries are not available on this server at the moment."}
	if s == nil || s.Queries == nil {
		return nil, unavailable
	}
	ctx = wire.Context(ctx)
	svc := queryServiceOf(s)
	project, err := svc.project(ctx, p)
	if err != nil {
		return nil, err
	}
	found, err := svc.runner.Execute(ctx, queries.Request{Project: project, Query: query, Mode: mode, Name: name})
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
