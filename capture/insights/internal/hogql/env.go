package hogql

import "time"

// Context is the configuration of a query that depends on its project and its request.
type Context struct {
	// Now is the time that now() returns. Zone is the time zone of times without one; if nil,
	// it is UTC.
	Now  time.Time
	Zone *time.Location
	// WeekStart is the first day of a week.
	WeekStart time.Weekday
	// Values are the values of {name}, and Variables those of {variables.name}. They are
	// decoded JSON.
	Values, Variables map[string]any
	// Reserve is called for memory that the query retains, in bytes. A negative number
	// releases memory. If it returns an error, the query ends. If nil, memory is not limited.
	Reserve func(bytes int64) error
	// Check is called from time to time during long computations for a row. If it returns an
	// error, the query ends. It may be nil.
	Check func() error
}

// maxRowBytes bounds the total size of the strings and lists that are created for one row.
const maxRowBytes = 64 << 20

// env is the state that is shared by the compiled expressions of a query.
//
// Compiled expressions are closures over it. Errors are stored here instead of being returned
// by each expression, which keeps the evaluation fast.
type env struct {
	Context
	// zone is Context.Zone or UTC. zones caches the zones that a query names.
	zone  *time.Location
	zones map[string]*time.Location
	// readsClock is true if an expression depends on Now.
	readsClock bool
	// err is the first error of the evaluation.
	err error

	built   int64 // size of the values created for this row
	steps   int   // number of loop steps, see tick
	pending int64 // bytes to reserve, see reserveLater
	// epoch is different for each row. Aliases use it to cache their value for one row.
	epoch   uint64
	locals  []Value // parameters of lambdas
	results []Value // keys and aggregates of the current group
}

// newEnv returns the state for a context.
func newEnv(c Context) *env {
	e := &env{Context: c, zone: c.Zone, zones: map[string]*time.Location{}}
	if e.zone == nil {
		e.zone = time.UTC
	}
	e.zones[e.zone.String()] = e.zone
	return e
}

// now returns the time of the request in microseconds since 1970.
func (e *env) now() int64 {
	e.readsClock = true
	return e.Now.UnixMicro()
}

// next begins another row or group.
func (e *env) next() {
	e.epoch++
	e.built = 0
}

// fail stores the first error. Evaluation continues, but the caller stops at the end of the
// row.
func (e *env) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// reserveLater counts memory that is retained. It is reserved in large units, because Reserve
// may be slow.
func (e *env) reserveLater(bytes int64) {
	if e.pending += bytes; e.pending >= 64<<10 {
		e.reserve()
	}
}

// reserve reserves the memory that was counted.
func (e *env) reserve() {
	if e.Reserve != nil && e.pending != 0 {
		if err := e.Reserve(e.pending); err != nil {
			e.fail(err)
		}
	}
	e.pending = 0
}

// tick must be called in loops. It calls Check from time to time, and reports whether the
// loop may continue.
func (e *env) tick() bool {
	if e.steps++; e.steps%1024 == 0 {
		return e.check()
	}
	return e.err == nil
}

// check calls Check, and reports whether the computation may continue.
func (e *env) check() bool {
	if e.Check != nil {
		if err := e.Check(); err != nil {
			e.fail(err)
		}
	}
	return e.err == nil
}
