package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// These are the defaults of RecorderConfig.
const (
	defaultCommitEvents = 2000
	defaultMaxWaiting   = 4096
	defaultTimeout      = 20 * time.Second
)

// RecorderConfig is the configuration of a Recorder. Ledger is required.
type RecorderConfig struct {
	Ledger Ledger
	// CommitEvents is the approximate greatest number of events in a commit. If zero, it is
	// 2,000. A batch with more events is committed separately.
	CommitEvents int
	// MaxWaiting is the greatest number of waiting batches. If zero, it is 4,096. Further
	// batches are rejected immediately with ErrUnavailable.
	MaxWaiting int
	// Timeout is the time within which a batch must be durable. If zero, it is 20 seconds.
	// After it the caller receives ErrUnavailable; if the commit was in progress, it may
	// still succeed.
	Timeout time.Duration
	// CacheBytes bounds the cache of persons, in bytes. If zero, it is 24 MiB. The cache is
	// only used if the ledger has a single writer (Ledger.HasSingleWriter).
	CacheBytes int
	// OnFailure is called with the errors of commits, from the goroutine that writes. If nil,
	// errors are only counted.
	OnFailure func(error)
}

// Recorder records batches. All waiting batches share one commit, which contains the events
// and all changes that they cause to persons and groups (decision 13). While it is written,
// further batches accumulate for the next commit, which waits for those of the same callers for up
// to 2 ms. Its methods are safe for concurrent use.
type Recorder struct {
	config RecorderConfig
	queue  chan *pending
	jobs   chan *job
	cache  *personCache // nil if the ledger has other writers
	stats  recorderCounters

	closing chan struct{}
	closed  chan struct{}
	once    sync.Once
}

// job is work for a separate transaction.
type job struct {
	project int64
	work    func(Tx) error
	done    chan error
}

// Indexer is implemented by a Ledger that builds indexes after its commits.
type Indexer interface {
	// Index performs a bounded part of that work and reports whether there is more. idle
	// reports that no batches are waiting, so that even a small part is worth a transaction.
	Index(ctx context.Context, idle bool) (more bool, err error)
}

