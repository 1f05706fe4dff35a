package rollouts_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The source of the expected values in the tables of rollouts is spec/experiments.md §4, unless the
// clause names another specification.

// askRollouts runs the rows of each table in a rolloutWorld of its own. In these worlds, rollouts
// are evaluated every second, so that two rows can evaluate one right before and right after a time.
func askRollouts(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			l := openRolloutWorld(t, memstore.New(memstore.ExternalData{GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company"}}}), everySecond)
			l.Run(t, rolloutCalls(t, l), rows)
		})
	}
}

func everySecond(c *rooms.Config) { c.RolloutInterval = time.Second }

// rolloutCalls returns the calls of all tables, and the calls of rollouts.
func rolloutCalls(t *testing.T, l *rolloutWorld) ruletest.Calls {
	ctx, r, out := t.Context(), l.Rollouts, flagtest.RoomCalls(t, l.World)
	more := ruletest.Calls{
		"rollout": flagtest.CreateCall(t, r.Create), "getrollout": flagtest.GetCall(t, r.Get), "changerollout": flagtest.UpdateCall(t, r.Update, false), "putrollout": flagtest.UpdateCall(t, r.Update, true), "droprollout": flagtest.DeleteCall(t, r.Delete),
		"call": func(scope flagtest.Scope, path, b string) (any, error) { // the rollout, the action
			id, action, _ := strings.Cut(path, " ")
			return r.Call(ctx, scope, id, action, ruletest.Body(t, b))
		},
		"rollouts": func(scope flagtest.Scope, _, b string) (any, error) { // the ids of a list
			q := struct {
				management.Page
				Flag   int64
				Status string
			}{Page: management.Page{Limit: ruletest.DefaultPage}}
			ruletest.Read(t, b, &q)
			list, err := r.List(ctx, scope, q.Flag, q.Status, q.Page)
			ids := []int64{}
			for i := range list.Results {
				ids = append(ids, list.Results[i].ID)
			}
			return map[string]any{"count": list.Count, "ids": ids}, err
		},
		"evaluations": func(scope flagtest.Scope, path, b string) (any, error) {
			p := management.Page{Limit: ruletest.DefaultPage}
			ruletest.Read(t, b, &p)
			return ruletest.List(r.Evaluations(ctx, scope, path, p))
		},
		"evaluate": func(scope flagtest.Scope, path, _ string) (any, error) { // runs the due evaluations; returns a rollout
			if _, err := r.EvaluateDue(ctx); err != nil {
				return nil, err
			}
			return r.Get(ctx, scope, path)
		},
		"dryrun":   flagtest.CreateCall(t, r.DryRun),
		"simulate": func(_ flagtest.Scope, _, b string) (any, error) { return r.Simulate(ctx, ruletest.Body(t, b)) },
		// Entities of treatment and control, and for each metric the number of them with one event.
		"found": func(_ flagtest.Scope, path, _ string) (any, error) {
			var n []int64
			for _, text := range strings.Fields(path) {
				n = append(n, flagtest.Number(t, text))
			}
			l.setEvidence(n[0], n[1], n[2], n[3])
			for pair := range slices.Chunk(n[4:], 2) {
				l.evidence.Metrics = append(l.evidence.Metrics, guarded.Measurement{
					Treatment: experiments.Sample{N: n[0], Sum: float64(pair[0]), Squares: float64(pair[0])}, Control: experiments.Sample{N: n[1], Sum: float64(pair[1]), Squares: float64(pair[1])},
				})
			}
			return nil, nil
		},
		"evidence": func(_ flagtest.Scope, _, b string) (any, error) { // parts that differ from the numbers of found
			if strings.Contains(b, `"Metrics"`) {
				l.evidence.Metrics = nil // otherwise the elements keep members that are absent in the body
			}
			ruletest.Read(t, b, &l.evidence)
			return nil, nil
		},
		"lag": func(_ flagtest.Scope, path, _ string) (_ any, err error) {
			l.lag, err = time.ParseDuration(path)
			return nil, err
		},
		"mails": func(flagtest.Scope, string, string) (any, error) { return l.mails(), nil },
		"mail": func(flagtest.Scope, string, string) (any, error) { // the last one
			l.mails()
			return l.last, nil
		},
		"asked":   func(flagtest.Scope, string, string) (any, error) { return l.queries[len(l.queries)-1], nil },
		"queries": func(flagtest.Scope, string, string) (any, error) { return len(l.queries), nil },
		"end": func(scope flagtest.Scope, path, _ string) (any, error) { // an experiment
			return l.Experiments.Call(ctx, scope, path, "end", management.Body{})
		},
		"limit": func(_ flagtest.Scope, path, _ string) (any, error) { // the access of a user to a flag: user, flag, level
			p := strings.Fields(path)
			body := fmt.Sprintf(`{"access_level":%q,"organization_member":%q}`, p[2], l.Scope(t, p[0]).Memberships[0].ID)
			return l.SetControl(ctx, l.Scope(t, "ann"), "feature_flag", p[1], ruletest.Body(t, body))
		},
	}
	for _, calls := range []ruletest.Calls{flagtest.ApprovalCalls(t, l.World), more} {
		for name, call := range calls {
			out[name] = call
		}
	}
	return out
}

const (
	// errorMetric is a metric with its default name, error, and its default window of an hour.
	errorMetric = `{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"error"}}`
	errorGuard  = `{"goal":"decrease","metric":` + errorMetric + `}`
	buyGuard    = `{"goal":"increase","metric":{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"buy"}}}`
)

// guardedRollout returns the body of a rollout of a flag in steps of 10, 50 and 100 %, 65 minutes each. Of
// members with the same name the last counts.
func guardedRollout(flag int, members ...string) string {
	return `{` + strings.Join(append([]string{fmt.Sprintf(`"feature_flag":%d,"steps":[%s,%s,%s],"guardrails":[%s]`, flag, step(10), step(50), step(100), errorGuard)}, members...), ",") + `}`
}

// step returns a step of 65 minutes: the window of a metric and the settling time of five minutes.
func step(percent float64) string {
	return fmt.Sprintf(`{"percent":%s,"dwell_seconds":3900}`, strconv.FormatFloat(percent, 'f', -1, 64))
}

// started is the member that starts a new rollout.
const started = `"start":true`

// plainFlag returns the body of a flag without variants.
func plainFlag(key string, percent float64) string {
	return fmt.Sprintf(`{"key":%q,"filters":{"groups":[{"properties":[],"rollout_percentage":%v}]}}`, key, percent)
}

// percentOf returns the part of a flag without variants that has its share.
func percentOf(percent string) string {
	return `{"filters":{"groups":[{"properties":[],"rollout_percentage":` + percent + `}]}}`
}

// aRollout are the rows with which most tables begin: flag 1 with 5 %, and its rollout 1, which
// begins at 12:00:02, settles until 12:05:02, and is in its first step until 13:05:02.
func aRollout(members ...string) []ruletest.Row {
	return []ruletest.Row{
		{"§4.2", "bob", "create", plainFlag("f", 5), `{"id":1,"version":1}`},
		{"§4.2", "bob", "rollout", guardedRollout(1, append([]string{started}, members...)...), `{"id":1,"status":"running","step":0,"percent_before":5,"started_at":"2026-01-02T12:00:02Z","next_at":"2026-01-02T13:05:02Z","state_version":1}`},
	}
}

// atDwell are rows that move the clock so that the next one runs right when the first step of
// aRollout ends.
var atDwell = []ruletest.Row{{"the end of the dwell", "-", "until 2026-01-02T13:05:01Z", ``, `null`}}
