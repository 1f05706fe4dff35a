package hogql

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// compile compiles an expression. After groups have been formed, an expression that is one of
// their keys is read from its slot.
func (c *compiler) compile(n *node) compiled {
	if c.err != nil {
		return constant(Value{}, nullType)
	}
	if c.groups != nil && len(c.groups.keys) > 0 && n.op != opLiteral && len(c.params) == 0 {
		if slot, ok := c.groups.keys[c.ident(n)]; ok {
			return c.result(slot, c.groups.types[slot])
		}
	}
	switch n.op {
	case opPath:
		return c.path(n)
	case opCall:
		return c.call(n)
	case opPlaceholder:
		return c.placeholder(n)
	case opCohort:
		return c.cohort(n)
	case opStar:
		return c.fail(n.fault(SyntaxError, `Unexpected "*"`, ": expected an expression"))
	case opLambda:
		return c.fail(n.fault(TypeError, "A lambda is not expected: "+n.word(), ""))
	}
	return constant(n.value, typeOf(n.value))
}

// result returns an expression that reads a slot of the current group.
func (c *compiler) result(slot int, t Type) compiled {
	e := c.env
	return compiled{eval: func(*Row) Value { return e.results[slot] }, typ: t}
}

// stripTable returns the path of a field without the table that may precede it.
func (c *compiler) stripTable(path []string) []string {
	if len(path) > 1 && slices.Contains(c.tables, path[0]) {
		return path[1:]
	}
	return path
}

// parameter returns the parameter of an enclosing lambda with a name, or nil.
func (c *compiler) parameter(name string) *param {
	for i := len(c.params) - 1; i >= 0; i-- {
		if c.params[i].name == name {
			return &c.params[i]
		}
	}
	return nil
}

// path compiles a name and the names below it. Parameters of lambdas have priority, then
// aliases, then fields.
func (c *compiler) path(n *node) compiled {
	if p := c.parameter(n.path[0]); p != nil {
		e, slot := c.env, p.slot
		return c.members(n, compiled{eval: func(*Row) Value { return e.locals[slot] }, typ: p.typ}, n.path[1:])
	}
	if a := c.aliases[n.path[0]]; a != nil && !a.busy {
		return c.members(n, c.alias(a), n.path[1:])
	}
	path := c.stripTable(n.path)
	if c.scope == nil || c.scope.Resolve == nil {
		return c.fail(n.fault(UnknownField, "Unknown field "+n.word(), ""))
	}
	t, ok := c.scope.Resolve(path)
	if !ok {
		return c.fail(n.fault(UnknownField, "Unknown field "+n.word(), ""))
	}
	if c.groups != nil {
		return c.fail(n.fault(TypeError, "Field "+n.word()+" is neither grouped nor inside an aggregate", ""))
	}
	return c.field(Field{Path: path}, t)
}

// field compiles a field of the row.
func (c *compiler) field(f Field, t Type) compiled {
	slot := c.scope.slot(f, t)
	return compiled{eval: func(r *Row) Value { return r.field(slot) }, typ: t}
}

// alias compiles the expression of an alias, or returns its compiled form. A lambda's
// parameters are not visible in it.
func (c *compiler) alias(a *alias) compiled {
	mode := 0
	if c.groups != nil {
		mode = 1
	}
	if a.done[mode] {
		return a.result[mode]
	}
	a.busy = true
	params := c.params
	c.params = nil
	x := c.compile(a.node)
	c.params = params
	a.busy = false
	if !x.constant && a.node.op != opPath {
		x = c.memoize(x)
	}
	a.done[mode], a.result[mode] = true, x
	return x
}

// memoize returns an expression that evaluates x at most once for each row.
func (c *compiler) memoize(x compiled) compiled {
	e, eval := c.env, x.eval
	var epoch uint64
	var value Value
	x.eval = func(r *Row) Value {
		if epoch != e.epoch {
			value, epoch = eval(r), e.epoch
		}
		return value
	}
	return x
}

// members compiles access to the members of a JSON value with the names of a path.
func (c *compiler) members(n *node, x compiled, path []string) compiled {
	for _, name := range path {
		if !x.typ.any && x.typ.kind != Text && x.typ.kind != Object && x.typ.kind != Null {
			return c.fail(n.fault(TypeError, fmt.Sprintf("There is no %s in %s: %s", quoted(name), x.typ, n.word()), ""))
		}
		inner := x.eval
		x = compiled{eval: func(r *Row) Value { return member(inner(r), name) }, typ: PropertyType}
	}
	return x
}

