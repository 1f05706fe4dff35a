package hogql

import (
	"slices"
	"strings"
	"time"
)

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

// Scope defines the fields of rows, and collects those that are used. All expressions that
// are evaluated over the same rows may share one scope.
//
// The caller sets the exported fields before it compiles. Compiling adds the fields that are
// used; the caller then reads them with Fields.
type Scope struct {
	// Resolve returns the type of the field with a path, such as properties, $browser. It
	// returns false if there is no such field.
	Resolve func(path []string) (Type, bool)
	// Star has the fields that * represents.
	Star []string
	// Time and Name are the fields by which rows can be selected, see [Query.Range]. They may
	// be empty.
	Time, Name string
	// Cohort checks IN COHORT: path must identify a person, and the cohort must exist. The
	// error is the reason why it is not possible. If nil, cohorts are not supported.
	Cohort func(path []string, cohort string) error
	// Filters reports whether {filters} may be used.
	Filters bool

	fields []Field
	types  []Type
	index  map[string]int
}

// Field is the definition of a slot of [Row.Fields].
type Field struct {
	// Path is the name of a field, and names below it.
	Path []string
	// Cohort is a cohort if the value of the slot is whether the person of Path is a member.
	// Otherwise it is empty.
	Cohort string
	// Filters reports whether the value of the slot is whether the row passes {filters}.
	Filters bool
}

// Fields returns the fields that are used, in the order of their slots.
func (s *Scope) Fields() []Field { return s.fields }

// slot returns the slot of a field, and adds the field if needed.
func (s *Scope) slot(f Field, t Type) int {
	// Equal fields share a slot, so that the caller computes each value once for a row.
	key := strings.Join(f.Path, "\x00") + "\x01" + f.Cohort
	if f.Filters {
		key = "\x02"
	}
	if i, ok := s.index[key]; ok {
		return i
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	f.Path = slices.Clone(f.Path)
	s.fields, s.types = append(s.fields, f), append(s.types, t)
	s.index[key] = len(s.fields) - 1
	return len(s.fields) - 1
}

// Row is a row that expressions are evaluated over. Its strings must not be modified until
// the call that the row is passed to returns.
//
// The caller may reuse a Row and its slices for the next row, since a Query copies the values
// that it retains.
type Row struct {
	// Fields are the values of [Scope.Fields].
	Fields []Value
	// Fetch, if not nil, returns the value of a slot when it is needed. Fields is not used in
	// that case.
	Fetch func(slot int) Value
	// Time, in microseconds, and ID, the order of recording, determine which row is earlier.
	Time, ID int64
	// Deferred delays the evaluation of the selected items until [Query.EvaluateDeferred],
	// which requests the row by Index.
	Deferred bool
	Index    int
}

// field returns the value of a slot.
func (r *Row) field(slot int) Value {
	if r.Fetch != nil {
		return r.Fetch(slot)
	}
	return r.Fields[slot]
}

// before reports whether the row is earlier than the given time and ID.
func (r *Row) before(time, id int64) bool {
	return r.Time < time || r.Time == time && r.ID < id
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

// site is the location of a call in a query: its node for errors, and buffers for its
// arguments.
type site struct {
	env  *env
	node *node
	// args has the arguments for the current row, for functions that are called with a slice.
	args []Value
	// buf is a buffer to build strings and keys in.
	buf []byte
	// seen is the interval of the last time that was truncated; it usually contains the next
	// one.
	seen span
	zone string // the zone of seen
	// pattern caches the last pattern.
	pattern matcher
}

// fail ends the query with an error. head names the erroneous part; the position is added to
// it.
func (s *site) fail(code, head string) {
	if s.env.err == nil {
		s.env.fail(s.node.fault(code, head, ""))
	}
}

// fault returns an error at the position of the node.
func (n *node) fault(code, head, tail string) *Error {
	return n.src.fault(code, n.start, n.end, head, tail)
}

// word returns the text of the node in quotes.
func (n *node) word() string { return quoted(n.src.word(n.start, n.end)) }

// allocate counts the size of a value before it is created for a row, and reports whether it
// may be created.
//
// If the limit is exceeded, the query ends with an error, so that a short query cannot use
// all memory for one row.
func (s *site) allocate(bytes int) bool {
	if !s.fits(bytes) {
		return false
	}
	s.env.built += int64(bytes)
	return true
}

// fits is like allocate for values that are counted after they have been created.
func (s *site) fits(bytes int) bool {
	if s.env.built+int64(bytes) > maxRowBytes {
		s.fail(TooLarge, "Texts and lists of one row are above 64 MiB with "+s.node.word())
		return false
	}
	return true
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
