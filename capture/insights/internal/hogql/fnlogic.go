package hogql

import "fmt"

// logicFunctions are comparisons, logical operators and conditional functions (§2.9.8).
var logicFunctions = []function{
	{name: "equals", args: "aa", special: sameText(comparison(func(s *site, a, b Value) bool { return s.isEqual(a, b) }), false)},
	{name: "notEquals", args: "aa", special: sameText(comparison(func(s *site, a, b Value) bool { return !s.isEqual(a, b) }), true)},
	{name: "less", args: "aa", special: comparison(ordered(func(c int) bool { return c < 0 }))},
	{name: "lessOrEquals", args: "aa", special: comparison(ordered(func(c int) bool { return c <= 0 }))},
	{name: "greater", args: "aa", special: comparison(ordered(func(c int) bool { return c > 0 }))},
	{name: "greaterOrEquals", args: "aa", special: comparison(ordered(func(c int) bool { return c >= 0 }))},
	{name: "$between", args: "aaa", special: between},
	{name: "in", args: "aa", special: func(c *compiler, n *node) compiled { return c.in(n, false) }},
	{name: "notIn", args: "aa", special: func(c *compiler, n *node) compiled { return c.in(n, true) }},
	{name: "and", args: "c+", special: func(c *compiler, n *node) compiled { return c.junction(n, false) }},
	{name: "or", args: "c+", special: func(c *compiler, n *node) compiled { return c.junction(n, true) }},
	{name: "not", args: "c", result: constantType(testType), one: func(_ *site, v Value) Value { return boolInt(!v.IsTrue()) }},
	{name: "isNull", args: "a", result: constantType(testType), acceptsNulls: true, one: func(_ *site, v Value) Value { return boolInt(v.kind == Null) }},
	{name: "isNotNull", args: "a", result: constantType(testType), acceptsNulls: true, one: func(_ *site, v Value) Value { return boolInt(v.kind != Null) }},
	{name: "if", args: "caa", special: func(c *compiler, n *node) compiled { return c.choice(n, n.args) }},
	{name: "multiIf", args: "caa+", special: func(c *compiler, n *node) compiled { return c.choice(n, n.args) }},
	{name: "$case", args: "aaaa+", special: (*compiler).cases},
	{name: "coalesce", args: "a+", special: (*compiler).firstOf},
	{name: "ifNull", args: "aa", special: (*compiler).firstOf},
	{name: "nullIf", args: "aa", result: likeFirst, acceptsNulls: true, nullable: true, two: func(s *site, a, b Value) Value {
		if a.kind != Null && s.isEqual(a, b) {
			return Value{}
		}
		return a
	}},
	{name: "assumeNotNull", args: "a", result: func(args []Type) Type { return args[0].plain() }, one: func(_ *site, v Value) Value { return v }},
	{name: "toNullable", args: "a", result: func(args []Type) Type { return args[0].Nullable() }, one: func(_ *site, v Value) Value { return v }},
}

// areComparable reports whether values of two types can be compared.
func areComparable(a, b Type) bool {
	if a.any || a.json || a.kind == Null || b.any || b.json || b.kind == Null {
		return true
	}
	texts := func(t Type) bool { return t.kind == Text || t.kind == UUID || t.kind == Object }
	moments := func(t Type) bool { return t.kind == Time || t.kind == Date }
	lists := func(t Type) bool { return t.kind == List || t.kind == Tuple }
	return a.isNumber() && b.isNumber() || texts(a) && texts(b) || moments(a) && moments(b) || lists(a) && lists(b) ||
		moments(a) && b.kind == Text || moments(b) && a.kind == Text
}

// coerceConstant converts a constant operand to the type that it is compared with, so that a
// string that is compared with times is parsed only once. It fails if the types are not
// comparable.
func (c *compiler) coerceConstant(n *node, other Type, x compiled, position *node) compiled {
	if !areComparable(other, x.typ) {
		return c.fail(n.fault(TypeError, fmt.Sprintf("%s cannot be compared with %s: %s", other, x.typ, n.word()), ""))
	}
	// A constant string is converted now, instead of for each row.
	if (other.kind == Time || other.kind == Date) && !other.any && x.constant && x.value.kind == Text {
		t, ok := ParseTime(x.value.s, c.env.zone)
		if !ok {
			return c.fail(position.fault(TypeError, "Text "+position.word()+" is no date", ""))
		}
		return constant(TimeOf(t), TimeType)
	}
	return x
}

