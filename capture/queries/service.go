package queries

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"sync"
	"time"
)

// Service executes queries. Its methods are safe for concurrent use.
type Service struct {
	Config
	scheduler scheduler
	pace      pace
	stats     stats
	server    string // the ID of this server in RunStore
	// processors is the number of processors at the start, of which queries may use more than one.
	processors int
	close      context.CancelFunc
	ctx        context.Context // canceled by Close
	wg         sync.WaitGroup

	stored storedStates

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
	d := &Service{Config: c, computations: map[string]*computation{}, processors: runtime.GOMAXPROCS(0)}
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

// Stats returns the current statistics. d may be nil.
func (d *Service) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	running, waiting := d.scheduler.counts()
	d.stats.mu.Lock()
	defer d.stats.mu.Unlock()
	return Stats{
		Running: running, Waiting: waiting, MemoryBytes: int64(running) * d.Limits.Memory, RowsRead: d.stats.rows,
		Outcomes: maps.Clone(d.stats.outcomes), Seconds: maps.Clone(d.stats.seconds), Cache: maps.Clone(d.stats.cache),
	}
}
