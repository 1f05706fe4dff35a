package hogql

import (
	"fmt"
	"math"
	"slices"
)

// listFunctions are the functions for lists and tuples (§2.9.8).
var listFunctions = []function{
	{name: "array", args: "a*", result: listOfAll, acceptsNulls: true, all: func(s *site, args []Value) Value { return s.listOf(List, args) }},
	{name: "tuple", args: "a+", result: func(args []Type) Type { return Type{kind: Tuple} }, acceptsNulls: true, all: func(s *site, args []Value) Value { return s.listOf(Tuple, args) }},
	{name: "has", args: "la", result: constantType(testType), acceptsNulls: true, two: func(s *site, l, v Value) Value { return boolInt(s.indexOf(l, v) > 0) }},
	{name: "indexOf", args: "la", result: constantType(countType), acceptsNulls: true, two: func(s *site, l, v Value) Value { return IntOf(s.indexOf(l, v)) }},
	{name: "arrayElement", args: "aa", special: elementAt},
	{name: "tupleElement", args: "aa", special: elementAt},
	{name: "arrayStringConcat", args: "ls?", result: constantType(TextType), all: joinList},
	{name: "arraySort", args: "al?", special: sortFunction(1)},
	{name: "arrayReverseSort", args: "al?", special: sortFunction(-1)},
	{name: "arrayDistinct", args: "l", result: likeList, one: func(s *site, l Value) Value {
		seen := map[string]bool{}
		return s.filter(l, func(v Value) bool {
			s.buf = appendKey(s.buf[:0], v)
			if seen[string(s.buf)] || !s.allocate(len(s.buf)+keySize) {
				return false
			}
			seen[string(s.buf)] = true
			return true
		})
	}},
	{name: "arrayConcat", args: "l+", result: likeList, all: func(s *site, args []Value) Value {
		var all []Value
		for _, l := range args {
			if s.env.built+int64(40*len(all)) > maxRowBytes {
				break
			}
			all = append(all, l.List()...)
		}
		return s.list(all)
	}},
	{name: "arraySlice", args: "lii?", result: likeList, all: sliceList},
	{name: "arraySum", args: "l", result: func(args []Type) Type { return numberLikeAll([]Type{elemOf(args[0])}) }, one: func(_ *site, l Value) Value { return sumOf(l.List()) }},
	{name: "arrayAvg", args: "l", result: constantType(floatType), one: func(_ *site, l Value) Value {
		if len(l.List()) == 0 {
			return FloatOf(math.NaN())
		}
		return FloatOf(sumOf(l.List()).float() / float64(len(l.List())))
	}},
	{name: "arrayMin", args: "l", result: likeElement, nullable: true, one: func(_ *site, l Value) Value { return extreme(l.List(), -1) }},
	{name: "arrayMax", args: "l", result: likeElement, nullable: true, one: func(_ *site, l Value) Value { return extreme(l.List(), 1) }},
	{name: "range", args: "ii?i?", result: constantType(IntType.ListOf()), all: rangeList},
	{name: "arrayMap", args: "aa+", special: lambda(func(t, body Type) Type { return body.ListOf() }, func(s *site, l Value, each func(int) Value) Value {
		all := make([]Value, len(l.List()))
		for i := range all {
			all[i] = each(i)
		}
		return s.list(all)
	})},
	{name: "arrayFilter", args: "aa+", special: lambda(func(t, _ Type) Type { return t }, func(s *site, l Value, each func(int) Value) Value {
		i := -1
		return s.filter(l, func(Value) bool {
			i++
			return each(i).IsTrue()
		})
	})},
	{name: "arrayExists", args: "aa+", special: countFunction(func(n, _ int) Value { return boolInt(n > 0) }, testType)},
	{name: "arrayAll", args: "aa+", special: countFunction(func(n, of int) Value { return boolInt(n == of) }, testType)},
	{name: "arrayCount", args: "aa*", special: countFunction(func(n, _ int) Value { return IntOf(int64(n)) }, countType)},
}

func listOfAll(args []Type) Type {
	if len(args) == 0 {
		return nullType.ListOf()
	}
	return likeAll(args).ListOf()
}

func likeList(args []Type) Type {
	if args[0].kind == List {
		return args[0]
	}
	return anyType.ListOf()
}

func likeElement(args []Type) Type { return elemOf(args[0]) }

func (s *site) listOf(kind Kind, args []Value) Value {
	v := s.list(slices.Clone(args))
	if v.kind != Null {
		v.kind = kind
	}
	return v
}

