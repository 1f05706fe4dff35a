package queries

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// join returns the computation of a query: one that is in progress and whose result is recent
// enough, or a new one. joined reports which. The caller must hold d.mu.
func (d *Service) join(a *preparedQuery, estimate bool) (c *computation, joined bool) {
	if c := d.computations[a.key]; c != nil && !a.request.isForced() && c.waiters > 0 &&
		c.prepared.period == a.period && a.matches(&entry{state: c.prepared.state}) && (a.request.Shared || !a.now.After(c.prepared.now.Add(joinWindow))) {
		c.waiters++
		return c, true
	}
	c = &computation{prepared: a, waiters: 1, picked: make(chan struct{}), done: make(chan struct{}), estimate: estimate}
	c.ctx, c.cancel = context.WithCancelCause(d.ctx)
	d.computations[a.key] = c
	d.wg.Go(func() { d.compute(c) })
	return c, false
}

// joinWindow is the greatest age of a computation that another run may join. Its result is
// then as recent as a cached one may be.
const joinWindow = 5 * time.Second

// release must be called by a run that ends before the computation. The last one cancels the
// computation, with cause.
func (d *Service) release(c *computation, cause error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.waiters--; c.waiters == 0 {
		c.cancel(cause)
	}
}

// compute waits for the scheduler, executes the query and adds the result to the cache. It
// runs in a goroutine of its own.
func (d *Service) compute(c *computation) {
	defer c.cancel(nil)
	defer close(c.done)
	project := c.prepared.request.Project.ID
	if c.err = d.scheduler.acquire(c.ctx, project); c.err == nil {
		c.pickedAt = d.Now()
		close(c.picked)
		c.entry, c.err = d.computeEntry(c)
		d.scheduler.release(project)
	}
	d.stats.countOutcome(c, d.Now())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.computations[c.prepared.key] == c {
		delete(d.computations, c.prepared.key)
	}
	if c.err == nil {
		d.cache.put(c.entry)
	}
}

// run executes the query. A panic in it would end the whole process, because it does not run
// in the goroutine of a request; run converts the panic to an error.
func (d *Service) run(c *computation) (result *port.Result, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("queries: a %s panicked: %v\n%s", c.prepared.query.Kind, fault, debug.Stack())
		}
	}()
	return c.prepared.query.Run(c.ctx, countingSource{d.Source, c, d}, port.Options{Now: c.prepared.now, Memory: d.Limits.Memory, Keeper: d.keeper(c.prepared)})
}

// computeEntry executes the query, reports it if it was slow, and converts the result to an entry.
func (d *Service) computeEntry(c *computation) (*entry, error) {
	a := c.prepared
	began := time.Now()
	result, err := d.run(c)
	took := time.Since(began)
	if took > slowAfter {
		d.OnSlowQuery(SlowQuery{Kind: a.query.Kind, Name: a.request.Name, Project: a.request.Project.ID, Rows: c.rows.Load(), Took: took})
	}
	switch {
	case c.ctx.Err() != nil:
		return nil, context.Cause(c.ctx)
	case err != nil:
		return nil, err
	}
	e := &entry{key: a.key, project: a.request.Project.ID, state: a.state, period: a.period, computedAt: a.now, cost: took, ages: a.ages}
	if e.members, err = a.members(result, took, e.ages); err != nil {
		return nil, err
	}
	if e.size = sizeOf(e.members); e.size > maxResult {
		return nil, &port.Error{Code: "query_too_large", Detail: "The result has more than 32 MiB. Request fewer rows, a shorter range or fewer breakdowns."}
	}
	return e, nil
}

// countingSource is a source that counts the events that are read, and pauses between batches
// if other work needs the processor.
type countingSource struct {
	port.Source
	computation *computation
	service     *Service
}

// Open implements port.Source.
func (s countingSource) Open(ctx context.Context, project int64) (port.Reader, error) {
	r, err := s.Source.Open(ctx, project)
	return countingReader{r, s.computation, &pacer{pace: &s.service.pace, began: time.Now()}, s.service}, err
}

// countingReader is the reader of a countingSource.
type countingReader struct {
	port.Reader
	computation *computation
	pacer       *pacer
	service     *Service
}

// Scan implements port.Reader.
func (r countingReader) Scan(ctx context.Context, s port.Scan, yield func(*port.Batch) error) error {
	if r.computation.estimate {
		n, err := r.Count(ctx, s)
		if err != nil {
			return err
		}
		r.computation.estimated.Add(n)
	}
	s.HasSpareCPU, s.Pause = r.service.hasSpareProcessor, r.pacer.pause
	return r.Reader.Scan(ctx, s, func(b *port.Batch) error {
		r.computation.rows.Add(int64(b.Len()))
		err := yield(b)
		r.pacer.pause(ctx)
		return err
	})
}

// hasSpareProcessor reports whether a query may use a second processor: there was no other
// work for a while, and not all processors are used by queries.
func (d *Service) hasSpareProcessor() bool {
	running, _ := d.scheduler.counts()
	now := time.Now()
	return min(d.processors, runtime.GOMAXPROCS(0)) > running && now.UnixNano()-d.pace.lastWork(now) > int64(quietTime)
}
