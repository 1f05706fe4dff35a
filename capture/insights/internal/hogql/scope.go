package hogql

import (
	"slices"
	"strings"
	"time"
)

// Context is what a query takes from its project and its request.
type Context struct {
	// Now is the instant of now(); Zone that of times without one, nil: UTC.
	Now  time.Time
	Zone *time.Location
	// WeekStart is the first day of a week.
	WeekStart time.Weekday
	// Values are for {name}, Variables for {variables.name}: decoded JSON.
	Values, Variables map[string]any
	// Reserve is asked for memory that is held from now on, in bytes; its error ends
	// the run. nil: there is no bound.
	Reserve func(bytes int64) error
	// Check is asked now and then during long work for one row; its error ends the run.
	Check func() error
}

// Scope says which fields there are, and collects those that are used. One scope
// serves all expressions that are evaluated over the same rows.
type Scope struct {
	// Resolve gives the type of the field with a path such as properties, $browser;
	// false: there is none.
	Resolve func(path []string) (Type, bool)
	// Star are the fields that * stands for.
	Star []string
	// Time and Name are the fields by which rows can be found, see [Query.Range]; empty
	// for none.
	Time, Name string
	// Cohort says whether what has a path belongs to people, so that IN COHORT may
	// follow; its error says why a cohort cannot be asked. nil: there are no cohorts.
	Cohort func(path []string, cohort string) error
	// Filters: {filters} may be used.
	Filters bool

	fields []Field
	types  []Type
	index  map[string]int
}

// Field is what a slot of [Row.Fields] holds.
type Field struct {
	// Path is the name of a field and of what is below it.
	Path []string
	// Cohort is set where the slot tells whether the person of Path is in the cohort.
	Cohort string
	// Filters: the slot tells whether the row passes {filters}.
	Filters bool
}

// Fields are the slots in their order.
func (s *Scope) Fields() []Field { return s.fields }

func (s *Scope) slot(f Field, t Type) int {
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

// Row is what expressions are evaluated over. Texts need to stay as they are until
// the call that takes the row returns.
type Row struct {
	// Fields are the values of [Scope.Fields].
	Fields []Value
	// Fetch, unless it is nil, gives them instead, when they are looked at.
	Fetch func(slot int) Value
	// Time in microseconds and ID, the order of recording, tell which row is earlier.
	Time, ID int64
	// Deferred puts off what is selected of the row until [Query.Settle], which is told
	// Index.
	Deferred bool
	Index    int
}

// field is the value of a slot.
func (r *Row) field(slot int) Value {
	if r.Fetch != nil {
		return r.Fetch(slot)
	}
	return r.Fields[slot]
}

func (r *Row) before(time, id int64) bool {
	return r.Time < time || r.Time == time && r.ID < id
}

// maxRowBytes bounds the bytes of the texts and lists that one row makes.
const maxRowBytes = 64 << 20

// env is what compiled expressions share.
type env struct {
	Context
	zone  *time.Location
	zones map[string]*time.Location
	err   error

	built   int64 // bytes that were made for this row
	steps   int   // of loops, see tick
	pending int64 // bytes to reserve, see hold
	// epoch is another for each row: aliases keep their value for one.
	epoch   uint64
	locals  []Value // parameters of lambdas
	results []Value // of aggregates and keys of the present group
}

func newEnv(c Context) *env {
	e := &env{Context: c, zone: c.Zone, zones: map[string]*time.Location{}}
	if e.zone == nil {
		e.zone = time.UTC
	}
	e.zones[e.zone.String()] = e.zone
	return e
}

// next begins another row.
func (e *env) next() {
	e.epoch++
	e.built = 0
}

func (e *env) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// reserveLater counts memory that is kept; it is reserved in pieces.
func (e *env) reserveLater(bytes int64) {
	if e.pending += bytes; e.pending >= 64<<10 {
		e.reserve()
	}
}

func (e *env) reserve() {
	if e.Reserve != nil && e.pending != 0 {
		if err := e.Reserve(e.pending); err != nil {
			e.fail(err)
		}
	}
	e.pending = 0
}

// site is the place of a call: where errors are, and room for its arguments.
type site struct {
	env  *env
	node *node
	args []Value
	buf  []byte
	// seen is the bucket of the last moment, by which the next is most often found.
	seen span
	zone string // of seen
	// pattern is what the last pattern was made into.
	pattern matcher
}

// fail ends the query; head names the word, the place follows.
func (s *site) fail(code, head string) {
	if s.env.err == nil {
		s.env.fail(s.node.fault(code, head, ""))
	}
}

func (n *node) fault(code, head, tail string) *Error {
	return n.src.fault(code, n.start, n.end, head, tail)
}

// word is the node as written, in quotes.
func (n *node) word() string { return quoted(n.src.word(n.start, n.end)) }

// allocate counts what is made for a row before it is made, and reports whether it may be.
func (s *site) allocate(bytes int) bool {
	if !s.fits(bytes) {
		return false
	}
	s.env.built += int64(bytes)
	return true
}

// fits is make for what is counted once it is there.
func (s *site) fits(bytes int) bool {
	if s.env.built+int64(bytes) > maxRowBytes {
		s.fail(TooLarge, "Texts and lists of one row are above 64 MiB with "+s.node.word())
		return false
	}
	return true
}

// tick is called in loops and reports whether they may go on.
func (e *env) tick() bool {
	if e.steps++; e.steps%1024 == 0 && e.Check != nil {
		if err := e.Check(); err != nil {
			e.fail(err)
		}
	}
	return e.err == nil
}
