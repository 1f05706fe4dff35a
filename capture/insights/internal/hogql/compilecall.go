package hogql

import (
	"fmt"
	"strings"
)

// compileAll compiles a list of expressions.
func (c *compiler) compileAll(nodes []*node) []compiled {
	all := make([]compiled, len(nodes))
	for i, a := range nodes {
		all[i] = c.compile(a)
	}
	return all
}

// kindsOf returns the kinds of n arguments, and the least and greatest number of arguments.
// ok is false if n is not in that range.
func kindsOf(args string, n int) (kinds []byte, low, high int, ok bool) {
	for i := 0; i < len(args); i++ {
		mark := byte(0)
		if i+1 < len(args) && strings.IndexByte("?*+", args[i+1]) >= 0 {
			mark = args[i+1]
		}
		switch mark {
		case '?':
			high++
			if len(kinds) < n {
				kinds = append(kinds, args[i])
			}
		case '*', '+':
			if mark == '+' {
				low++
			}
			high = 1 << 20
			for len(kinds) < n {
				kinds = append(kinds, args[i])
			}
		default:
			low, high = low+1, high+1
			kinds = append(kinds, args[i])
		}
		if mark != 0 {
			i++
		}
	}
	return kinds, low, high, n >= low && n <= high
}

// checkCount reports whether a call has a valid number of arguments. Otherwise it fails.
func (c *compiler) checkCount(n *node, args string) bool {
	_, low, high, ok := kindsOf(args, len(n.args))
	if ok {
		return true
	}
	takes := fmt.Sprint(low)
	if high > 1<<10 {
		takes = fmt.Sprintf("%d or more", low)
	} else if high > low {
		takes = fmt.Sprintf("%d to %d", low, high)
	}
	c.fail(n.fault(TypeError, fmt.Sprintf("Function %s takes %s arguments, not %d", quoted(n.name), takes, len(n.args)), ""))
	return false
}

// argumentKinds are the kinds of arguments: s string, n number, i integer, t time, date or a
// string with one, l list, c condition, p period, u name of a unit, a any value.
var argumentKinds = map[byte]struct {
	what string
	ok   func(Type) bool
}{
	's': {"a text", func(t Type) bool { return t.kind == Text || t.kind == UUID || t.kind == Object }},
	'n': {"a number", func(t Type) bool { return t.isNumber() }},
	'i': {"a whole number", func(t Type) bool { return t.isNumber() }},
	't': {"a time", func(t Type) bool { return t.kind == Time || t.kind == Date || t.kind == Text }},
	'l': {"a list", func(t Type) bool { return t.kind == List || t.kind == Tuple }},
	'c': {"a condition", func(t Type) bool { return t.isNumber() }},
	'p': {"an interval", func(t Type) bool { return t.kind == period }},
	'u': {"a unit such as 'day'", func(t Type) bool { return t.kind == Text }},
	'a': {"a value", func(Type) bool { return true }},
}

// checkArgument reports whether an argument of a type is permitted. Properties are always
// permitted, because their type is only known at run time.
func (c *compiler) checkArgument(call, arg *node, kind byte, t Type) bool {
	if t.any || t.json || t.kind == Null || argumentKinds[kind].ok(t) {
		return true
	}
	c.fail(arg.fault(TypeError, fmt.Sprintf("%s expects %s, not %s: %s", call.what(), argumentKinds[kind].what, t, arg.word()), ""))
	return false
}

// what describes the node in error messages.
func (n *node) what() string {
	if n.op == opCall && !strings.HasPrefix(n.name, "$") {
		return "Function " + quoted(n.name)
	}
	return "Expression " + n.word()
}

