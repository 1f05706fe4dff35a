package queries

import (
	"cmp"
	"context"
	"time"

	"github.com/bunting-flags/bunting/capture"
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
	// Rewritten returns the persons who got or lost events while State.Rewritten of a project increased
	// from one value to another. It returns false if they are not known.
	Rewritten(projectID, from, to int64) (people []capture.UUID, ok bool)
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
	// Trace, if not nil, is called at the start of each Execute, which continues with the
	// returned context, and calls the returned function at its end.
	Trace func(ctx context.Context, kind string, projectID int64) (context.Context, func(error))
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