// list returns a list that is created for a row, or null if it would be too large.
func (s *site) list(all []Value) Value {
	v := ListOf(all)
	if !s.allocate(int(v.seq.bytes)) {
		return Value{}
	}
	return v
}

// filter returns a list of the elements for which keep returns true.
func (s *site) filter(l Value, keep func(Value) bool) Value {
	all := make([]Value, 0, len(l.List()))
	for _, v := range l.List() {
		if keep(v) {
			all = append(all, v)
		}
	}
	return s.list(all)
}

// indexOf returns the position of v in l, from 1, or 0 if l does not contain v.
func (s *site) indexOf(l, v Value) int64 {
	for i, e := range l.List() {
		if s.isEqual(v, e) {
			return int64(i) + 1
		}
	}
	return 0
}

func sumOf(all []Value) Value {
	sum := IntOf(0)
	for _, v := range all {
		if n := v.num(); n.kind != Null {
			sum = add(sum, n)
		}
	}
	return sum
}

// listIndex converts a position to an index. Positions begin at 1; negative ones count from
// the end. It returns -1 if there is no such element.
func listIndex(position int64, size int) int {
	switch {
	case position < 0 && -position <= int64(size):
		return size + int(position)
	case position > 0 && position <= int64(size):
		return int(position) - 1
	}
	return -1
}

// elementAt compiles list[i], tuple.i and access to a member of JSON text. If there is no
// such element, the value is 0, "" or null, depending on the type.
func elementAt(c *compiler, n *node) compiled {
	args := c.compileAll(n.args)
	t := args[0].typ
	if args[1].constant && args[1].value.kind == Text {
		return c.members(n, args[0], []string{args[1].value.s})
	}
	outside := Value{}
	elem := elemOf(t)
	switch {
	case t.kind == Tuple || elem.any || elem.json || elem.nullable:
		elem.nullable = true
	case elem.isNumber():
		outside = IntOf(0)
	case elem.kind == Text:
		outside = TextOf("")
	default:
		elem.nullable = true
	}
	return c.compileCall(n, &function{args: "li", result: constantType(elem), two: func(_ *site, l, at Value) Value {
		if i := listIndex(at.n, len(l.List())); i >= 0 {
			return l.List()[i]
		}
		return outside
	}}, args)
}

// joinList implements arrayStringConcat.
func joinList(s *site, args []Value) Value {
	by := ""
	if len(args) == 2 {
		by = args[1].s
	}
	s.buf = s.buf[:0]
	for i, v := range args[0].List() {
		if i > 0 {
			s.buf = append(s.buf, by...)
		}
		if v.kind != Null {
			s.buf = s.env.appendText(s.buf, v)
		}
		if len(s.buf) > maxRowBytes {
			break
		}
	}
	if !s.allocate(len(s.buf)) {
		return Value{}
	}
	return TextOf(string(s.buf))
}

// sliceList implements arraySlice. A negative offset or length counts from the end.
func sliceList(s *site, args []Value) Value {
	all := args[0].List()
	from := args[1].n
	switch {
	case from > 0:
		from--
	case from < 0:
		from = max(0, int64(len(all))+from)
	}
	to := int64(len(all))
	if len(args) == 3 {
		if n := args[2].n; n >= 0 {
			to = min(to, from+min(n, to))
		} else {
			to += n
		}
	}
	if from >= to {
		return ListOf(nil)
	}
	return s.list(all[from:to])
}

// rangeList implements range: the integers from 0 or the first argument, below the limit, by
// a step.
func rangeList(s *site, args []Value) Value {
	from, to, step := int64(0), args[0].n, int64(1)
	if len(args) > 1 {
		from, to = args[0].n, args[1].n
	}
	if len(args) > 2 {
		step = args[2].n
	}
	const most = 1_000_000
	count := 0.0
	if step != 0 {
		count = math.Ceil((float64(to) - float64(from)) / float64(step))
	}
	if step == 0 || count > most {
		s.fail(TooLarge, fmt.Sprintf("Function %q makes at most %d numbers", s.node.name, most))
		return Value{}
	}
	if count <= 0 || !s.fits(valueSize*int(count)) { // list counts them
		return ListOf(nil)
	}
	all := make([]Value, int(count))
	for i := range all {
		all[i] = IntOf(from + int64(i)*step)
	}
	return s.list(all)
}

// applyLists is the body of a function with a lambda. each evaluates the lambda for the
// elements at an index.
type applyLists func(s *site, first Value, each func(int) Value) Value