// NewRecorder starts a Recorder. It runs until Close is called. If c.Ledger is nil,
// NewRecorder returns nil. The methods of a nil or zero Recorder return ErrUnavailable.
func NewRecorder(c RecorderConfig) *Recorder {
	if c.Ledger == nil {
		return nil
	}
	c.CommitEvents = cmp.Or(max(c.CommitEvents, 0), defaultCommitEvents)
	c.MaxWaiting = cmp.Or(max(c.MaxWaiting, 0), defaultMaxWaiting)
	c.Timeout = cmp.Or(max(c.Timeout, 0), defaultTimeout)
	if c.OnFailure == nil {
		c.OnFailure = func(error) {}
	}
	r := &Recorder{
		config: c, queue: make(chan *pending, c.MaxWaiting), jobs: make(chan *job),
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	if c.Ledger.HasSingleWriter() {
		r.cache = newPersonCache(c.CacheBytes)
	}
	go r.run()
	return r
}

// Append implements Appender.
func (r *Recorder) Append(ctx context.Context, b *Batch) error {
	return r.record(ctx, &pending{batches: []*Batch{b}, done: make(chan error, 1)})
}

// advance records the batches that a stream contains between two positions, together with the
// new position, so that they are not recorded a second time. It returns ErrMoved if the
// stored position of the partition is not m.From.
func (r *Recorder) advance(ctx context.Context, m Move, batches []*Batch) error {
	return r.record(ctx, &pending{batches: batches, move: &m, done: make(chan error, 1)})
}

func (r *Recorder) isReady() bool { return r != nil && r.queue != nil }

// record queues a call and waits until its commit is completed, it times out, ctx is canceled
// or the Recorder is closed.
func (r *Recorder) record(ctx context.Context, p *pending) error {
	if !r.isReady() {
		return ErrUnavailable
	}
	select {
	case <-r.closing:
		return ErrUnavailable
	default:
	}
	select {
	case r.queue <- p:
	default:
		r.stats.rejected.Add(1)
		return fmt.Errorf("%w: %d requests are already waiting", ErrUnavailable, r.config.MaxWaiting)
	}
	timeout := time.NewTimer(r.config.Timeout)
	defer timeout.Stop()
	canceled := ctx.Done()
	for {
		select {
		case err := <-p.done:
			return err
		case <-canceled:
			if p.state.CompareAndSwap(stateWaiting, stateAbandoned) {
				return errors.Join(ErrUnavailable, ctx.Err())
			}
			canceled = nil // the commit is in progress, so wait for its result
		case <-timeout.C:
			p.state.CompareAndSwap(stateWaiting, stateAbandoned)
			r.stats.timedOut.Add(1)
			return fmt.Errorf("%w: the store takes more than %s", ErrUnavailable, r.config.Timeout)
		case <-r.closed:
			select {
			case err := <-p.done:
				return err
			default:
				return ErrUnavailable
			}
		}
	}
}

// Transact runs work in a separate transaction between the commits, for changes that are not
// events, such as deleting a person. It clears the cache of persons. If the store fails, the
// error is ErrUnavailable.
func (r *Recorder) Transact(ctx context.Context, projectID int64, work func(Tx) error) error {
	if !r.isReady() || work == nil {
		return ErrUnavailable
	}
	j := &job{project: projectID, work: work, done: make(chan error, 1)}
	select {
	case r.jobs <- j:
	case <-r.closing:
		return ErrUnavailable
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-j.done:
		if errors.Is(err, ErrStore) {
			err = wrapUnavailable(err)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close records the waiting batches, then stops the Recorder. It waits until that is done.
func (r *Recorder) Close() {
	if !r.isReady() {
		return
	}
	r.once.Do(func() { close(r.closing) })
	<-r.closed
}

// indexAfter is the time without batches after which the last events are indexed. Indexing
// many events at a time is much cheaper than indexing few, and a separate transaction delays
// the next batches.
const indexAfter = 50 * time.Millisecond

// run is the goroutine that writes. It executes commits, jobs and indexing until the Recorder
// is closed.
func (r *Recorder) run() {
	defer close(r.closed)
	indexer, _ := r.config.Ledger.(Indexer)
	idle := time.NewTimer(0) // after a start some events may not be indexed
	defer idle.Stop()
	var calls gatherer
	for {
		select {
		case p := <-r.queue:
			group, start := calls.gather(p, r.queue, r.closing, r.config.CommitEvents), time.Now()
			r.commit(group)
			calls.committed(len(group), len(r.queue), time.Since(start))
			more := true
			for range 2 { // a commit may have almost twice as many events as one call of Index handles
				more = more && r.index(indexer, false)
			}
			if more {
				idle.Reset(indexAfter)
			}
		case j := <-r.jobs:
			j.done <- r.runJob(j)
		case <-idle.C:
			if r.index(indexer, true) {
				idle.Reset(0)
			}
		case <-r.closing:
			r.drain()
			for range finalPieces { // events that are not indexed delay the next start
				if !r.index(indexer, true) {
					break
				}
			}
			return
		}
	}
}

// finalPieces is the greatest number of calls of Index when the Recorder is closed.
const finalPieces = 4

// index performs a part of the indexing if the ledger is an Indexer.
func (r *Recorder) index(i Indexer, idle bool) (more bool) {
	if i == nil {
		return false
	}
	more, err := i.Index(context.Background(), idle)
	if err != nil {
		r.config.OnFailure(fmt.Errorf("%w: %w", ErrIndexing, err))
		return false // retried after the next commit
	}
	return more
}

// drain records the waiting batches when the Recorder is closed.
func (r *Recorder) drain() {
	var calls gatherer
	for {
		select {
		case p := <-r.queue:
			r.commit(calls.gather(p, r.queue, r.closing, r.config.CommitEvents))
		default:
			return
		}
	}
}

// commit records a group of calls and sends each its result. If the transaction fails, commit
// retries the calls individually, so that a batch that the store rejects does not fail the
// rest. After a few consecutive failures it assumes that the store itself fails, and stops.
func (r *Recorder) commit(group []*pending) {
	if len(group) == 0 {
		return
	}
	err := r.try(group)
	if err == nil || len(group) == 1 {
		sendResults(group, err)
		return
	}
	const enough = 3
	failures := 1
	for i := range group {
		if failures >= enough {
			sendResults(group[i:], fmt.Errorf("%w: %w", errNotTried, err))
			return
		}
		tryErr := r.try(group[i : i+1])
		sendResults(group[i:i+1], tryErr)
		switch {
		case tryErr == nil:
			failures = 0
		case !errors.Is(tryErr, ErrMoved): // ErrMoved is not a failure
			failures++
		}
	}
}

// errNotTried is for calls that were not retried individually. It is always returned together
// with the cause.
var errNotTried = fmt.Errorf("%w: not tried", ErrUnavailable)

// sendResults sends the result to all calls of a group.
func sendResults(group []*pending, err error) {
	for _, p := range group {
		p.done <- err
	}
}

// try commits a group of calls in one transaction.
func (r *Recorder) try(group []*pending) error {
	c := newCommit(r.cache, group)
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Timeout)
	defer cancel()
	start := time.Now()
	if err := r.config.Ledger.Commit(ctx, c.projects(), c.work); err != nil {
		if !errors.Is(err, ErrMoved) { // ErrMoved is not a failure
			r.stats.failures.Add(1)
			r.config.OnFailure(err)
			if r.cache != nil { // the transaction may have been committed despite the error
				r.cache.clear()
			}
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	c.updateCache()
	r.stats.commits.Add(1)
	r.stats.commitTime.Add(int64(time.Since(start)))
	r.stats.events.Add(uint64(c.recorded))
	r.stats.duplicates.Add(uint64(c.duplicates))
	r.stats.persons.Add(uint64(c.persons))
	r.stats.merges.Add(uint64(c.merges))
	r.stats.mergesRejected.Add(c.countRejectedMerges())
	return nil
}

// runJob runs a job in a transaction. The job may change persons, so the cache is cleared.
func (r *Recorder) runJob(j *job) error {
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Timeout)
	defer cancel()
	err := r.config.Ledger.Commit(ctx, []int64{j.project}, j.work)
	if r.cache != nil {
		r.cache.clear()
	}
	return err
}

var _ Appender = (*Recorder)(nil)
