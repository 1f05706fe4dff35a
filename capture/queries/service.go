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
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
)

// State identifies a version of a project's data. Queries that are executed at the same State
// have the same results, except for the effect of the current time.
type State struct {
	// Events increases with each recorded event.
	Events int64
	// Rewritten increases when recorded data changes: with merges, splits, erasures,
	// deletions and changes of groups.
	Rewritten int64
	// Revision increases with each change of definitions and settings.
	Revision int64
}

// States returns the current state of a project. It is called for every query, so it should
// be fast.
type States interface {
	State(ctx context.Context, projectID int64) (State, error)
}

// Limits bounds queries (§5.4). Zero fields have the default values.
type Limits struct {
	// Timeout is the greatest computing time of a query whose caller waits, by default 30
	// seconds. AsyncTimeout is that of a background query, by default 5 minutes.
	Timeout, AsyncTimeout time.Duration
	// Memory limits the memory of one query, by default to 256 MiB, and MemoryTotal that of
	// all concurrent queries, by default to 512 MiB. Both are in bytes.
	Memory, MemoryTotal int64
	// Workers is the greatest number of concurrent queries. If zero, it is 1.
	Workers int
}

// withDefaults returns the limits with the defaults for zero fields.
func (l Limits) withDefaults() Limits {
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	l.AsyncTimeout = cmp.Or(l.AsyncTimeout, 5*time.Minute)
	l.Memory = cmp.Or(l.Memory, 256<<20)
	l.MemoryTotal = max(cmp.Or(l.MemoryTotal, 512<<20), l.Memory)
	l.Workers = max(l.Workers, 1)
	return l
}

// Config is the configuration of a Service. Source, States and NewID are required.
type Config struct {
	Source port.Source
	States States
	// Definitions returns the definitions with the cohorts of a project. If nil, there are no
	// cohorts.
	Definitions func(ctx context.Context, projectID int64) (*flags.Definitions, error)
	// Actions returns the actions of a project by ID. If nil, there are no actions.
	Actions func(ctx context.Context, projectID int64) (map[int64]port.Action, error)
	// NewID returns a unique ID for a run whose caller did not choose one.
	NewID func() string
	// Now is the clock. If nil, time.Now is used.
	Now    func() time.Time
	Limits Limits
	// RunStore shares the state of runs between all servers of the database. If nil, only the
	// server that executes a run can find it.
	RunStore RunStore
	// Work returns a counter of the other work of this process, such as requests for flags
	// and received events. While it increases, queries pause for three quarters of the time.
	// If nil, queries do not pause.
	Work func() uint64
	// OnSlowQuery is called for each query that computed for more than 5 seconds. It may be
	// nil.
	OnSlowQuery func(SlowQuery)
}

// SlowQuery describes a slow query. It does not contain the query itself.
type SlowQuery struct {
	Kind, Name string
	Project    int64
	Rows       int64 // number of events read
	Took       time.Duration
}

// slowAfter is the computing time after which a query is reported as slow.
const slowAfter = 5 * time.Second

// Service executes queries. Its methods are safe for concurrent use.
type Service struct {
	Config
	scheduler scheduler
	pace      pace
	stats     stats
	server    string // the ID of this server in RunStore
	close     context.CancelFunc
	ctx       context.Context // canceled by Close
	wg        sync.WaitGroup

	mu           sync.Mutex
	cache        cache
	computations map[string]*computation // by cache key; the computations that other runs may join
	runs         runs
}

// New returns a Service. It returns an error if a required field of c is not set. The caller
// must call Close.
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

// Close cancels all computations and waits until they have ended.
func (d *Service) Close() {
	d.close()
	d.wg.Wait()
}

// Mode determines whether a cached result is sufficient, and whether the caller waits (§1.6).
type Mode string

// These are the modes.
const (
	Blocking         Mode = "blocking"
	ForceBlocking    Mode = "force_blocking"
	Async            Mode = "async"
	LazyAsync        Mode = "lazy_async"
	ForceAsync       Mode = "force_async"
	AsyncExceptFirst Mode = "async_except_on_cache_miss"
	CacheOnly        Mode = "force_cache"
)

// Modes is the list of all modes.
var Modes = []Mode{Blocking, ForceBlocking, Async, LazyAsync, ForceAsync, AsyncExceptFirst, CacheOnly}

// Request is a query to execute.
type Request struct {
	Project *port.Project
	Query   json.RawMessage
	Mode    Mode
	// ID identifies the run for Status and Cancel. If empty, a run whose caller waits has no
	// ID, and a background run is assigned one.
	ID string
	// Name is a name for logs.
	Name string
	// MaxWait is the time after which a query continues in the background and Execute returns
	// its status. If zero, Execute waits for the result.
	MaxWait time.Duration
	// Shared reports whether the request comes from a public link. Any result of the last
	// minute is then sufficient, independent of its cost, and so is any computation in
	// progress, so that many visitors cost no more than one.
	Shared bool
}

// Answer is the response to a Request: a result, the status of a run in progress, or both. In
// the last case the result is an older one.
type Answer struct {
	// Result has the members of §1.4. It is nil if there is no result.
	Result map[string]any
	// Status is the status of a run that is in progress. It is nil if there is no such run.
	Status *Status
	// Ignored has one line for each member of the query that has no effect.
	Ignored []string
}

// Execute executes a query. The error is an *port.Error, an *Error, or an error of the
// store. If ctx is canceled, the computation is canceled unless other runs wait for it.
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
	isFresh := old != nil && a.isFresh(old, r.Mode == LazyAsync)
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

// isForced reports whether cached results must not be used.
func (r *Request) isForced() bool { return r.Mode == ForceBlocking || r.Mode == ForceAsync }

// isBlocking reports whether the caller waits for the computation. old reports whether there
// is a cached result.
func (r *Request) isBlocking(old bool) bool {
	return r.Mode == Blocking || r.Mode == ForceBlocking || r.Mode == AsyncExceptFirst && !old
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
