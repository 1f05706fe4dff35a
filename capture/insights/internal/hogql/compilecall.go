package hogql

import (
	"fmt"
	"strings"
)

// function is an entry of the table of functions.
//
// The tables in the files fn*.go have one entry for each function of the language, and for
// syntax that is implemented as a function.
type function struct {
	// name is the name in queries. Names that begin with $ implement syntax such as CASE, and
	// cannot be called by queries.
	name string
	// args has a letter for the kind of each argument (see argumentKinds). It may be followed
	// by ? if the argument is optional, * for any number of arguments, or + for at least one.
	args string
	// result returns the type of the result for the types of the arguments. It is nil if
	// special is set.
	result func(args []Type) Type
	// acceptsNulls reports whether the function is called with null arguments. Otherwise its
	// result is null if an argument is.
	acceptsNulls bool
	// nullable reports whether the result may be null although no argument is.
	nullable bool

	// Exactly one of one, two, all and special is set. one and two avoid the slice of
	// arguments.
	one func(*site, Value) Value
	two func(*site, Value, Value) Value
	all func(*site, []Value) Value
	// regexp reports whether the second argument is a regular expression.
	regexp bool
	// special compiles the call itself, including its arguments.
	special func(*compiler, *node) compiled
}

// functions is the table by name. It is filled by init, because entries refer to functions
// that use the table.
var functions = map[string]*function{}

// caseInsensitiveFunctions are the functions whose names are not case-sensitive (§2.9.8).
var caseInsensitiveFunctions = []string{"coalesce", "if", "concat", "lower", "upper", "round", "now", "and", "or", "not", "in", "like", "ilike"}

// init fills the table. Functions that are not case-sensitive are also entered in upper case,
// which findFunction tries after the exact name.
func init() {
	for _, rows := range [][]function{logicFunctions, mathFunctions, convertFunctions, textFunctions, urlFunctions, jsonFunctions, listFunctions, timeFunctions} {
		for i := range rows {
			functions[rows[i].name] = &rows[i]
		}
	}
	for _, name := range caseInsensitiveFunctions {
		functions[strings.ToUpper(name)] = functions[name]
	}
}

// findFunction returns the function with a name, or nil.
func findFunction(name string) *function {
	if f := functions[name]; f != nil {
		return f
	}
	if f := functions[strings.ToUpper(name)]; f != nil && !strings.HasPrefix(name, "$") {
		return f
	}
	return nil
}

// call compiles the call of an aggregate or a function.
func (c *compiler) call(n *node) compiled {
	if a, conditional := findAggregate(n.name); a != nil {
		return c.aggregate(n, a, conditional)
	}
	f := findFunction(n.name)
	switch {
	case f == nil:
		return c.fail(n.src.fault(UnknownFunction, n.start, n.start+len(n.name), "Unknown function "+quoted(n.name), ""))
	case n.params != nil:
		return c.fail(n.fault(SyntaxError, "Function "+quoted(n.name)+" has one pair of parentheses", ""))
	case n.distinct:
		return c.fail(n.fault(SyntaxError, `Unexpected "DISTINCT" in `+quoted(n.name), ": expected an aggregate"))
	}
	for _, a := range n.args {
		if a.op == opStar {
			return c.fail(a.fault(SyntaxError, `Unexpected "*"`, ": expected an expression"))
		}
	}
	if !c.checkCount(n, f.args) {
		return constant(Value{}, nullType)
	}
	if f.special != nil {
		return f.special(c, n)
	}
	return c.compileCall(n, f, c.compileAll(n.args))
}

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
		// The memory of a constant is not that of a row. It is counted by keep instead of
		// built.
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

// The following functions compute the types of results.

func constantType(t Type) func([]Type) Type { return func([]Type) Type { return t } }

// likeFirst returns the type of the first argument.
func likeFirst(args []Type) Type { return args[0] }

// likeAll returns a type for the values of all arguments.
func likeAll(args []Type) Type {
	t := args[0]
	for _, a := range args[1:] {
		t = common(t, a)
	}
	return t
}

// numberLikeAll returns the integer type, or the float type if an argument may have a
// fraction.
func numberLikeAll(args []Type) Type {
	for _, a := range args {
		if a.any || a.json || a.kind == Float || a.kind == Null {
			return floatType
		}
	}
	return IntType
}

// listOfFirst returns the type of lists of the first argument.
func listOfFirst(args []Type) Type { return args[0].plain().ListOf() }

// plain returns the type without null.
func (t Type) plain() Type {
	t.nullable = false
	return t
}

// elemOf returns the type of the elements of a list.
func elemOf(t Type) Type {
	if t.kind == List && t.elem != nil {
		return *t.elem
	}
	return anyType
}

// boolInt returns the value of a comparison, 1 or 0.
func boolInt(b bool) Value {
	if b {
		return Value{kind: Int, n: 1}
	}
	return Value{kind: Int}
}
