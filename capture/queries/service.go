package queries

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/flags"
)

// State is how far a project's data has come. Answers computed at the same State are
// the same, but for what the clock changes.
type State struct {
	// Events grows with each event that is recorded.
	Events int64
	// Rewritten grows when what was recorded before counts otherwise: merges, splits,
	// erasures, deletions, changes of groups.
	Rewritten int64
	// Revision grows with each change of definitions and settings.
	Revision int64
}

// States tells the state of a project now. It is asked for every query: it should be
// cheap.
type States interface {
	State(ctx context.Context, projectID int64) (State, error)
}

// Limits bound queries (§5.4). Zero members mean the defaults.
type Limits struct {
	// Timeout is how long a query may compute for somebody who waits, 30 seconds;
	// AsyncTimeout one that goes on behind the request, 5 minutes.
	Timeout, AsyncTimeout time.Duration
	// Memory bounds one query, 256 MiB, MemoryTotal all that run at once, 512 MiB;
	// in bytes.
	Memory, MemoryTotal int64
	// Workers is how many queries run at once, 1 when zero.
	Workers int
}

func (l Limits) withDefaults() Limits {
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	l.AsyncTimeout = cmp.Or(l.AsyncTimeout, 5*time.Minute)
	l.Memory = cmp.Or(l.Memory, 256<<20)
	l.MemoryTotal = max(cmp.Or(l.MemoryTotal, 512<<20), l.Memory)
	l.Workers = max(l.Workers, 1)
	return l
}

// Config says what a Desk stands on. Source, States and NewID are required.
type Config struct {
	Source insights.Source
	States States
	// Definitions holds the cohorts of a project. Nil: there are none.
	Definitions func(ctx context.Context, projectID int64) (*flags.Definitions, error)
	// Actions are those of a project by their ids. Nil: there are none.
	Actions func(ctx context.Context, projectID int64) (map[int64]insights.Action, error)
	// NewID makes names of runs whose caller gives none.
	NewID func() string
	// Now is the clock, time.Now when nil.
	Now    func() time.Time
	Limits Limits
	// RunStore keeps what is known of runs for all servers of the database. Nil: only the
	// server that began a run knows it.
	RunStore RunStore
	// Work counts what others ask of this process, such as requests for flags and events
	// that come in. As long as it grows queries stand still three quarters of the time. Nil:
	// nobody else asks.
	Work func() uint64
	// OnSlowQuery is told of each query that computed for more than 5 seconds. Nil: nobody is.
	OnSlowQuery func(SlowQuery)
}

// SlowQuery is a query that took long. It has nothing of what was asked.
type SlowQuery struct {
	Kind, Name string
	Project    int64
	Rows       int64 // events that were read
	Took       time.Duration
}

// slowAfter is when a query is told of as slow.
const slowAfter = 5 * time.Second

// Service answers queries. It is safe for use by several goroutines.
type Service struct {
	Config
	scheduler scheduler
	pace      pace
	stats     stats
	server    string // this one's name in Runs
	close     context.CancelFunc
	ctx       context.Context // ends when the desk is closed
	wg        sync.WaitGroup

	mu           sync.Mutex
	cache        cache
	computations map[string]*computation // by cache key: those that others may join
	runs         runs
}

