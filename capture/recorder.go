package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Batch is what one request asks to be recorded, all of one project.
type Batch struct {
	ProjectID int64
	Events    []Event
	Seen      []SeenName
	Warnings  []Warning
	Usage     []Usage
}

// Appender takes batches and returns when they are durable, with ErrUnavailable
// when they are not.
type Appender interface {
	Append(ctx context.Context, b *Batch) error
}

// Defaults of RecorderConfig.
const (
	defaultCommitEvents = 2000
	defaultMaxWaiting   = 4096
	defaultTimeout      = 20 * time.Second
)

// RecorderConfig says where a Recorder writes. Only Ledger is required.
type RecorderConfig struct {
	Ledger Ledger
	// CommitEvents is at about how many events a commit is full,
	// 2,000 when zero. A larger batch is a commit of its own.
	CommitEvents int
	// MaxWaiting is how many batches may wait, 4,096 when zero. One more is
	// ErrUnavailable at once.
	MaxWaiting int
	// Timeout is how long a batch may take until it is durable, 20 seconds
	// when zero. After that its sender is told ErrUnavailable; if its commit was
	// under way by then it may still succeed.
	Timeout time.Duration
	// CacheBytes bounds what is remembered of people, in bytes, if the ledger
	// has a HasSingleWriter. 24 MiB when zero.
	CacheBytes int
	// OnFailure is told about failed commits, from the goroutine that writes. Nil:
	// nobody is told.
	OnFailure func(error)
}

// Recorder records batches. All that wait share one commit, which holds the
// events and every change that they make to people and groups (decision 13);
// while it is written the next ones gather.
type Recorder struct {
	config RecorderConfig
	queue  chan *pending
	jobs   chan *job
	cache  *personCache // nil where others write too
	stats  recorderCounters

	closing chan struct{}
	closed  chan struct{}
	once    sync.Once
}

// pending are batches that wait, and the place in a stream that they lead to.
type pending struct {
	batches []*Batch
	move    *Move      // nil where they come from no stream
	done    chan error // of room for one, so that nobody waits to answer
	state   atomic.Int32
}

// The states of a pending batch: it can be taken for a commit or given up, once.
const (
	stateWaiting = iota
	stateCommitting
	stateAbandoned
)

// job is work for a transaction of its own.
type job struct {
	project int64
	work    func(Tx) error
	done    chan error
}

// Indexer is a Ledger that builds indexes behind its commits.
type Indexer interface {
	// Index does a bounded piece of that work. idle says that nothing waits, so that
	// a small piece is worth while. It reports whether there is more to do.
	Index(ctx context.Context, idle bool) (more bool, err error)
}

// NewRecorder starts a Recorder, which runs until Close. Without a Ledger it is nil, and
// one that is nil or zero answers ErrUnavailable.
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

// Advance records what a stream holds between two places, and the second place
// with it: what is recorded once is not recorded again. It fails with ErrMoved
// when the stream's partition does not stand at m.From.
func (r *Recorder) Advance(ctx context.Context, m Move, batches []*Batch) error {
	return r.record(ctx, &pending{batches: batches, move: &m, done: make(chan error, 1)})
}

func (r *Recorder) isReady() bool { return r != nil && r.queue != nil }

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
		return fmt.Errorf("%w: %d requests wait already", ErrUnavailable, r.config.MaxWaiting)
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
			canceled = nil // its commit is under way: the outcome is near
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

// Transact runs work in a transaction of its own between the commits, for what is
// no event, such as erasing a person. What was remembered of people is
// forgotten. A store that fails is ErrUnavailable.
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

// Close records what waits, then stops.
func (r *Recorder) Close() {
	if !r.isReady() {
		return
	}
	r.once.Do(func() { close(r.closing) })
	<-r.closed
}

// indexAfter is how long nothing may come in before the last events are indexed:
// many at a time are far cheaper than few, and a transaction of their own delays
// what comes next.
const indexAfter = 50 * time.Millisecond

func (r *Recorder) run() {
	defer close(r.closed)
	indexer, _ := r.config.Ledger.(Indexer)
	idle := time.NewTimer(0) // at the start there may be events that are not indexed
	defer idle.Stop()
	for {
		select {
		case p := <-r.queue:
			r.commit(r.gather(p))
			more := true
			for range 2 { // a commit may hold almost two pieces
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
			for range finalPieces { // what is not indexed slows down the next start
				if !r.index(indexer, true) {
					break
				}
			}
			return
		}
	}
}

// finalPieces bounds the indexing at the end.
const finalPieces = 4

// index has a piece of indexing done, where there is an indexer.
func (r *Recorder) index(i Indexer, idle bool) (more bool) {
	if i == nil {
		return false
	}
	more, err := i.Index(context.Background(), idle)
	if err != nil {
		r.config.OnFailure(fmt.Errorf("%w: %w", ErrIndexing, err))
		return false // the next commit tries again
	}
	return more
}

// gather takes everything that waits, up to a full commit.
func (r *Recorder) gather(first *pending) (group []*pending) {
	events := 0
	add := func(p *pending) {
		if p.state.CompareAndSwap(stateWaiting, stateCommitting) {
			group = append(group, p)
			for _, b := range p.batches {
				events += len(b.Events)
			}
		}
	}
	add(first)
	for events < r.config.CommitEvents {
		select {
		case p := <-r.queue:
			add(p)
		default:
			return group
		}
	}
	return group
}

// drain records what waits at the end.
func (r *Recorder) drain() {
	for {
		select {
		case p := <-r.queue:
			r.commit(r.gather(p))
		default:
			return
		}
	}
}

// commit records a group and answers everybody in it. When that fails it tries
// them one by one, so that a batch that the store cannot take does not fail
// those beside it; some failures in a row mean that the store itself fails.
func (r *Recorder) commit(group []*pending) {
	if len(group) == 0 {
		return
	}
	err := r.try(group)
	if err == nil || len(group) == 1 {
		answer(group, err)
		return
	}
	const enough = 3
	failures := 1
	for i := range group {
		if failures >= enough {
			answer(group[i:], fmt.Errorf("%w: %w", errNotTried, err))
			return
		}
		tryErr := r.try(group[i : i+1])
		answer(group[i:i+1], tryErr)
		switch {
		case tryErr == nil:
			failures = 0
		case !errors.Is(tryErr, ErrMoved): // else nothing has failed
			failures++
		}
	}
}

// errNotTried is for batches that were not tried alone. It always has a cause.
var errNotTried = fmt.Errorf("%w: not tried", ErrUnavailable)

func answer(group []*pending, err error) {
	for _, p := range group {
		p.done <- err
	}
}

// try is one transaction.
func (r *Recorder) try(group []*pending) error {
	c := newCommit(r.cache, group)
	ctx, cancel := context.WithTimeout(context.Background(), r.config.Timeout)
	defer cancel()
	start := time.Now()
	if err := r.config.Ledger.Commit(ctx, c.projects(), c.work); err != nil {
		if !errors.Is(err, ErrMoved) { // else nothing has failed
			r.stats.failures.Add(1)
			r.config.OnFailure(err)
			if r.cache != nil { // it may have been committed all the same
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
