package server

import (
	"context"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
)

// The states of a check, from the best to the worst.
const (
	healthOK   = "ok"
	healthWarn = "warn"
	healthBad  = "bad"
)

const (
	// healthEvery is the interval of the checks that run without a request.
	healthEvery = time.Minute
	// healthHour is the number of minutes for which counts are stored.
	healthHour = 60
	// healthFresh is how long a result is reused for further requests.
	healthFresh = 2 * time.Second
	// healthPatience is the timeout of all checks: a store that does not respond is a finding.
	healthPatience = 3 * time.Second
	// healthRecent is the number of minutes in which failures count.
	healthRecent = 5
)

// health checks the state of the server. It is safe for concurrent use.
type health struct {
	p     *parts
	began time.Time

	mu      sync.Mutex
	minutes []totals // at most healthHour + 1, the newest last
	since   map[string]mark
	last    *httpapi.Health
	lastAt  time.Time
}

// mark is the state of a check and the time since when it has it.
type mark struct {
	state string
	since time.Time
}

// totals are counts since the start, at one time.
type totals struct {
	at       time.Time
	flags    serving.Stats
	intake   capture.IntakeStats
	recorder capture.RecorderStats
	errors   uint64 // responses with a status of 500 and above
}

// newHealth returns a health without results, with the current time as its start.
func newHealth(p *parts) *health {
	h := &health{p: p, began: time.Now(), since: map[string]mark{}}
	h.minutes = []totals{{at: h.began}}
	return h
}

// watch runs the checks every minute until the context ends, so that "since" is right even without
// requests.
func (h *health) watch(ctx context.Context) {
	every(ctx, healthEvery, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.minutes = append(h.minutes, h.count())
		if len(h.minutes) > healthHour+1 {
			h.minutes = append(h.minutes[:0], h.minutes[1:]...)
		}
		h.check(ctx)
	})
}

// now returns the state of the server, at most healthFresh old.
func (h *health) now(ctx context.Context) *httpapi.Health {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || time.Since(h.lastAt) > healthFresh {
		h.check(ctx)
	}
	return h.last
}

// count reads all counters.
func (h *health) count() totals {
	t := totals{at: time.Now(), flags: h.p.decider.Stats(), intake: h.p.intake.Stats(), recorder: h.p.recorder.Stats()}
	for _, l := range h.p.handler.Latencies() {
		if l.Class == "5xx" {
			t.errors += l.Count
		}
	}
	return t
}

// check runs every check. The caller must hold the lock.
func (h *health) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	out := &httpapi.Health{Status: healthOK, Checks: []httpapi.HealthCheck{}, Build: h.p.Version}
	view := &healthView{parts: h.p, now: h.count(), began: h.began}
	view.recent = h.minutes[max(0, len(h.minutes)-healthRecent)]
	view.hour = h.minutes[0]
	for _, c := range healthChecks {
		if !c.has(h.p) {
			continue
		}
		f := c.check(ctx, view)
		if f.state == "" {
			f.state = healthOK
		}
		m, found := h.since[c.name]
		if !found || m.state != f.state {
			m = mark{f.state, view.now.at}
			if !found {
				m.since = h.began
			}
			h.since[c.name] = m
		}
		if isWorse(f.state, out.Status) {
			out.Status = f.state
		}
		out.Checks = append(out.Checks, httpapi.HealthCheck{
			Name: c.name, State: f.state, Detail: f.detail(), Messages: f.messages(), Since: management.NewStamp(m.since), Advice: healthTexts[f.advice], AdviceCode: f.advice,
		})
	}
	h.rates(out)
	h.last, h.lastAt = out, time.Now()
}

func isWorse(a, b string) bool {
	order := map[string]int{healthOK: 0, healthWarn: 1, healthBad: 2}
	return order[a] > order[b]
}

// rates fills in the differences from minute to minute.
func (h *health) rates(out *httpapi.Health) {
	r := &out.Rates
	r.Minutes, r.Flags, r.Events, r.Errors = []management.Stamp{}, []uint64{}, []uint64{}, []uint64{}
	for i := 1; i < len(h.minutes); i++ {
		from, to := &h.minutes[i-1], &h.minutes[i]
		r.Minutes = append(r.Minutes, management.NewStamp(to.at.Truncate(time.Second)))
		r.Flags = append(r.Flags, to.flags.Requests-from.flags.Requests)
		r.Events = append(r.Events, to.intake.Accepted-from.intake.Accepted)
		r.Errors = append(r.Errors, to.errors-from.errors)
	}
}