// New makes a Desk.
func New(c Config) (*Service, error) {
	if c.Source == nil || c.States == nil || c.NewID == nil {
		return nil, errors.New("queries: Config.Source, States and NewID are required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.OnSlowQuery == nil {
		c.OnSlowQuery = func(SlowQuery) {}
	}
	c.Limits = c.Limits.withDefaults()
	d := &Service{Config: c, computations: map[string]*computation{}}
	if c.Work != nil {
		d.pace.work = c.Work
		d.pace.lastCount.Store(c.Work())
	}
	d.scheduler.workers = min(c.Limits.Workers, max(int(c.Limits.MemoryTotal/c.Limits.Memory), 1))
	d.ctx, d.close = context.WithCancel(context.Background())
	if c.RunStore != nil {
		d.server = c.NewID()
		d.wg.Go(d.updateStoredRuns)
	}
	return d, nil
}

// Close ends all that runs and waits for it.
func (d *Service) Close() {
	d.close()
	d.wg.Wait()
}

// Mode says whether something that is remembered will do, and whether to wait (§1.6).
type Mode string

// The modes.
const (
	Blocking         Mode = "blocking"
	ForceBlocking    Mode = "force_blocking"
	Async            Mode = "async"
	LazyAsync        Mode = "lazy_async"
	ForceAsync       Mode = "force_async"
	AsyncExceptFirst Mode = "async_except_on_cache_miss"
	CacheOnly        Mode = "force_cache"
)

// Modes are all of them.
var Modes = []Mode{Blocking, ForceBlocking, Async, LazyAsync, ForceAsync, AsyncExceptFirst, CacheOnly}

// Request asks a question.
type Request struct {
	Project *insights.Project
	Query   json.RawMessage
	Mode    Mode
	// ID names the run, for Status and Cancel; empty: whoever waits needs none, and
	// one that goes on behind gets one.
	ID string
	// Name is shown in logs.
	Name string
	// MaxWait is after how long a query that somebody waits for goes on behind the
	// request. Zero: it does not.
	MaxWait time.Duration
	// Shared: strangers ask. An answer of the last minute will do whatever it has cost,
	// and so will any that is being computed: many of them cost as much as one.
	Shared bool
}

// Answer is a result, a run that goes on, or both: then the result is an old one.
type Answer struct {
	// Result has the members of §1.4, nil when there is none.
	Result map[string]any
	// Status is that of a run that goes on, nil when none does.
	Status *Status
	// Ignored are lines that name members of the query that have no effect.
	Ignored []string
}

// Execute answers a question. Errors are an *insights.Error, an *Error, or those of the
// store. When ctx ends, what nobody else waits for is stopped.
func (d *Service) Execute(ctx context.Context, r Request) (*Answer, error) {
	now := d.Now()
	if err := d.define(ctx, &r); err != nil {
		return nil, err
	}
	q, err := insights.Parse(r.Query, r.Project)
	if err != nil {
		return nil, err
	}
	answer, err := d.respond(ctx, r, q, now)
	if answer != nil {
		answer.Ignored = q.Ignored
	}
	return answer, err
}

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
	isFresh := old != nil && a.isFresh(old, r.Mode == LazyAsync)
	d.stats.countLookup(old != nil, isFresh, r.Mode)
	switch wait := r.isBlocking(old != nil); {
	case r.Mode == CacheOnly && old == nil:
		return &Answer{}, nil
	case r.Mode == CacheOnly, isFresh && !r.isForced():
		return &Answer{Result: old.show(true)}, nil
	default:
		return d.begin(ctx, a, wait, old)
	}
}

// define reads the cohorts and the actions of the project where the question may
// name one: by itself, by the metrics of an experiment, or by the steps of an action.
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

func (r *Request) isForced() bool { return r.Mode == ForceBlocking || r.Mode == ForceAsync }

// isBlocking says whether the caller waits for a computation.
func (r *Request) isBlocking(old bool) bool {
	return r.Mode == Blocking || r.Mode == ForceBlocking || r.Mode == AsyncExceptFirst && !old
}

// begin starts a run, and waits for it where the caller does.
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
		if s.Complete { // just now: who asks for it hears so, with what has come out
			s = &Status{ID: s.ID, Async: true, Team: s.Team, Start: s.Start, Pickup: s.Pickup}
		}
		out := &Answer{Status: s}
		if old != nil {
			out.Result = old.show(true)
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
	return &Answer{Result: run.entry.show(run.joined)}, nil
}

// handleTimeout is what somebody gets whose patience has ended before the run.
func (r *run) handleTimeout(ctx context.Context, a *preparedQuery, pendingAnswer func() (*Answer, error)) (*Answer, error) {
	switch {
	case a.request.Shared:
		if r.joined { // who has begun it keeps it going
			defer r.cancel(errCancelled)
		}
	case a.request.ID == "":
		if err := r.publish(ctx); err != nil {
			return nil, err
		}
	}
	return pendingAnswer()
}
