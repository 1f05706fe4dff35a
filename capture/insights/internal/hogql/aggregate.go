package hogql

import "fmt"

// aggregate is an entry of the table of aggregates. Rows with a null argument are skipped.
type aggregate struct {
	name string
	args string // as in function.args
	// result returns the type of the result for the types of the arguments.
	result func(args []Type) Type
	// empty reports whether the result over no values is null.
	empty bool
	// params is the greatest number of parameters, such as the 0.9 in quantile(0.9)(x).
	params int
	check  func(params []Value) string // returns a description of the error in the parameters, or ""
	// start returns the state over no rows.
	start func(a *aggregation) state
}

// state is the state of an aggregate for the rows of one group.
type state interface {
	// add adds the current row. Its arguments are in a.args and are not null.
	add(a *aggregation, r *Row)
	// result returns the value over the rows so far.
	result(a *aggregation) Value
}

// aggregation is a call of an aggregate in a query. site.args has the arguments for the
// current row.
//
// It is shared by all groups, each of which has its own state.
type aggregation struct {
	site
	kind *aggregate
	// inputs compute the arguments.
	inputs   []func(*Row) Value
	when     func(*Row) Value // the condition of an aggregate with the suffix If, or nil
	params   []Value
	distinct bool
}

// groups has the keys and aggregates of a query with groups. In env.results, the keys of a
// group precede the results of the aggregates.
type groups struct {
	keys map[int]int // slot by the ident of the expression
	// types are the types of all slots: first those of the keys, then those of the
	// aggregates.
	types []Type
	// all are the aggregates in the order of their slots.
	all      []*aggregation
	compiled map[int]compiled // compiled calls of aggregates by ident, so that equal calls are computed once
}

// aggregate compiles the call of an aggregate. Its value is read from the slot of the result.
// Equal calls share a slot.
//
// Aggregates cannot be nested, and are only permitted where c.groups is set.
func (c *compiler) aggregate(n *node, a *aggregate, conditional bool) compiled {
	if c.groups == nil {
		return c.fail(n.fault(TypeError, "Aggregate "+quoted(n.name)+" may not stand in "+c.where, ""))
	}
	if c.groups.compiled == nil {
		c.groups.compiled = map[int]compiled{}
	}
	id := c.ident(n)
	if x, ok := c.groups.compiled[id]; ok {
		return x
	}
	// The arguments are evaluated for rows, not groups, and must not contain aggregates.
	g, params, where := c.groups, c.params, c.where
	c.groups, c.params, c.where = nil, nil, "an aggregate"
	x := c.newAggregation(n, a, conditional)
	c.groups, c.params, c.where = g, params, where
	if x == nil || c.err != nil {
		return constant(Value{}, nullType)
	}
	types := make([]Type, len(x.inputs))
	for i := range types {
		types[i] = x.types[i]
	}
	t := nullType
	if a.result != nil {
		t = a.result(types)
		t.nullable = a.empty
	}
	slot := len(g.types)
	g.types = append(g.types, t)
	g.all = append(g.all, x.aggregation)
	result := c.result(slot, t)
	g.compiled[id] = result
	return result
}

// newAggregation is an aggregation with the types of its arguments.
type newAggregation struct {
	*aggregation
	types []Type
}

// newAggregation compiles the arguments and the condition of a call. It returns nil after an
// error.
func (c *compiler) newAggregation(n *node, a *aggregate, conditional bool) *newAggregation {
	x := &newAggregation{aggregation: &aggregation{site: site{env: c.env, node: n}, kind: a, distinct: n.distinct}}
	nodes := n.args
	// The only call with a star is count(*), which has no arguments.
	if len(nodes) == 1 && nodes[0].op == opStar {
		if a.name != "count" || conditional {
			c.fail(nodes[0].fault(SyntaxError, `Unexpected "*"`, ": expected an expression"))
			return nil
		}
		nodes = nil
	}
	if conditional {
		if len(nodes) == 0 {
			c.fail(n.fault(TypeError, "Function "+quoted(n.name)+" takes a condition", ""))
			return nil
		}
		last := len(nodes) - 1
		when := c.compile(nodes[last])
		c.checkArgument(n, nodes[last], 'c', when.typ)
		x.when, nodes = when.eval, nodes[:last]
	}
	kinds, low, high, ok := kindsOf(a.args, len(nodes))
	if !ok {
		c.fail(n.fault(TypeError, fmt.Sprintf("Function %s takes %d to %d arguments, not %d", quoted(n.name), low, min(high, 9), len(nodes)), ""))
		return nil
	}
	for i, arg := range nodes {
		in := c.compile(arg)
		if !c.checkArgument(n, arg, kinds[i], in.typ) {
			return nil
		}
		x.inputs = append(x.inputs, coerceEval(&x.site, kinds[i], in))
		x.types = append(x.types, in.typ)
	}
	x.args = make([]Value, len(nodes))
	if !c.parameters(n, x.aggregation) {
		return nil
	}
	return x
}

// parameters validates and stores the parameters, which are the literals in the first pair of
// parentheses.
func (c *compiler) parameters(n *node, x *aggregation) bool {
	wrong := ""
	switch {
	case len(n.params) > x.kind.params:
		wrong = fmt.Sprintf("takes %d parameters, not %d", x.kind.params, len(n.params))
	case n.distinct && len(n.args) == 0:
		wrong = "has nothing that is DISTINCT"
	default:
		for _, p := range n.params {
			x.params = append(x.params, p.value)
		}
		if x.kind.check != nil {
			wrong = x.kind.check(x.params)
		}
	}
	if wrong != "" {
		c.fail(n.fault(TypeError, "Function "+quoted(n.name)+" "+wrong, ""))
	}
	return wrong == ""
}

// newState returns the state for a new group, and reserves memory for it.
func (a *aggregation) newState() state {
	a.env.reserveLater(64)
	if a.distinct && a.kind.name != "count" {
		return &distinctState{inner: a.kind.start(a)}
	}
	return a.kind.start(a)
}

// add adds a row to a state, unless the condition is false or an argument is null.
func (a *aggregation) add(to state, r *Row) {
	if a.when != nil && !a.when(r).IsTrue() {
		return
	}
	for i, in := range a.inputs {
		a.args[i] = in(r)
		if a.args[i].kind == Null {
			return
		}
	}
	to.add(a, r)
}

// key returns a key of the current arguments: the keys of equal arguments are equal.
func (a *aggregation) key() []byte {
	a.buf = a.buf[:0]
	for _, v := range a.args {
		a.buf = appendKey(a.buf, v)
	}
	return a.buf
}

// keySize is the approximate size of an entry of a set without the bytes of its key.
const keySize = 48

// keySet is a set of keys that reserves its memory.
type keySet map[string]struct{}

// add adds a key, and reports whether it is new.
func (k *keySet) add(e *env, key []byte) bool {
	if _, ok := (*k)[string(key)]; ok {
		return false
	}
	if *k == nil {
		*k = keySet{}
	}
	(*k)[string(key)] = struct{}{}
	e.reserveLater(int64(len(key)) + keySize)
	return true
}

// distinctState adds each combination of arguments to another state only the first time that
// it occurs.
type distinctState struct {
	seen  keySet
	inner state
}

// add adds the row unless its arguments occurred before.
func (d *distinctState) add(a *aggregation, r *Row) {
	if d.seen.add(a.env, a.key()) {
		d.inner.add(a, r)
	}
}

func (d *distinctState) result(a *aggregation) Value { return d.inner.result(a) }
