package hogql

import (
	"cmp"
	"slices"
)

const (
	// DefaultLimit is the greatest number of rows of the result if the query has no LIMIT
	// (§2.9.5).
	DefaultLimit = 100
	// MaxLimit is the greatest number of rows of any result.
	MaxLimit = 50_000
	// maxGroups is the greatest number of groups or distinct rows of a query (§5.4).
	maxGroups = 1_000_000
)

// Program is a compiled expression that is evaluated for each row. It must not be used
// concurrently.
type Program struct {
	env  *env
	eval func(*Row) Value
	typ  Type
}

// Compile compiles an expression without aggregates. The error is an [*Error].
func (x *Expr) Compile(scope *Scope, c Context) (*Program, error) {
	k := newCompiler(scope, c)
	k.where = "this expression"
	done := k.compile(x.root)
	if err := k.firstError(); err != nil {
		return nil, err
	}
	return &Program{env: k.env, eval: done.eval, typ: done.typ}, nil
}

// ReadsClock reports whether the value depends on the time of the request. Calls such as now() are
// evaluated when the expression is compiled.
func (p *Program) ReadsClock() bool { return p.env.readsClock }

// Eval returns the value for a row. Its strings may be shared with the row.
func (p *Program) Eval(r *Row) (Value, error) {
	p.env.next()
	v := p.eval(r)
	return v, p.env.err
}

// Text returns text(v) of §3.2.2 in the time zone of the context. It returns false for null.
func (p *Program) Text(v Value) (string, bool) { return p.env.text(v), v.kind != Null }

// Aggregation is a compiled expression of aggregates, such as sum(properties.a) / count().
type Aggregation struct {
	env    *env
	groups *groups
	eval   func(*Row) Value
}

// State is an [Aggregation] over some rows.
type State struct {
	aggregation *Aggregation
	all         []state
}

// CompileAggregate compiles an expression of aggregates. It is an error if it contains no
// aggregate, or a field outside of one. The error is an [*Error].
func (x *Expr) CompileAggregate(scope *Scope, c Context) (*Aggregation, error) {
	k := newCompiler(scope, c)
	k.groups = &groups{}
	done := k.compile(x.root)
	if err := k.firstError(); err != nil {
		return nil, err
	}
	if len(k.groups.all) == 0 {
		return nil, x.root.fault(TypeError, "There is no aggregate in "+x.root.word(), "")
	}
	k.env.results = make([]Value, len(k.groups.types))
	return &Aggregation{env: k.env, groups: k.groups, eval: done.eval}, nil
}

// New returns a state over no rows.
func (a *Aggregation) New() *State { return &State{aggregation: a, all: a.groups.newStates()} }

// newStates returns the states of all aggregates for a new group.
func (g *groups) newStates() []state {
	all := make([]state, len(g.all))
	for i, a := range g.all {
		all[i] = a.newState()
	}
	return all
}

// Add adds a row. The error is an [*Error] or one of the context.
func (s *State) Add(r *Row) error {
	s.aggregation.env.next()
	for i, a := range s.aggregation.groups.all {
		a.add(s.all[i], r)
	}
	return s.aggregation.env.err
}

// Result returns the value over the rows so far.
func (s *State) Result() (Value, error) {
	e := s.aggregation.env
	e.next()
	for i, a := range s.aggregation.groups.all {
		e.results[i] = s.all[i].result(a)
	}
	return s.aggregation.eval(nil), e.err
}

// Query is a compiled SELECT that rows are added to. It must not be used concurrently.
//
// Without groups, rows that meet WHERE enter rows if they are among the first in the order.
// With groups or DISTINCT, they are first added to a group, and the groups enter rows when
// Result is called.
type Query struct {
	// env is the state shared by all expressions. Its error ends the query.
	env       *env
	statement *Statement
	// where are conditions for rows, all of which must be true.
	where  []compiled
	groups *groups // nil if there are no groups
	// keys are the keys of the groups, and having the conditions for groups.
	keys   []compiled
	having []compiled
	// items are the selected expressions, and columns their names in the result.
	items   []compiled
	columns []string
	// order are the expressions of ORDER BY, and terms their directions.
	order []compiled
	terms []Order

	bounds bounds
	// limit and offset are those of the result, with defaults and bounds applied.
	limit, offset int
	// rows are the first rows of the result so far.
	rows topRows
	// byKey and inOrder have the groups, by key and in the order of their first rows.
	byKey   map[string]*group
	inOrder []*group
	// The following fields are buffers that are reused for each row.
	buf       []byte
	values    []Value // see scratch
	spare     []Value // buffer of a row that was dropped
	keyValues []Value
}

// Result is the result of a query.
type Result struct {
	Columns, Types []string
	Rows           [][]Value
	// More reports whether there are more rows, and the query has no LIMIT.
	More          bool
	Limit, Offset int
}

