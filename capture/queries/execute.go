package queries

import (
	"bytes"
	"context"
	"time"

	"github.com/bunting-flags/bunting/capture/insights"
)

// Execute executes a query. The error is an *port.Error, an *Error, or an error of the
// store. If ctx is canceled, the computation is canceled unless other runs wait for it.
func (d *Service) Execute(ctx context.Context, r Request) (answer *Answer, err error) {
	now := d.Now()
	if err := d.define(ctx, &r); err != nil {
		return nil, err
	}
	q, err := insights.Parse(r.Query, r.Project)
	if err != nil {
		return nil, err
	}
	if d.Trace != nil {
		var end func(error)
		ctx, end = d.Trace(ctx, q.Kind, r.Project.ID)
		defer func() { end(err) }()
	}
	answer, err = d.respond(ctx, r, q, now)
	if answer != nil {
		answer.Ignored = q.Ignored
	}
	return answer, err
}

// respond returns a cached result if the mode permits it, or begins a run.
func (d *Service) respond(ctx context.Context, r Request, q *insights.Query, now time.Time) (*Answer, error) {
	state, err := d.States.State(ctx, r.Project.ID)
	if err != nil {
		return nil, err
	}
	a := newPreparedQuery(q, &r, now, state)
	d.mu.Lock()
	old := d.cache.get(a.key)
	d.mu.Unlock()
	if old != nil && !a.matches(old) {
		old = nil
	}
	isFresh := old != nil && a.isFresh(old, r.Mode == lazyAsync)
	d.stats.countLookup(old != nil, isFresh, r.Mode)
	switch wait := r.isBlocking(old != nil); {
	case r.Mode == CacheOnly && old == nil:
		return &Answer{}, nil
	case r.Mode == CacheOnly, isFresh && !r.isForced():
		return &Answer{Result: old.response(true)}, nil
	default:
		return d.begin(ctx, a, wait, old)
	}
}

// define loads the cohorts and actions of the project if the query may refer to them:
// directly, through the metrics of an experiment, or through the steps of an action. The
// check is a fast search for words, so it may load them unnecessarily.
func (d *Service) define(ctx context.Context, r *Request) (err error) {
	p, text := r.Project, bytes.ToLower(r.Query)
	measured := bytes.Contains(text, []byte("experiment"))
	if d.Actions != nil && p.Actions == nil && (measured || bytes.Contains(text, []byte(`"actionsnode"`)) || bytes.Contains(text, []byte(`"actions"`))) {
		if p.Actions, err = d.Actions(ctx, p.ID); err != nil {
			return err
		}
	}
	cohorts := []byte("cohort")
	named := measured || bytes.Contains(text, cohorts) || bytes.Contains(p.TestAccountFilters, cohorts)
	for _, a := range p.Actions {
		named = named || bytes.Contains(a.Steps, cohorts)
	}
	if d.Definitions != nil && p.Definitions == nil && named {
		p.Definitions, err = d.Definitions(ctx, p.ID)
	}
	return err
}

// begin starts a run, and waits for its end if wait is true. old is an outdated result to
// return together with the status. It may be nil.
func (d *Service) begin(ctx context.Context, a *preparedQuery, wait bool, old *entry) (*Answer, error) {
	run, err := d.start(a, !wait)
	if err != nil {
		return nil, err
	}
	if a.request.ID != "" || !wait {
		if err := run.publish(ctx); err != nil {
			return nil, err
		}
	}
	pendingAnswer := func() (*Answer, error) {
		run.statusMu.Lock()
		defer run.statusMu.Unlock()
		s := run.status(false)
		if s.Complete { // it ended just now; the client will read the result from the status
			s = &Status{ID: s.ID, Async: true, Team: s.Team, Start: s.Start, Pickup: s.Pickup}
		}
		out := &Answer{Status: s}
		if old != nil {
			out.Result = old.response(true)
		}
		return out, nil
	}
	if !wait {
		return pendingAnswer()
	}
	var timeout <-chan time.Time
	if a.request.MaxWait > 0 {
		timer := time.NewTimer(a.request.MaxWait)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-run.done:
	case <-timeout:
		return run.handleTimeout(ctx, a, pendingAnswer)
	case <-ctx.Done():
		run.cancel(context.Cause(ctx))
		<-run.done
	}
	if run.err != nil {
		return nil, run.err
	}
	return &Answer{Result: run.entry.response(run.joined)}, nil
}

// handleTimeout returns the answer if the run has not ended within Request.MaxWait.
func (r *run) handleTimeout(ctx context.Context, a *preparedQuery, pendingAnswer func() (*Answer, error)) (*Answer, error) {
	switch {
	case a.request.Shared:
		if r.joined { // the run that started the computation keeps it alive
			defer r.cancel(errCancelled)
		}
	case a.request.ID == "":
		if err := r.publish(ctx); err != nil {
			return nil, err
		}
	}
	return pendingAnswer()
}
