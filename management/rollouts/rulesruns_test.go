package rollouts_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// §4.7: a rollout is evaluated every minute, or in the interval of --rollout-interval.
func TestRollouts_Interval(t *testing.T) {
	for name, c := range map[string]struct {
		options  []func(*rooms.Config)
		interval time.Duration
	}{
		"the default":  {nil, time.Minute},
		"ten minutes":  {[]func(*rooms.Config){func(c *rooms.Config) { c.RolloutInterval = 10 * time.Minute }}, 10 * time.Minute},
		"every second": {[]func(*rooms.Config){everySecond}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), c.options...)
			l.Run(t, rolloutCalls(t, l), aRollout())
			for n := range 3 { // each interval begins with the evaluation before
				if l.advance(c.interval - time.Microsecond); len(l.queries) != n {
					t.Errorf("%d queries right before the end of interval %d", len(l.queries), n)
				}
				if l.advance(time.Microsecond); len(l.queries) != n+1 {
					t.Errorf("%d queries at the end of interval %d", len(l.queries), n)
				}
			}
		})
	}
}

// §4.15: at most 200 rollouts of a project run. One that is resumed counts, too.
func TestRollouts_AtMost200(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	calls := rolloutCalls(t, l)
	l.Run(t, calls, flagtest.Rows(aRollout(), []ruletest.Row{
		{"§4.15", "bob", "call 1 pause", ``, `{"status":"paused"}`},
		{"§4.15", "bob", "create", plainFlag("g", 5), `{"id":2}`},
		{"§4.15 a draft does not count", "bob", "rollout", guardedRollout(2), `{"id":2}`},
	}))
	l.tasks(1000, 200)
	const tooMany = `400 max_length - 200 rollouts of the project are in progress: end one of them first.`
	l.Run(t, calls, []ruletest.Row{
		{"§4.15", "bob", "call 2 start", ``, tooMany},
		{"§4.15", "bob", "call 1 resume", ``, tooMany},
		{"§4.15 a refusal changes nothing", "bob", "get 2", ``, percentOf("5")},
		{"§4.15 of another project", "dan", "create", plainFlag("theirs", 5), `{"id":3}`},
		{"§4.15 of another project", "dan", "rollout", guardedRollout(3, started), `{"id":3,"status":"running"}`},
		{"§4.15", "dan", "call 3 abort", ``, `{"status":"aborted"}`},
	})
	// The rollouts of these tasks do not exist: their evaluation removes them, 100 at a time.
	l.Clock = l.Clock.Add(time.Hour)
	for call, want := range []bool{true, true, false} {
		if more, err := l.Rollouts.EvaluateDue(t.Context()); more != want || err != nil {
			t.Errorf("call %d: %t, %v", call, more, err)
		}
	}
	l.tasks(1000, 199)
	l.Run(t, calls, []ruletest.Row{
		{"§4.15", "bob", "call 2 start", ``, `{"status":"running"}`},
		{"§4.15", "bob", "call 1 resume", ``, tooMany},
	})
}

