package flagtest

import (
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
	"github.com/bunting-flags/bunting/management/surveys"
)

func linkedCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	return ruletest.Calls{
		"feature":       CreateCall(t, w.EarlyAccess.Create),
		"getfeature":    GetCall(t, w.EarlyAccess.Get),
		"changefeature": UpdateCall(t, w.EarlyAccess.Update, false),
		"putfeature":    UpdateCall(t, w.EarlyAccess.Update, true),
		"dropfeature":   DeleteCall(t, w.EarlyAccess.Delete),
		"features": func(scope Scope, _, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(w.EarlyAccess.List(ctx, scope, p))
		},
		"publicfeatures": func(scope Scope, path, _ string) (any, error) { // of stages
			return w.EarlyAccess.Public(ctx, scope.Project.ID, strings.Fields(path))
		},
		"experiment":       CreateCall(t, w.Experiments.Create),
		"getexperiment":    GetCall(t, w.Experiments.Get),
		"changeexperiment": UpdateCall(t, w.Experiments.Update, false),
		"putexperiment":    UpdateCall(t, w.Experiments.Update, true),
		"exposures":        GetCall(t, w.Experiments.Exposures),
		"experiments": func(scope Scope, _, b string) (any, error) {
			q := experiments.Query{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Experiments.List(ctx, scope, q))
		},
		"holdout":           CreateCall(t, w.Experiments.Holdouts.Create),
		"getholdout":        GetCall(t, w.Experiments.Holdouts.Get),
		"changeholdout":     UpdateCall(t, w.Experiments.Holdouts.Update, false),
		"dropholdout":       DeleteCall(t, w.Experiments.Holdouts.Delete),
		"savedmetric":       CreateCall(t, w.Experiments.SavedMetrics.Create),
		"getsavedmetric":    GetCall(t, w.Experiments.SavedMetrics.Get),
		"changesavedmetric": UpdateCall(t, w.Experiments.SavedMetrics.Update, false),
		"dropsavedmetric":   DeleteCall(t, w.Experiments.SavedMetrics.Delete),
		"savedmetrics": func(scope Scope, _, _ string) (any, error) {
			return ruletest.List(w.Experiments.SavedMetrics.List(ctx, scope, management.Page{Limit: ruletest.DefaultPage}))
		},
	}
}

// surveyObjectCalls returns the calls that read and change surveys.
func surveyObjectCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	return ruletest.Calls{
		"survey":       CreateCall(t, w.Surveys.Create),
		"getsurvey":    GetCall(t, w.Surveys.Get),
		"changesurvey": UpdateCall(t, w.Surveys.Update, false),
		"putsurvey":    UpdateCall(t, w.Surveys.Update, true),
		"dropsurvey":   DeleteCall(t, w.Surveys.Delete),
		"launchsurvey": GetCall(t, w.Surveys.Launch),
		"stopsurvey":   GetCall(t, w.Surveys.Stop),
		"surveysdue":   func(Scope, string, string) (any, error) { return w.Surveys.StartDueIterations(ctx) },
		"surveys": func(scope Scope, _, b string) (any, error) {
			q := surveys.Query{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Surveys.List(ctx, scope, q))
		},
		"publicsurveys": func(_ Scope, path, _ string) (any, error) { return w.Surveys.Public(ctx, path) },
		"surveysrun": func(scope Scope, _, _ string) (runs any, err error) {
			err = w.Store.Read(ctx, func(tx rooms.Tx) (err error) {
				runs, err = surveys.HasRunning(tx, scope.Project.ID)
				return err
			})
			return runs, err
		},
	}
}

// scheduleCalls returns the calls of scheduled changes, and the clock.
func scheduleCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx := t.Context()
	return ruletest.Calls{
		"schedule":       CreateCall(t, w.Changes.Scheduled.Create),
		"getschedule":    GetCall(t, w.Changes.Scheduled.Get),
		"changeschedule": UpdateCall(t, w.Changes.Scheduled.Update, false),
		"putschedule":    UpdateCall(t, w.Changes.Scheduled.Update, true),
		"dropschedule":   DeleteCall(t, w.Changes.Scheduled.Delete),
		"schedules": func(scope Scope, path, b string) (any, error) { // of a flag
			q := struct {
				management.Page
				Model *string
			}{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			return ruletest.List(w.Changes.Scheduled.List(ctx, scope, q.Model, path, q.Page))
		},
		"until": func(_ Scope, path, _ string) (any, error) { // lets time pass
			parsed, err := time.Parse(time.RFC3339, path)
			w.Clock = parsed
			return nil, err
		},
		"due": func(Scope, string, string) (any, error) { return w.Changes.Scheduled.RunDue(ctx) },
	}
}

// ruleCalls returns the call that sets an access rule (clients.md §11.1) about one object, or about
// all objects of the kind in the body. CYD in the body is the membership of cyd.
func ruleCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	return ruletest.Calls{"rule": func(scope Scope, path, b string) (any, error) {
		kind, id, _ := strings.Cut(path, " ")
		b = strings.ReplaceAll(b, "CYD", w.Scope(t, "cyd").Memberships[0].ID)
		return w.SetControl(t.Context(), scope, kind, id, ruletest.Body(t, b))
	}}
}
