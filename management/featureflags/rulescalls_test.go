package featureflags_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// askFlags runs tables with all calls about flags.
func askFlags(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := flagtest.New(t)
			w.Run(t, allFlagCalls(t, w), rows)
		})
	}
}

// allFlagCalls returns the calls of roomCalls and approvalCalls, and all other actions on
// flags.
func allFlagCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	out := flagtest.RoomCalls(t, w)
	for _, more := range []ruletest.Calls{flagtest.ApprovalCalls(t, w), flagStateCalls(t, w), flagManyCalls(t, w), flagPersonCalls(t, w)} {
		maps.Copy(out, more)
	}
	return out
}

// orText returns a PlainError as its body in the API, {"error": text}.
func orText(v any, err error) (any, error) {
	if text, ok := errors.AsType[featureflags.PlainError](err); ok {
		return map[string]string{"error": text.Error()}, nil
	}
	return v, err
}

// flagStateCalls are the actions on one flag.
func flagStateCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	set := func(do func(context.Context, flagtest.Scope, int64, bool) (*featureflags.Flag, error), value bool) func(flagtest.Scope, string, string) (any, error) {
		return func(scope flagtest.Scope, path, _ string) (any, error) {
			return orText(do(ctx, scope, flagtest.Number(t, path), value))
		}
	}
	return ruletest.Calls{
		"enable": set(f.Enable, true), "disable": set(f.Enable, false), "archive": set(f.Archive, true), "unarchive": set(f.Archive, false),
		"dashboard": func(scope flagtest.Scope, path, _ string) (any, error) {
			return orText(f.MakeUsageDashboard(ctx, scope, flagtest.Number(t, path)))
		},
		"enrich": func(scope flagtest.Scope, path, _ string) (any, error) {
			return orText(f.EnrichUsageDashboard(ctx, scope, flagtest.Number(t, path)))
		},
		"version": func(scope flagtest.Scope, path, _ string) (any, error) { // of a flag
			id, n, _ := strings.Cut(path, " ")
			return f.Version(ctx, scope, flagtest.Number(t, id), flagtest.Number(t, n))
		},
		"board": flagtest.GetCall(t, w.Dashboards.Get),
		"changeboard": func(scope flagtest.Scope, path, b string) (any, error) {
			return w.Dashboards.Update(ctx, scope, path, ruletest.Body(t, b))
		},
		// An access rule about an object, named by its kind and id, or about the kinds in the body.
		"rule": func(scope flagtest.Scope, path, b string) (any, error) {
			kind, id, _ := strings.Cut(path, " ")
			return w.SetControl(ctx, scope, kind, id, ruletest.Body(t, b))
		},
	}
}

// flagManyCalls are the actions on several flags, and the check of a body.
func flagManyCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	return ruletest.Calls{
		"check": flagtest.CreateCall(t, f.Check),
		"matching": func(scope flagtest.Scope, _, b string) (any, error) {
			var q featureflags.FlagQuery
			ruletest.Read(t, b, &q)
			return f.MatchingIDs(ctx, scope, q)
		},
		// The member filters has the fields of FlagQuery.
		"bulkdelete": func(scope flagtest.Scope, _, b string) (any, error) {
			return orText(f.BulkDelete(ctx, scope, ruletest.Body(t, b), func(raw json.RawMessage) (q featureflags.FlagQuery, err error) {
				return q, json.Unmarshal(raw, &q)
			}))
		},
	}
}

// flagPersonCalls are the questions about the values of persons, and pins.
func flagPersonCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	ctx, f := t.Context(), w.FeatureFlags
	return ruletest.Calls{
		"who": func(scope flagtest.Scope, path, b string) (any, error) {
			return f.Who(ctx, scope, flagtest.Number(t, path), ruletest.Body(t, b))
		},
		// A question. The response has a value, without stored data, if the question has its own rules.
		"explain": func(scope flagtest.Scope, path, b string) (any, error) {
			q, err := f.Question(ctx, scope, path, ruletest.Body(t, b), true)
			if err != nil {
				return nil, err
			}
			out := map[string]any{"flag": q.Flag, "at": management.NewStamp(q.At), "supplied": q.Supplied, "rules": q.BringsRules}
			if q.Set != nil {
				d, _ := q.Set.EvaluateFlag(q.Flag.Key, &q.Subject, w.Clock, &flags.Decisions{})
				out["value"] = d.Enabled
			}
			return out, nil
		},
		"pin": func(scope flagtest.Scope, path, b string) (any, error) {
			return f.Pin(ctx, scope, flagtest.Number(t, path), ruletest.Body(t, b))
		},
		"unpin": func(scope flagtest.Scope, path, _ string) (any, error) {
			id, pin, _ := strings.Cut(path, " ")
			return nil, f.Unpin(ctx, scope, flagtest.Number(t, id), pin)
		},
		"pins": func(scope flagtest.Scope, path, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(f.Pins(ctx, scope, path, p))
		},
	}
}