// tasks adds n tasks of rollouts from a number on, which are due.
func (l *rolloutWorld) tasks(first, n int) {
	l.t.Helper()
	err := l.Store.Write(l.t.Context(), func(tx rooms.Tx) error {
		for id := first; id < first+n; id++ {
			err := tx.Put(&management.Record{
				Kind: "guarded_rollout_task", ID: fmt.Sprint(id), Other: management.ProjectParent(ruletest.Project), Sort: storage.SortTime(l.Clock),
				Data: storage.Encode(map[string]int64{"project": ruletest.Project, "id": int64(id)}),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// §4.7, row 6: the metrics of a query of more than a minute cannot be computed.
func TestRollouts_Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRolloutWorld(t, "")
		l.wait = func(ctx context.Context) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != time.Minute {
				t.Errorf("the query may take %v", time.Until(deadline))
			}
			<-ctx.Done()
		}
		r := l.advance(10 * time.Minute)
		if r.Status != "holding" || !slices.Equal(r.Reasons, []string{"metric_error"}) {
			t.Error(r.Status, r.Reasons)
		}
		if want := `"error":"The query took longer than a minute."`; !strings.Contains(string(r.Last), want) {
			t.Errorf("%s, want %s", r.Last, want)
		}
		l.wait = nil
		l.setEvidence(1000, 9000, 50, 450)
		if r := l.advance(time.Hour); r.Status != "running" || *r.Step != 1 {
			t.Error(r.Status, *r.Step)
		}
	})
}

// A server that stops during a query makes no decision; another server evaluates the rollout after
// two minutes, when the claim has ended.
func TestRollouts_StopDuringQuery(t *testing.T) {
	l := newRolloutWorld(t, "")
	l.setEvidence(1000, 9000, 500, 450) // would be rolled back
	ctx, stop := context.WithCancel(t.Context())
	l.onMeasure = stop
	l.Clock = l.Clock.Add(10 * time.Minute)
	if more, err := l.Rollouts.EvaluateDue(ctx); more || !errors.Is(err, context.Canceled) {
		t.Errorf("%t, %v; want the end of the context", more, err)
	}
	if r := l.rollout(); r.Status != "running" || !management.EmptyJSON(r.Last) || l.version() != 2 {
		t.Errorf("the rollout is %s, the flag has version %d, and %s was found", r.Status, l.version(), r.Last)
	}
	l.onMeasure = nil
	if r := l.advance(2*time.Minute - time.Second); r.Status != "running" || len(l.queries) != 1 {
		t.Errorf("%s after %d queries, while another server may be at it", r.Status, len(l.queries))
	}
	if r := l.advance(time.Second); r.Status != "rolled_back" {
		t.Error(r.Status)
	}
}

// A failed query of one rollout does not prevent the step of another one. All faults are reported.
func TestRollouts_OneFails(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}))
	calls := rolloutCalls(t, l)
	l.Run(t, calls, flagtest.Rows(aRollout(), []ruletest.Row{
		{"§4.12", "bob", "create", plainFlag("g", 5), `{"id":2}`},
		{"§4.12", "bob", "rollout", guardedRollout(2, started), `{"id":2}`},
		{"§4.12", "bob", "create", plainFlag("h", 5), `{"id":3}`},
		{"§4.12", "bob", "rollout", guardedRollout(3, started), `{"id":3}`},
	}))
	l.setEvidence(1000, 9000, 50, 450)
	l.failures["f"] = errors.New("the disk of f")
	l.failures["g"] = &management.Error{Kind: management.Unavailable, Code: "unavailable", Message: "too many queries for g"}
	l.Clock = l.Clock.Add(2 * time.Hour)
	_, err := l.Rollouts.EvaluateDue(t.Context())
	for _, id := range []string{"f", "g"} {
		if !errors.Is(err, l.failures[id]) {
			t.Errorf("the fault of %s is not reported: %v", id, err)
		}
	}
	l.Run(t, calls, []ruletest.Row{
		{"§4.12", "bob", "getrollout 1", ``, `{"status":"running","step":0,"last_evaluation":null}`},
		{"§4.12 not available is no decision", "bob", "getrollout 2", ``, `{"status":"running","step":0,"last_evaluation":null}`},
		{"§4.12", "bob", "getrollout 3", ``, `{"step":1}`},
	})
}

// §4.7, row 9: without knowing the lag there is no decision after the dwell.
func TestRollouts_LagUnknown(t *testing.T) {
	away := errors.New("the stream is away")
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) {
		c.Lag = func(context.Context) (time.Duration, error) { return 0, away }
	})
	l.Run(t, rolloutCalls(t, l), aRollout())
	l.setEvidence(1000, 9000, 50, 450)
	if r := l.advance(time.Hour); r.Status != "running" || management.EmptyJSON(r.Last) { // before the end of the dwell the lag is not read
		t.Error(r.Status, string(r.Last))
	}
	l.Clock = l.Clock.Add(time.Hour)
	if _, err := l.Rollouts.EvaluateDue(t.Context()); !errors.Is(err, away) {
		t.Error(err)
	}
	if r := l.rollout(); *r.Step != 0 || r.Status != "running" {
		t.Error(r.Status, *r.Step)
	}
	// Without a stream, every accepted event can be read.
	l = openRolloutWorld(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) { c.Lag = nil })
	l.Run(t, rolloutCalls(t, l), aRollout())
	l.setEvidence(1000, 9000, 50, 450)
	if r := l.advance(2 * time.Hour); *r.Step != 1 {
		t.Error(r.Status, *r.Step)
	}
}

