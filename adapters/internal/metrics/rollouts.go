package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Rollouts has the state of guarded rollouts and the totals of this server.
type Rollouts struct {
	// Evaluations counts by decision, and Steps by action.
	Evaluations, Steps map[string]uint64
	// Seconds is the duration of all evaluations, and Within the number of those that took at most a
	// number of seconds.
	Seconds float64
	Within  map[float64]uint64
	// Blind reports whether no rollout can be evaluated at present.
	Blind bool
	// Watched is the state in the store. It is nil, and its metrics are omitted, if the store does
	// not respond.
	Watched *WatchedRollouts
}

// WatchedRollouts is the state of all rollouts in the store, and of the notices that wait.
type WatchedRollouts struct {
	// Live is the number of rollouts that are evaluated, by status.
	Live map[string]int
	// Lag is the age of the oldest evaluation that is due.
	Lag time.Duration
	// Failing is the number of rollouts whose last evaluation failed.
	Failing int
	// Notices is the number of mails and webhooks that wait.
	Notices int
}

var (
	rolloutEvaluations = prometheus.NewDesc("bunting_rollout_evaluations_total", "Evaluations of guarded rollouts by this server, by decision; failed if there was none.", []string{"decision"}, nil)
	rolloutSeconds     = prometheus.NewDesc("bunting_rollout_evaluation_seconds", "Duration of evaluations of guarded rollouts.", nil, nil)
	rolloutSteps       = prometheus.NewDesc("bunting_rollout_steps_total", "Changes of flags by guarded rollouts through this server, by action.", []string{"action"}, nil)
	rolloutsLive       = prometheus.NewDesc("bunting_rollouts", "Guarded rollouts that are evaluated, by status, on all servers.", []string{"status"}, nil)

	rolloutMetrics = []metric[Rollouts]{
		row(gauge, "rollouts_blind", "1 if this server cannot evaluate any guarded rollout at present, else 0.", func(r *Rollouts) float64 { return boolean(r.Blind) }),
	}
	watchedMetrics = []metric[WatchedRollouts]{
		row(gauge, "rollout_lag_seconds", "Age of the oldest evaluation of a guarded rollout that is due; 0 if none is.", func(w *WatchedRollouts) float64 { return w.Lag.Seconds() }),
		row(gauge, "rollouts_failing", "Guarded rollouts that could not be evaluated, or not by all of their metrics, at the last attempt.", func(w *WatchedRollouts) float64 { return float64(w.Failing) }),
		row(gauge, "notices_waiting", "Mails and webhooks that wait to be sent.", func(w *WatchedRollouts) float64 { return float64(w.Notices) }),
	}
)

func (c *Config) describeRollouts(out chan<- *prometheus.Desc) {
	has := c.Rollouts != nil
	describe(out, rolloutMetrics, has)
	describe(out, watchedMetrics, has)
	if has {
		for _, d := range []*prometheus.Desc{rolloutEvaluations, rolloutSeconds, rolloutSteps, rolloutsLive} {
			out <- d
		}
	}
}

func (c *Config) collectRollouts(out chan<- prometheus.Metric) {
	if c.Rollouts == nil {
		return
	}
	r := c.Rollouts()
	collect(out, rolloutMetrics, &r)
	all := uint64(0)
	for decision, n := range r.Evaluations {
		all += n
		out <- number(rolloutEvaluations, counter, float64(n), decision)
	}
	out <- prometheus.MustNewConstHistogram(rolloutSeconds, all, r.Seconds, r.Within)
	for action, n := range r.Steps {
		out <- number(rolloutSteps, counter, float64(n), action)
	}
	if r.Watched == nil {
		return
	}
	collect(out, watchedMetrics, r.Watched)
	for status, n := range r.Watched.Live {
		out <- number(rolloutsLive, gauge, float64(n), status)
	}
}