// Add adds a row. Rows may be in any order. The error is an [*Error] or one of the context.
func (q *Query) Add(r *Row) error {
	q.env.next()
	for i := range q.where {
		if !q.where[i].eval(r).IsTrue() {
			return q.env.err
		}
	}
	switch {
	case q.env.err != nil:
	case q.groups != nil:
		q.addToGroup(r)
	case q.statement.distinct:
		q.addDistinct(r)
	default:
		q.addRow(r, r.Time, r.ID)
	}
	return q.env.err
}

// Result returns the result. It must be called after the last row. The error is an [*Error]
// or one of the context.
//
// A query without FROM has one row.
func (q *Query) Result() (*Result, error) {
	if q.statement.Table == "" {
		if err := q.Add(&Row{}); err != nil {
			return nil, err
		}
	}
	q.finish()
	all := q.rows.sorted()
	result := &Result{Columns: q.columns, Limit: q.limit, Offset: q.offset, Rows: [][]Value{}}
	for _, x := range q.items {
		result.Types = append(result.Types, x.typ.name(q.env.zone.String()))
	}
	// rows has one row more than the result, which is removed here.
	all = all[min(q.offset, len(all)):]
	if len(all) > q.limit {
		all = all[:q.limit]
		result.More = q.statement.Limit < 0 || q.statement.split
	}
	for _, row := range all {
		result.Rows = append(result.Rows, row.items)
	}
	q.env.reserve()
	return result, q.env.err
}

// AppendJSON appends a value in the form of results (§2.9.7).
func (q *Query) AppendJSON(dst []byte, v Value) []byte { return q.env.appendJSON(dst, v) }

// output is a row that may be part of the result.
type output struct {
	order    []Value
	items    []Value
	time, id int64
	deferred bool // items are not evaluated yet, see EvaluateDeferred
	index    int
}

// topRows has the first rows in the order of ORDER BY, up to a limit.
//
// The limit includes the offset. As long as it is not reached, rows are only appended; then
// the slice becomes a heap, so that the last row can be replaced in logarithmic time.
type topRows struct {
	terms  []Order
	newest bool
	limit  int
	all    []output // after the limit is reached, a heap with the last row at the top
}

// compare compares two rows in the order of the result.
func (k *topRows) compare(a, b *output) int {
	for i, term := range k.terms {
		x, y := a.order[i], b.order[i]
		if x.kind == Null || y.kind == Null {
			c := compareBools(x.kind == Null, y.kind == Null)
			if term.nullsFirst {
				c = -c
			}
			if c != 0 {
				return c
			}
			continue
		}
		c := order(x, y)
		if term.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	// Rows that are equal in ORDER BY are ordered by time, or by ID from newest to oldest.
	if k.newest {
		return cmp.Compare(b.id, a.id)
	}
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
}

// canEnter reports whether a row would be among the first.
func (k *topRows) canEnter(row *output) bool {
	return len(k.all) < k.limit || k.limit > 0 && k.compare(row, &k.all[0]) < 0
}

// add adds a row for which canEnter is true, and returns the row that it replaces.
func (k *topRows) add(row output) (dropped output, ok bool) {
	if len(k.all) < k.limit {
		k.all = append(k.all, row)
		if len(k.all) == k.limit {
			for i := len(k.all)/2 - 1; i >= 0; i-- {
				k.siftDown(i)
			}
		}
		return output{}, false
	}
	dropped, k.all[0] = k.all[0], row
	k.siftDown(0)
	return dropped, true
}

// siftDown restores the heap after the element i has changed.
func (k *topRows) siftDown(i int) {
	for {
		child := 2*i + 1
		if child >= len(k.all) {
			return
		}
		if child+1 < len(k.all) && k.compare(&k.all[child+1], &k.all[child]) > 0 {
			child++
		}
		if k.compare(&k.all[child], &k.all[i]) <= 0 {
			return
		}
		k.all[i], k.all[child] = k.all[child], k.all[i]
		i = child
	}
}

// sorted returns the rows in the order of the result.
func (k *topRows) sorted() []output {
	slices.SortStableFunc(k.all, func(a, b output) int { return k.compare(&a, &b) })
	return k.all
}

// size returns the approximate memory size of a row.
func (o *output) size() int64 {
	n := int64(80)
	for _, v := range o.order {
		n += v.size()
	}
	for _, v := range o.items {
		n += v.size()
	}
	return n
}

// evaluate appends the values of expressions to dst.
func evaluate(dst []Value, all []compiled, r *Row) []Value {
	for i := range all {
		dst = append(dst, all[i].eval(r))
	}
	return dst
}

// cloneAll returns copies of values that do not share memory with a row.
func cloneAll(all []Value) []Value {
	copied := make([]Value, len(all))
	for i, v := range all {
		copied[i] = v.clone()
	}
	return copied
}

// Range returns bounds of [Scope.Time], in microseconds since 1970, for the rows that can
// meet WHERE. The bounds are inclusive.
func (q *Query) Range() (from, to int64) { return q.bounds.from, q.bounds.to }

// Names returns the values of [Scope.Name] for the rows that can meet WHERE. If it is nil,
// any value can.
func (q *Query) Names() []string { return q.bounds.names }

// HasFilters reports whether only rows that pass {filters} can meet WHERE.
func (q *Query) HasFilters() bool { return q.bounds.filtered }