// ordered returns a comparison of two values that is false for null and for values that
// cannot be compared.
func ordered(holds func(int) bool) func(*site, Value, Value) bool {
	return func(s *site, a, b Value) bool {
		if a.kind == Null || b.kind == Null {
			return false
		}
		c, ok := s.compare(a, b)
		return ok && holds(c)
	}
}

// comparison compiles an operator whose result is 1 or 0, and never null.
func comparison(holds func(*site, Value, Value) bool) func(*compiler, *node) compiled {
	f := &function{args: "aa", result: constantType(testType), acceptsNulls: true, two: func(s *site, a, b Value) Value { return boolInt(holds(s, a, b)) }}
	return func(c *compiler, n *node) compiled {
		args := c.compileAll(n.args)
		args[0] = c.coerceConstant(n, args[1].typ, args[0], n.args[0])
		args[1] = c.coerceConstant(n, args[0].typ, args[1], n.args[1])
		return c.compileCall(n, f, args)
	}
}

// sameText adds a fast path to the comparison of a field with a constant string.
//
// The comparison of a field such as event with a literal is a frequent condition.
func sameText(compare func(*compiler, *node) compiled, not bool) func(*compiler, *node) compiled {
	return func(c *compiler, n *node) compiled {
		x := compare(c, n)
		if c.err != nil || x.constant || n.args[0].op != opPath || n.args[1].op != opLiteral || n.args[1].value.kind != Text {
			return x
		}
		// The general comparison remains for values that are not strings.
		operand, text, slow := c.compile(n.args[0]).eval, n.args[1].value.s, x.eval
		x.eval = func(r *Row) Value {
			v := operand(r)
			if v.kind != Text {
				return slow(r)
			}
			return boolInt((v.s == text) != not)
		}
		return x
	}
}

// betweenFunction implements BETWEEN. It is false if an operand is null.
var betweenFunction = &function{args: "aaa", result: constantType(testType), acceptsNulls: true, all: func(s *site, args []Value) Value {
	if args[0].kind == Null || args[1].kind == Null || args[2].kind == Null {
		return boolInt(false)
	}
	low, okLow := s.compare(args[0], args[1])
	high, okHigh := s.compare(args[0], args[2])
	return boolInt(okLow && okHigh && low >= 0 && high <= 0)
}}

// between compiles x BETWEEN low AND high.
func between(c *compiler, n *node) compiled {
	args := c.compileAll(n.args)
	for i := 1; i < 3; i++ {
		args[i] = c.coerceConstant(n, args[0].typ, args[i], n.args[i])
	}
	return c.compileCall(n, betweenFunction, args)
}

// in compiles x IN list. A long list of constants is converted to a set.
//
// A null operand is not a member of any list, so x NOT IN list is true for it.
func (c *compiler) in(n *node, not bool) compiled {
	x, list := c.compile(n.args[0]), c.compile(n.args[1])
	if !c.checkArgument(n, n.args[1], 'l', list.typ) {
		return list
	}
	s := c.site(n)
	if list.constant && c.err == nil {
		c.reserveConstant(n.args[1], 2*list.value.size()) // one converted list, and one set
		all := list.value.List()
		// Each element is converted to the type of the operand, like an operand of =.
		own := make([]Value, len(all))
		for i, v := range all {
			at := n.args[1]
			if i < len(at.args) {
				at = at.args[i]
			}
			own[i] = c.coerceConstant(n, x.typ, constant(v, typeOf(v)), at).value
		}
		list = constant(ListOf(own), list.typ)
	}
	has := s.isMember
	// A linear search is faster for short lists.
	if list.constant && len(list.value.List()) > 8 {
		has = s.set(list.value.List())
	}
	f := &function{args: "aa", result: constantType(testType), acceptsNulls: true, two: func(_ *site, v, l Value) Value {
		return boolInt(v.kind != Null && has(v, l) != not || v.kind == Null && not)
	}}
	return c.compileCall(n, f, []compiled{x, list})
}

// isMember reports whether a list contains a value, as compared by =.
func (s *site) isMember(v, list Value) bool {
	for _, e := range list.List() {
		if e.kind != Null && s.isEqual(v, e) {
			return true
		}
	}
	return false
}