// compileCall compiles a call whose arguments are compiled already. If all of them are
// constants, it evaluates the call immediately.
func (c *compiler) compileCall(n *node, f *function, args []compiled) compiled {
	kinds, _, _, _ := kindsOf(f.args, len(args))
	types := make([]Type, len(args))
	evals := make([]func(*Row) Value, len(args))
	folds, nullable := true, f.nullable
	s := c.site(n)
	for i, a := range args {
		if !c.checkArgument(n, n.args[i], kinds[i], a.typ) {
			return constant(Value{}, nullType)
		}
		types[i] = a.typ
		// An argument that may be null makes the result nullable, unless the function handles
		// null.
		nullable = nullable || a.typ.nullable && !f.acceptsNulls
		folds = folds && a.constant
		evals[i] = coerceEval(s, kinds[i], a)
	}
	t := f.result(types)
	t.nullable = t.nullable || nullable
	x := compiled{eval: s.invoke(f, evals), typ: t}
	if folds && c.err == nil {
		// The memory of a constant is not that of a row. It is counted by
		// reserveConstant instead of built.
		v := x.eval(nil)
		c.env.built = 0
		c.reserveConstant(n, v.size())
		return compiled{eval: func(*Row) Value { return v }, typ: t, constant: true, value: v}
	}
	return x
}

// coerceEval returns an expression that converts the values of an argument to its kind. If
// the type shows that no conversion is needed, it returns the expression unchanged.
//
// A constant is converted immediately.
func coerceEval(s *site, kind byte, a compiled) func(*Row) Value {
	inner := a.eval
	// Arguments of these kinds, and null, need no conversion.
	if kind == 'a' || kind == 'p' || kind == 'c' || a.constant && a.value.kind == Null {
		return inner
	}
	if a.constant {
		v := s.coerce(kind, a.value)
		return func(*Row) Value { return v }
	}
	// Unless the type is only known at run time, it may show that no conversion is needed.
	if !a.typ.any && !a.typ.json {
		switch {
		case kind == 's' && a.typ.kind == Text, kind == 't' && (a.typ.kind == Time || a.typ.kind == Date), kind == 'l', kind == 'i' && a.typ.kind == Int, kind == 'n' && a.typ.kind != Bool && a.typ.kind != Null:
			return inner
		}
	}
	return func(r *Row) Value { return s.coerce(kind, inner(r)) }
}

// coerce converts a value to the kind of an argument. It returns null if that is not
// possible.
func (s *site) coerce(kind byte, v Value) Value {
	if v.kind == Null {
		return v
	}
	switch kind {
	case 's', 'u':
		if v.kind != Text || v.json {
			return TextOf(s.env.text(v))
		}
	case 'n':
		return v.num()
	case 'i':
		v = v.num()
		if v.kind == Float {
			return toInt(v)
		}
	case 't':
		if !isMoment(v) {
			t, ok := ParseTime(v.s, s.env.zone)
			if !ok || v.kind != Text {
				return Value{}
			}
			return TimeOf(t)
		}
	case 'l':
		if v.kind == Text {
			return s.listOfJSON(v.s)
		}
		if v.kind != List && v.kind != Tuple {
			return Value{}
		}
	}
	return v
}

// invoke returns an expression that calls a function with its arguments for each row.
func (s *site) invoke(f *function, args []func(*Row) Value) func(*Row) Value {
	switch {
	case f.one != nil:
		a, one := args[0], f.one
		return func(r *Row) Value {
			v := a(r)
			if v.kind == Null && !f.acceptsNulls {
				return Value{}
			}
			return one(s, v)
		}
	case f.two != nil:
		a, b, two := args[0], args[1], f.two
		return func(r *Row) Value {
			v, w := a(r), b(r)
			if (v.kind == Null || w.kind == Null) && !f.acceptsNulls {
				return Value{}
			}
			return two(s, v, w)
		}
	}
	return func(r *Row) Value {
		// All calls share s.args, so functions must not retain the slice.
		null := false
		for i, a := range args {
			s.args[i] = a(r)
			null = null || s.args[i].kind == Null
		}
		if null && !f.acceptsNulls {
			return Value{}
		}
		return f.all(s, s.args)
	}
}
