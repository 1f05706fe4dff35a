package rollouts

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// evaluationFailed is the decision under which failed evaluations are counted.
const evaluationFailed = "failed"

// evaluationSeconds are the bounds of totals.Within.
var evaluationSeconds = []float64{0.01, 0.05, 0.1, 0.5, 1, 2, 6, 15, 30, 60}

// totals are those of a Service since its start (experiments.md §4.15).
type totals struct {
	// Evaluations are counted by decision, or failed. Steps are the changes of flags, by action.
	Evaluations, Steps map[string]uint64
	// Seconds is the duration of all evaluations, and Within the number of those that took at most a
	// number of seconds.
	Seconds float64
	Within  map[float64]uint64
	// Blind reports that the last attempt to find due rollouts failed, so that none is watched.
	Blind bool
}

// counts are the totals of a Service. It is safe for concurrent use.
type counts struct {
	mu sync.Mutex
	totals
}

func newCounts() *counts {
	within := make(map[float64]uint64, len(evaluationSeconds))
	for _, bound := range evaluationSeconds {
		within[bound] = 0
	}
	return &counts{totals: totals{Evaluations: map[string]uint64{}, Steps: map[string]uint64{}, Within: within}}
}

func (c *counts) addEvaluation(decision string, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Evaluations[decision]++
	c.Seconds += took.Seconds()
	for _, bound := range evaluationSeconds {
		if took.Seconds() <= bound {
			c.Within[bound]++
		}
	}
}

func (c *counts) addSteps(actions []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, action := range actions {
		c.Steps[action]++
	}
}

func (c *counts) setBlind(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Blind = is
}

// Stats returns the totals since the start.
func (s Service) Stats() totals {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	out := s.counts.totals
	out.Evaluations, out.Steps, out.Within = maps.Clone(out.Evaluations), maps.Clone(out.Steps), maps.Clone(out.Within)
	return out
}

// watched is the state of the live rollouts of all projects.
type watched struct {
	// Live is the number of rollouts by status: running or holding.
	Live map[string]int
	// Lag is the age of the oldest evaluation that is due.
	Lag time.Duration
	// Failing are rollouts that cannot be evaluated, at most maxFailing.
	Failing []failingRollout
	// FailingCount is the number of all of them.
	FailingCount int
}

// failingRollout is a rollout that cannot be evaluated.
type failingRollout struct {
	Project, ID int64
	Since       time.Time
	Reason      string
}

// maxFailing limits watched.Failing.
const maxFailing = 5

// Watched returns the state of the live rollouts.
func (s Service) Watched(ctx context.Context) (*watched, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (*watched, error) {
		now, err := s.Env.StoreNow(tx)
		if err != nil {
			return nil, err
		}
		out := &watched{Live: map[string]int{string(rolloutRunning): 0, string(rolloutHolding): 0}}
		tasks, _, err := tx.List(management.Query{Kind: kindRolloutTask})
		if err != nil {
			return nil, err
		}
		for i := range tasks {
			out.add(&tasks[i], now)
		}
		return out, nil
	})
}

// add adds a task. Tasks come in the order of the time at which they are due.
func (w *watched) add(r *management.Record, now time.Time) {
	if due, err := strconv.ParseInt(r.Sort, 10, 64); err == nil {
		w.Lag = max(w.Lag, now.Sub(time.UnixMicro(due)))
	}
	t, err := management.Decode[rolloutTask](r)
	if err != nil {
		t = &rolloutTask{Failures: 1, Failure: "The stored task " + r.ID + " is invalid.", FailedSince: management.NewStamp(now)}
	}
	if t.Status.isLive() {
		w.Live[string(t.Status)]++
	}
	if t.Failures == 0 {
		return
	}
	w.FailingCount++
	if len(w.Failing) < maxFailing {
		w.Failing = append(w.Failing, failingRollout{t.Project, t.ID, t.FailedSince.Time, t.Failure})
	}
}