// set returns a function like isMember for a list that does not change. It finds strings in a
// map.
func (s *site) set(all []Value) func(v, list Value) bool {
	texts := map[string]bool{}
	var others []Value
	for _, v := range all {
		if v.kind == Text {
			texts[v.s] = true
		} else {
			others = append(others, v)
		}
	}
	rest := ListOf(others)
	return func(v, _ Value) bool {
		switch {
		// Times may be equal to strings in several formats, so all elements must be compared.
		case isMoment(v):
			return s.isMember(v, ListOf(all))
		case v.kind == Text || v.kind == UUID:
			if texts[v.s] {
				return true
			}
		default:
			var room [64]byte
			if texts[string(s.env.appendText(room[:0], v))] {
				return true
			}
		}
		return s.isMember(v, rest)
	}
}

// junction compiles AND and OR. Operands after the one that determines the result are not
// evaluated. decides is the value of an operand that determines the result: false for AND,
// true for OR.
func (c *compiler) junction(n *node, decides bool) compiled {
	terms := c.conditions(n, n.args)
	t := testType
	for _, x := range terms {
		t.nullable = t.nullable || x.typ.nullable
	}
	eval := func(r *Row) Value {
		null := false
		for i := range terms {
			// The result is null only if no operand determines it and at least one is null.
			holds, defined := terms[i].eval(r).truth()
			if defined && holds == decides {
				return boolInt(decides)
			}
			null = null || !defined
		}
		if null {
			return Value{}
		}
		return boolInt(!decides)
	}
	return c.foldConstants(terms, compiled{eval: eval, typ: t})
}

// foldConstants evaluates an expression immediately if all its parts are constants.
func (c *compiler) foldConstants(parts []compiled, x compiled) compiled {
	for _, p := range parts {
		if !p.constant {
			return x
		}
	}
	if c.err != nil {
		return x
	}
	v := x.eval(nil)
	return compiled{eval: func(*Row) Value { return v }, typ: x.typ, constant: true, value: v}
}

// conditions compiles expressions that must be conditions.
func (c *compiler) conditions(parent *node, nodes []*node) []compiled {
	all := c.compileAll(nodes)
	for i := range all {
		c.checkArgument(parent, nodes[i], 'c', all[i].typ)
	}
	return all
}

// choice compiles a list of conditions and values, c1, a1, c2, a2, …, followed by a default
// value. Only the selected value is evaluated.
//
// Both if and multiIf, and CASE without an operand, are compiled this way.
func (c *compiler) choice(n *node, nodes []*node) compiled {
	if len(nodes)%2 == 0 {
		return c.fail(n.fault(TypeError, fmt.Sprintf("Function %s takes an odd number of arguments, not %d", quoted(n.name), len(nodes)), ""))
	}
	all := c.compileAll(nodes)
	last := len(all) - 1
	t := all[last].typ
	for i := 0; i < last; i += 2 {
		c.checkArgument(n, nodes[i], 'c', all[i].typ)
		t = common(all[i+1].typ, t)
	}
	eval := func(r *Row) Value {
		for i := 0; i < last; i += 2 {
			if all[i].eval(r).IsTrue() {
				return all[i+1].eval(r)
			}
		}
		return all[last].eval(r)
	}
	return c.foldConstants(all, compiled{eval: eval, typ: t})
}

// cases compiles CASE x WHEN a THEN b … ELSE z END.
func (c *compiler) cases(n *node) compiled {
	all := c.compileAll(n.args)
	last := len(all) - 1
	t := all[last].typ
	for i := 1; i < last; i += 2 {
		all[i] = c.coerceConstant(n, all[0].typ, all[i], n.args[i])
		t = common(all[i+1].typ, t)
	}
	s := c.site(n)
	eval := func(r *Row) Value {
		v := all[0].eval(r)
		for i := 1; i < last; i += 2 {
			if s.isEqual(v, all[i].eval(r)) {
				return all[i+1].eval(r)
			}
		}
		return all[last].eval(r)
	}
	return c.foldConstants(all, compiled{eval: eval, typ: t})
}

// firstOf compiles coalesce, which returns the first value that is not null.
func (c *compiler) firstOf(n *node) compiled {
	all := c.compileAll(n.args)
	types := make([]Type, len(all))
	nullable := true
	for i, x := range all {
		types[i] = x.typ
		nullable = nullable && x.typ.nullable
	}
	t := likeAll(types)
	t.nullable = nullable
	eval := func(r *Row) Value {
		for i := range all {
			if v := all[i].eval(r); v.kind != Null {
				return v
			}
		}
		return Value{}
	}
	return c.foldConstants(all, compiled{eval: eval, typ: t})
}
