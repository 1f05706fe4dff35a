package rollouts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A rollout that cannot be decoded, or that does not obey the rules any more, does not block the
// others. It is reported, and listed as failing.
func TestRollouts_UnreadableDoesNotBlock(t *testing.T) {
	for name, c := range map[string]struct{ from, to, reason string }{
		"damaged":        {`"minimum_exposures":100`, `"minimum_exposures":"many"`, "The stored guarded_rollout 1 is invalid."},
		"not valid":      {`"alpha":0.05`, `"alpha":7`, "Give a number between 0.001 and 0.2."},
		"without a step": {`"step":0`, `"step":3`, "The stored guarded_rollout 1 is invalid."},
		"no JSON at all": {`{`, `[`, "The stored guarded_rollout 1 is invalid."},
	} {
		t.Run(name, func(t *testing.T) {
			l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), everySecond)
			calls := rolloutCalls(t, l)
			l.Run(t, calls, flagtest.Rows(aRollout(), []ruletest.Row{
				{"§4.12", "bob", "create", plainFlag("g", 5), `{"id":2}`},
				{"§4.12", "bob", "rollout", guardedRollout(2, started), `{"id":2}`},
			}))
			l.damage("guarded_rollout", management.ProjectParent(ruletest.Project), "1", c.from, c.to)
			l.setEvidence(1000, 9000, 50, 450)
			l.Clock = l.Clock.Add(2 * time.Hour)
			if _, err := l.Rollouts.EvaluateDue(t.Context()); err == nil {
				t.Error("the fault is not reported")
			}
			l.Run(t, calls, []ruletest.Row{{"§4.12 the other one", "bob", "getrollout 2", ``, `{"step":1}`}})
			w, err := l.Rollouts.Watched(t.Context())
			if err != nil || len(w.Failing) != 1 || w.Failing[0].ID != 1 || w.Failing[0].Project != 1 || w.Failing[0].Reason != c.reason {
				t.Errorf("%+v, %v", w, err)
			}
			// It is tried again when the claim has ended, and is rolled on when it can be read again.
			l.damage("guarded_rollout", management.ProjectParent(ruletest.Project), "1", c.to, c.from)
			l.Clock = l.Clock.Add(2 * time.Minute)
			if _, err := l.Rollouts.EvaluateDue(t.Context()); err != nil {
				t.Error(err)
			}
			l.Run(t, calls, []ruletest.Row{{"§4.12 it goes on", "bob", "getrollout 1", ``, `{"step":1}`}})
		})
	}
}