// placeholder compiles {name}, {variables.name} and {filters}. The first two are constants.
func (c *compiler) placeholder(n *node) compiled {
	values, name := c.env.Values, n.path[0]
	switch {
	case len(n.path) == 2:
		values, name = c.env.Variables, n.path[1]
	case name == "filters" && c.scope != nil && c.scope.Filters:
		if c.groups != nil {
			return c.fail(n.fault(TypeError, `"{filters}" may only stand in WHERE`, ""))
		}
		return c.field(Field{Filters: true}, testType)
	}
	x, exists := values[name]
	if !exists {
		return c.fail(n.fault(UnknownField, "Placeholder "+quoted(strings.Join(n.path, "."))+" has no value", ""))
	}
	v, ok := ValueOf(x)
	if !ok {
		return c.fail(n.fault(TypeError, "Placeholder "+quoted(strings.Join(n.path, "."))+" may be a number, text, boolean, null or list", ""))
	}
	return constant(v, typeOf(v))
}

// cohort compiles IN COHORT. Membership is a field that the caller of Query.Add sets.
func (c *compiler) cohort(n *node) compiled {
	operand := n.args[0]
	if operand.op != opPath || c.scope == nil || c.scope.Cohort == nil {
		return c.fail(operand.fault(TypeError, "IN COHORT asks for the id of a person, not "+operand.word(), ""))
	}
	path := c.stripTable(operand.path)
	if a := c.aliases[operand.path[0]]; a != nil && a.node.op == opPath {
		path = c.stripTable(a.node.path)
	}
	if err := c.scope.Cohort(path, n.name); err != nil {
		code := InvalidInput
		if errors.As(err, new(Unsupported)) {
			code = NotSupported
		}
		return c.fail(n.fault(code, err.Error()+": "+n.word(), ""))
	}
	if c.groups != nil {
		return c.fail(n.fault(TypeError, "Cohort "+quoted(n.name)+" is asked behind groups", ""))
	}
	return c.field(Field{Path: path, Cohort: n.name}, testType)
}

// ident returns a number for an expression. Equal expressions have equal numbers, independent
// of white space, the case of keywords, and aliases.
func (c *compiler) ident(n *node) int {
	if id := c.identOf[n]; id != 0 && len(c.params) == 0 {
		return id
	}
	key := []byte{byte(n.op), byte(n.value.kind)}
	switch n.op {
	case opPath:
		path := n.path
		switch a := c.aliases[path[0]]; {
		case c.parameter(path[0]) != nil:
			key = append(key, 'p')
		case a != nil && !a.busy:
			if a.ident == 0 {
				a.busy = true
				a.ident = c.ident(a.node)
				a.busy = false
			}
			if len(path) == 1 {
				return a.ident
			}
			key = strconv.AppendInt(append(key, 'a'), int64(a.ident), 10)
			path = path[1:]
		default:
			path = c.stripTable(path)
		}
		key = appendWords(key, path)
	case opCall:
		name := n.name
		if f := findFunction(name); f != nil {
			name = f.name
		} else if a, _ := findAggregate(name); a != nil {
			name = strings.ToLower(name)
		}
		key = strconv.AppendBool(appendWords(key, []string{name}), n.distinct)
	case opLiteral:
		key = appendKey(key, n.value)
	default:
		key = appendWords(append(appendWords(key, []string{n.name}), 0), n.path)
	}
	// Names identify the parameters of a lambda only inside it, so nothing in it is cached.
	if n.op == opLambda {
		for _, name := range n.path {
			c.params = append(c.params, param{name: name})
		}
		defer func() { c.params = c.params[:len(c.params)-len(n.path)] }()
	}
	for _, list := range [2][]*node{n.params, n.args} {
		key = append(key, 1)
		for _, a := range list {
			key = strconv.AppendInt(append(key, ','), int64(c.ident(a)), 10)
		}
	}
	id, ok := c.idents[string(key)]
	if !ok {
		id = len(c.idents) + 1
		c.idents[string(key)] = id
	}
	if len(c.params) == 0 {
		c.identOf[n] = id
	}
	return id
}

// appendWords appends strings, each with a terminator.
func appendWords(dst []byte, words []string) []byte {
	for _, w := range words {
		dst = append(append(dst, w...), 0)
	}
	return dst
}

// hasAggregate reports whether an expression, or an alias that it uses, contains an
// aggregate.
func (c *compiler) hasAggregate(n *node) bool {
	if defined, ok := c.aggregates[n]; ok {
		return defined
	}
	found := false
	if n.op == opCall {
		a, _ := findAggregate(n.name)
		found = a != nil
	}
	if n.op == opPath {
		if a := c.aliases[n.path[0]]; a != nil && !a.busy {
			a.busy = true
			found = c.hasAggregate(a.node)
			a.busy = false
		}
	}
	for _, a := range n.args {
		found = c.hasAggregate(a) || found
	}
	c.aggregates[n] = found
	return found
}

// HasAggregate reports whether the expression contains an aggregate.
func (i Item) HasAggregate() bool { return newCompiler(nil, Context{}).hasAggregate(i.expr) }