// lambda compiles a function whose first argument is a lambda and whose other arguments are
// the lists that it is applied to.
func lambda(result func(list, body Type) Type, apply applyLists) func(*compiler, *node) compiled {
	return func(c *compiler, n *node) compiled {
		body := n.args[0]
		if body.op != opLambda {
			return c.fail(body.fault(TypeError, "Function "+quoted(n.name)+" expects a lambda such as x -> x > 1, not "+body.word(), ""))
		}
		lists := c.compileAll(n.args[1:])
		if len(body.path) != len(lists) {
			return c.fail(body.fault(TypeError, fmt.Sprintf("A lambda over %d lists has as many names: %s", len(lists), body.word()), ""))
		}
		l := &loop{site: c.site(n), values: make([]Value, len(lists))}
		first := len(c.params)
		for i, list := range lists {
			if !c.checkArgument(n, n.args[i+1], 'l', list.typ) {
				return list
			}
			l.lists = append(l.lists, coerceEval(l.site, 'l', list))
			l.slots = append(l.slots, len(c.env.locals))
			c.params = append(c.params, param{name: body.path[i], slot: len(c.env.locals), typ: elemOf(list.typ)})
			c.env.locals = append(c.env.locals, Value{})
		}
		inner := c.compile(body.args[0])
		c.params = c.params[:first]
		l.body = inner.eval
		t := result(lists[0].typ, inner.typ)
		t.nullable = lists[0].typ.nullable
		return compiled{eval: func(r *Row) Value { return l.run(r, apply) }, typ: t}
	}
}

// loop evaluates a lambda for the elements of lists.
type loop struct {
	*site
	lists  []func(*Row) Value
	slots  []int // of the parameters, in env.locals
	body   func(*Row) Value
	values []Value
}

func (l *loop) run(r *Row, apply applyLists) Value {
	for i, list := range l.lists {
		l.values[i] = list(r)
		if l.values[i].kind == Null {
			return Value{}
		}
		if len(l.values[i].List()) != len(l.values[0].List()) {
			l.fail(TypeError, "Lists have different lengths in "+l.node.word())
			return Value{}
		}
	}
	if !l.allocate(40 * len(l.values[0].List())) {
		return Value{}
	}
	own := slices.Clone(l.values)
	return apply(l.site, own[0], func(i int) Value {
		if !l.env.tick() {
			return Value{}
		}
		for k, slot := range l.slots {
			l.env.locals[slot] = own[k].List()[i]
		}
		return l.body(r)
	})
}

// countFunction compiles a function that counts the elements for which a lambda is true.
// Without a lambda the elements themselves are the conditions.
func countFunction(convert func(n, total int) Value, t Type) func(*compiler, *node) compiled {
	over := lambda(func(_, _ Type) Type { return t }, func(_ *site, l Value, each func(int) Value) Value {
		n := 0
		for i := range l.List() {
			if each(i).IsTrue() {
				n++
			}
		}
		return convert(n, len(l.List()))
	})
	return func(c *compiler, n *node) compiled {
		if len(n.args) > 1 {
			return over(c, n)
		}
		return c.compileCall(n, &function{args: "l", result: constantType(t), one: func(_ *site, l Value) Value {
			count := 0
			for _, v := range l.List() {
				if v.IsTrue() {
					count++
				}
			}
			return convert(count, len(l.List()))
		}}, c.compileAll(n.args))
	}
}

// sortFunction compiles arraySort and arrayReverseSort. The order is that of ORDER BY, for
// the elements or for the results of a lambda.
func sortFunction(sign int) func(*compiler, *node) compiled {
	sorted := func(s *site, l Value, key func(int) Value) Value {
		all := l.List()
		at := make([]int, len(all))
		keys := make([]Value, len(all))
		for i := range all {
			at[i], keys[i] = i, key(i)
		}
		slices.SortStableFunc(at, func(i, j int) int {
			if a, b := keys[i].kind == Null, keys[j].kind == Null; a || b {
				return compareBools(a, b)
			}
			return sign * order(keys[i], keys[j])
		})
		out := make([]Value, len(all))
		for i, k := range at {
			out[i] = all[k]
		}
		return s.list(out)
	}
	by := lambda(func(t, _ Type) Type { return t }, sorted)
	plain := &function{args: "l", result: likeList, one: func(s *site, l Value) Value {
		if !s.allocate(100 * len(l.List())) {
			return Value{}
		}
		return sorted(s, l, func(i int) Value { return l.List()[i] })
	}}
	return func(c *compiler, n *node) compiled {
		if len(n.args) == 2 {
			return by(c, n)
		}
		return c.compileCall(n, plain, c.compileAll(n.args))
	}
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