// damage replaces a part of a stored record.
func (l *rolloutWorld) damage(kind, parent, id, from, to string) {
	l.t.Helper()
	err := l.Store.Write(l.t.Context(), func(tx rooms.Tx) error {
		r, err := tx.Get(kind, parent, id)
		if err != nil {
			return err
		}
		if !strings.Contains(string(r.Data), from) {
			return fmt.Errorf("%s is not in %s", from, r.Data)
		}
		r.Data = json.RawMessage(strings.Replace(string(r.Data), from, to, 1))
		return tx.Put(r)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// A damaged task does not block the others, and is listed.
func TestRollouts_DamagedTask(t *testing.T) {
	l := newRolloutWorld(t, "")
	err := l.Store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.Put(&management.Record{Kind: "guarded_rollout_task", ID: "0", Sort: storage.SortTime(l.Clock.Add(-time.Hour)), Data: json.RawMessage(`{"id":"x"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	l.setEvidence(1000, 9000, 50, 450)
	l.Clock = l.Clock.Add(70 * time.Minute)
	var unreadable *storage.UnreadableError
	if _, err := l.Rollouts.EvaluateDue(t.Context()); !errors.As(err, &unreadable) {
		t.Errorf("%v: the damaged task is not reported", err)
	}
	if r := l.rollout(); *r.Step != 1 {
		t.Errorf("step %d: the damaged task blocks the rollout", *r.Step)
	}
	if w, err := l.Rollouts.Watched(t.Context()); err != nil || w.FailingCount != 1 || w.Lag != 130*time.Minute {
		t.Errorf("%+v, %v", w, err)
	}
}

// experiments.md §4.15: an evaluation may take a tenth of the interval. If it takes longer, the
// interval doubles, up to an hour, which is reported; and it halves when a tenth of the half is
// enough.
func TestRollouts_Budget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		l := openRolloutWorld(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) {
			c.RolloutSlowed = func(project, rollout int64, took, next time.Duration) {
				reports = append(reports, fmt.Sprint(project, " ", rollout, " ", took, " ", next))
			}
		})
		l.Run(t, rolloutCalls(t, l), aRollout())
		var took time.Duration
		l.wait = func(context.Context) { time.Sleep(took) }
		interval := time.Minute
		for n, c := range []struct {
			took, next time.Duration
			slowed     bool
		}{
			{6 * time.Second, time.Minute, false},                                         // a tenth
			{6*time.Second + time.Nanosecond, 2 * time.Minute, true},                      // more
			{12 * time.Second, 2 * time.Minute, false},                                    // a tenth of two minutes
			{59 * time.Second, 4 * time.Minute, true},                                     // once for each evaluation
			{59 * time.Second, 8 * time.Minute, true},                                     //
			{25 * time.Second, 8 * time.Minute, false},                                    // more than a tenth of four minutes
			{24 * time.Second, 4 * time.Minute, false},                                    // a tenth of four minutes
			{0, 2 * time.Minute, false}, {0, time.Minute, false}, {0, time.Minute, false}, // not below that of the server
		} {
			took = c.took
			if l.Clock = l.Clock.Add(interval - time.Microsecond); !l.evaluates(0) {
				t.Fatalf("evaluation %d comes before %s", n, interval)
			}
			if l.Clock = l.Clock.Add(time.Microsecond); !l.evaluates(1) {
				t.Fatalf("evaluation %d does not come after %s", n, interval)
			}
			if interval = c.next; (len(reports) > 0) != c.slowed || c.slowed && reports[0] != fmt.Sprint("1 1 ", c.took, " ", c.next) {
				t.Errorf("evaluation %d of %s: %q, want a report: %t", n, c.took, reports, c.slowed)
			}
			reports = nil
		}
	})
}

// evaluates reports whether the next call evaluates n rollouts.
func (l *rolloutWorld) evaluates(n int) bool {
	l.t.Helper()
	before := len(l.queries)
	if _, err := l.Rollouts.EvaluateDue(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	return len(l.queries) == before+n
}

// clockStore is a store with a clock of its own, as a database server has.
type clockStore struct {
	rooms.Store
	now time.Time
}

func (s *clockStore) Read(ctx context.Context, work func(rooms.Tx) error) error {
	return s.Store.Read(ctx, func(tx rooms.Tx) error { return work(clockTx{tx, s}) })
}

func (s *clockStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	return s.Store.Write(ctx, func(tx rooms.Tx) error { return work(clockTx{tx, s}) })
}

type clockTx struct {
	rooms.Tx
	store *clockStore
}

func (t clockTx) Now() (time.Time, error) { return t.store.now, nil }

// experiments.md §4.12: all times are those of the database, whatever the clock of the server says.
// If it goes back, the dwell becomes longer.
func TestRollouts_ClockOfTheStore(t *testing.T) {
	start := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC) // far from the clock of this process
	store := &clockStore{memstore.New(memstore.ExternalData{}), start}
	l := openRolloutWorld(t, store, func(c *rooms.Config) { c.Now = nil })
	l.Run(t, rolloutCalls(t, l), []ruletest.Row{
		{"§4.12", "bob", "create", plainFlag("f", 5), `{"id":1}`},
		{"§4.12", "bob", "rollout", guardedRollout(1, started), `{"started_at":"2031-05-06T07:08:09Z","step_started_at":"2031-05-06T07:08:09Z","next_at":"2031-05-06T08:13:09Z"}`},
	})
	l.setEvidence(1000, 9000, 50, 450)
	for _, c := range []struct {
		after time.Duration
		step  int
	}{{time.Hour, 0}, {30 * time.Minute, 0}, {65*time.Minute - time.Microsecond, 0}, {66 * time.Minute, 1}} {
		store.now = start.Add(c.after)
		if _, err := l.Rollouts.EvaluateDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := l.rollout(); *r.Step != c.step {
			t.Errorf("after %s by the clock of the store: step %d, want %d", c.after, *r.Step, c.step)
		}
	}
	if r := l.rollout(); !r.StepStarted.Equal(start.Add(66 * time.Minute)) {
		t.Errorf("the second step began at %s", r.StepStarted)
	}
	if got := management.JSONText(l.queries[len(l.queries)-1]["as_of"]); got != "2031-05-06T08:14:09Z" {
		t.Errorf("events are read up to %s", got)
	}
}