// The rollouts of a deleted project are not evaluated, and do not delay other rollouts.
func TestRollouts_ProjectDeleted(t *testing.T) {
	l := newRolloutWorld(t, "")
	err := l.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(ruletest.Project)
		if err != nil {
			return err
		}
		p.Deleted = true
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	l.Clock = l.Clock.Add(time.Hour)
	if more, err := l.Rollouts.EvaluateDue(t.Context()); more || err != nil {
		t.Error(more, err)
	}
	if n := storedRecords(t, l.World, "guarded_rollout_task", ""); n != 0 || len(l.queries) != 0 {
		t.Errorf("%d tasks are left, %d queries", n, len(l.queries))
	}
}

// A server without queries does not evaluate rollouts and refuses dry runs; a simulation needs no events.
func TestRollouts_NoQueries(t *testing.T) {
	l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) { c.Measure = nil })
	l.Run(t, rolloutCalls(t, l), flagtest.Rows(aRollout(), []ruletest.Row{
		{"§4.10", "bob", "dryrun", guardedRollout(1, `"started_at":"2026-01-02T10:00:00Z"`), `503 unavailable - Queries are not available on this server at the moment.`},
		{"§4.12", "bob", "wait 2h", ``, `null`},
		{"§4.12", "bob", "evaluate 1", ``, `{"status":"running","step":0,"last_evaluation":null}`},
		{"§4.10", "-", "simulate", simulation(`{"kind":"rate","rate":0.1}`, `"runs":1,"effects":[0]`), `{"effects":[{"effect":0}]}`},
	}))
}

// §4.12: an action is one transaction. After a fault of the store at any of its calls, the rollout,
// the flag, the log and the mails are as before.
func TestRollouts_CallsWithFaults(t *testing.T) {
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	l := openRolloutWorld(t, faulty)
	l.RunFaulty(t, rolloutCalls(t, l), rolloutFaultRows, memstore.ErrDisk, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	})
	want := []string{"The rollout of f has started", "The rollout of f advanced to the next step", "The rollout of f was rolled back", "The rollout of f has started", "The rollout of f was aborted"}
	if got := l.mails(); !slices.Equal(got, want) {
		t.Errorf("mails %q, want %q", got, want)
	}
}

var rolloutFaultRows = flagtest.Rows(aRollout(`"notify":{"emails":["cyd@example.com"]}`), []ruletest.Row{
	{"§4.9", "bob", "changerollout 1", `{"name":"x"}`, `{"name":"x","state_version":2}`},
	{"§4.9", "bob", "call 1 pause", ``, `{"status":"paused","state_version":3}`},
	{"§4.9", "bob", "call 1 resume", ``, `{"status":"running","state_version":4}`},
	{"§4.9", "bob", "call 1 advance", ``, `{"step":1,"state_version":5}`},
	{"§4.9", "bob", "get 1", ``, `{"version":3,"filters":{"groups":[{"rollout_percentage":50}]}}`},
	{"§4.9", "bob", "call 1 rollback", ``, `{"status":"rolled_back","state_version":6}`},
	{"§4.9", "bob", "get 1", ``, `{"version":4,"filters":{"groups":[{"rollout_percentage":5}]}}`},
	{"§4.9", "bob", "versions 1", ``, `{"count":4}`},
	{"§4.9", "bob", "rollouts", `{"Flag":1}`, `{"ids":[1]}`},
	{"§4.9", "bob", "evaluations 1", ``, `{"count":0}`},
	{"§4.9", "bob", "droprollout 1", ``, `null`},
	{"§4.9", "bob", "rollout", guardedRollout(1), `{"id":2}`},
	{"§4.9", "bob", "call 2 start", ``, `{"status":"running"}`},
	{"§4.9", "bob", "call 2 abort", `{"restore":false}`, `{"status":"aborted"}`},
	{"§4.10", "bob", "dryrun", guardedRollout(1, `"started_at":"2026-01-02T10:00:00Z"`), `{"decision":"hold"}`},
})
