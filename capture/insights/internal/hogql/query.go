package hogql

import (
	"cmp"
	"slices"
)

const (
	// DefaultLimit is how many rows a query without LIMIT gives (§2.9.5).
	DefaultLimit = 100
	// MaxLimit is how many rows an answer has at most.
	MaxLimit = 50_000
	// maxGroups is how many groups and distinct rows a query may have (§5.4).
	maxGroups = 1_000_000
)

// Program is an expression that is evaluated for each row.
type Program struct {
	env  *env
	eval func(*Row) Value
	typ  Type
}

// Compile makes an expression without aggregates ready to be evaluated. The error is
// an [*Error].
func (x *Expr) Compile(scope *Scope, c Context) (*Program, error) {
	k := newCompiler(scope, c)
	k.where = "this expression"
	done := k.compile(x.root)
	if err := k.firstError(); err != nil {
		return nil, err
	}
	return &Program{env: k.env, eval: done.eval, typ: done.typ}, nil
}

// Eval is the value for a row, with which it may share texts.
func (p *Program) Eval(r *Row) (Value, error) {
	p.env.next()
	v := p.eval(r)
	return v, p.env.err
}

// Text is text(v) of §3.2.2, in the context's time zone; false for null.
func (p *Program) Text(v Value) (string, bool) { return p.env.text(v), v.kind != Null }

// Aggregation is an expression of aggregates, such as sum(properties.a) / count().
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

// CompileAggregate makes an expression of aggregates ready. One without an aggregate
// is an error, and so is a field outside of one. The error is an [*Error].
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

// New is an aggregation over no rows yet.
func (a *Aggregation) New() *State { return &State{aggregation: a, all: a.groups.newStates()} }

func (g *groups) newStates() []state {
	all := make([]state, len(g.all))
	for i, a := range g.all {
		all[i] = a.newState()
	}
	return all
}

// Add takes a row in. The error is an [*Error] or one of the context.
func (s *State) Add(r *Row) error {
	s.aggregation.env.next()
	for i, a := range s.aggregation.groups.all {
		a.add(s.all[i], r)
	}
	return s.aggregation.env.err
}

// Result is the value over the rows so far.
func (s *State) Result() (Value, error) {
	e := s.aggregation.env
	e.next()
	for i, a := range s.aggregation.groups.all {
		e.results[i] = s.all[i].result(a)
	}
	return s.aggregation.eval(nil), e.err
}

// Query is a SELECT that is ready to take rows.
type Query struct {
	env       *env
	statement *Statement
	where     []compiled
	groups    *groups // nil: there are no groups
	keys      []compiled
	having    []compiled
	items     []compiled
	columns   []string
	order     []compiled
	terms     []Order

	bounds        bounds
	limit, offset int
	rows          topRows
	byKey         map[string]*group
	inOrder       []*group
	buf           []byte
	values        []Value // see scratch
	spare         []Value // of a row that was dropped
	keyValues     []Value
}

// Result is the answer of a query.
type Result struct {
	Columns, Types []string
	Rows           [][]Value
	// More: there are rows behind the last one, and no LIMIT was set.
	More          bool
	Limit, Offset int
}

// Add takes a row in. Rows may come in any order. The error is an [*Error] or one of
// the context.
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

// Result ends the query. The error is an [*Error] or one of the context.
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

// AppendJSON appends a value as it stands in answers (§2.9.7).
func (q *Query) AppendJSON(dst []byte, v Value) []byte { return q.env.appendJSON(dst, v) }

// output is a row that may be part of the answer.
type output struct {
	order    []Value
	items    []Value
	time, id int64
	deferred bool // items are not evaluated yet, see Settle
	index    int
}

// topRows are the first rows by ORDER BY, at most as many as are asked for.
type topRows struct {
	terms  []Order
	newest bool
	limit  int
	all    []output // a heap with the last row on top once it is full
}

// compare is the order of two rows in the answer.
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
	if k.newest {
		return cmp.Compare(b.id, a.id)
	}
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
}

// canEnter reports whether a row would be among the first.
func (k *topRows) canEnter(row *output) bool {
	return len(k.all) < k.limit || k.limit > 0 && k.compare(row, &k.all[0]) < 0
}

// add takes a row that is wanted and returns the one that it replaces.
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

func (k *topRows) sorted() []output {
	slices.SortStableFunc(k.all, func(a, b output) int { return k.compare(&a, &b) })
	return k.all
}

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

// evaluate puts the values of expressions behind dst.
func evaluate(dst []Value, all []compiled, r *Row) []Value {
	for i := range all {
		dst = append(dst, all[i].eval(r))
	}
	return dst
}

func cloneAll(all []Value) []Value {
	copied := make([]Value, len(all))
	for i, v := range all {
		copied[i] = v.clone()
	}
	return copied
}
