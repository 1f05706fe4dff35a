package hogql

import (
	"slices"
	"strconv"
	"strings"
)

// expr parses an expression. From the lowest precedence, the levels are: ?:, OR, AND, NOT,
// comparisons, sums, products, unary minus, and access to members.
//
//	expr    = or [ "?" expr ":" expr ]
//	or      = and { "OR" and }
//	and     = not { "AND" not }
//	not     = [ "NOT" ] compare
//	compare = sum [ operator sum | "IS" [ "NOT" ] "NULL" | [ "NOT" ] predicate ]
//	sum     = product { ( "+" | "-" | "||" ) product }
//	product = unary { ( "*" | "/" | "%" | "DIV" | "MOD" ) unary }
//	unary   = [ "-" ] postfix
//	postfix = atom { "[" expr "]" | "." ( name | number ) }
func (p *parser) expr() *node {
	p.enter()
	defer func() { p.depth-- }()
	start := p.peek().start
	n := p.chain("OR", "or", func() *node { return p.chain("AND", "and", p.not) })
	if p.accept("?") {
		yes := p.expr()
		p.expect(":")
		n = p.call("if", start, n, yes, p.expr())
	}
	return n
}

// chain parses terms separated by a keyword, as one call with all terms as arguments.
func (p *parser) chain(word, function string, term func() *node) *node {
	start := p.peek().start
	args := []*node{term()}
	for p.accept(word) {
		args = append(args, term())
	}
	if len(args) == 1 {
		return args[0]
	}
	return p.call(function, start, args...)
}

// not parses an optional NOT and a comparison.
func (p *parser) not() *node {
	start := p.peek().start
	if p.accept("NOT") {
		return p.call("not", start, p.compare())
	}
	return p.compare()
}

// comparisons maps signs to functions. If not is true, the result is negated.
var comparisons = map[string]struct {
	function string
	not      bool
}{
	"=": {"equals", false}, "==": {"equals", false}, "!=": {"notEquals", false}, "<>": {"notEquals", false},
	"<": {"less", false}, "<=": {"lessOrEquals", false}, ">": {"greater", false}, ">=": {"greaterOrEquals", false},
	"=~": {"match", false}, "!~": {"match", true}, "=~*": {"$imatch", false}, "!~*": {"$imatch", true},
}

// compare parses a comparison.
//
// The predicates are LIKE, ILIKE, BETWEEN and IN, all of which may follow NOT. Comparisons
// cannot be chained: a < b < c is a syntax error.
func (p *parser) compare() *node {
	start := p.peek().start
	n := p.sum()
	t := p.peek()
	if t.kind == tokSign {
		c, ok := comparisons[t.text]
		if !ok {
			return n
		}
		p.pos++
		return p.negateIf(c.not, p.call(c.function, start, n, p.sum()))
	}
	if p.accept("IS") {
		not := p.accept("NOT")
		p.expect("NULL")
		if not {
			return p.call("isNotNull", start, n)
		}
		return p.call("isNull", start, n)
	}
	not := p.accept("NOT")
	switch {
	case p.accept("LIKE"):
		n = p.call("like", start, n, p.sum())
	case p.accept("ILIKE"):
		n = p.call("ilike", start, n, p.sum())
	case p.accept("BETWEEN"):
		low := p.sum()
		p.expect("AND")
		n = p.call("$between", start, n, low, p.sum())
	case p.accept("IN"):
		n = p.in(start, n)
	case not:
		p.unexpected("LIKE, ILIKE, BETWEEN or IN")
	}
	return p.negateIf(not, n)
}

// negateIf returns the negation of a comparison if not is true. The result of a comparison is
// never null.
func (p *parser) negateIf(not bool, n *node) *node {
	if !not {
		return n
	}
	return p.call("not", n.start, n)
}

// in parses the right operand of IN.
//
// It is a cohort, a placeholder, a list in brackets or a list in parentheses. The last two
// are the same. A subquery is not supported.
func (p *parser) in(start int, n *node) *node {
	t := p.peek()
	switch {
	case t.is("COHORT"):
		p.pos++
		id := p.peek()
		if id.kind != tokString && (id.kind != tokNumber || strings.ContainsAny(id.text, ".eE")) {
			p.unexpected("the number or name of a cohort")
			return n
		}
		p.pos++
		c := p.node(opCohort, start)
		c.name, c.args = id.text, []*node{n}
		return c
	case t.is("{"):
		return p.call("in", start, n, p.placeholder())
	case t.is("["):
		return p.call("in", start, n, p.list())
	case p.accept("("):
		if p.is("SELECT") {
			p.rejectUnsupported(0)
		}
		args := list(p, (*parser).expr)
		p.expect(")")
		return p.call("in", start, n, p.call("array", t.start, args...))
	}
	p.unexpected("a list")
	return n
}

// sums and products map operators to functions.
var (
	sums     = map[string]string{"+": "plus", "-": "minus", "||": "concat"}
	products = map[string]string{"*": "multiply", "/": "divide", "%": "modulo", "DIV": "intDiv", "MOD": "modulo"}
)

// sum parses sums, whose terms are products.
func (p *parser) sum() *node {
	return p.binary(sums, func() *node { return p.binary(products, p.unary) })
}

// binary parses left-associative operators of one level of precedence.
func (p *parser) binary(functions map[string]string, term func() *node) *node {
	start := p.peek().start
	n := term()
	for {
		t := p.peek()
		f := functions[t.text]
		if f == "" || t.kind != tokSign && t.kind != tokName {
			return n
		}
		p.pos++
		n = p.call(f, start, n, term())
	}
}

// unary parses an optional minus sign. The sign of a literal becomes part of the literal.
func (p *parser) unary() *node {
	start := p.peek().start
	if p.accept("-") {
		n := p.postfix()
		if n.op == opLiteral && (n.value.kind == Int || n.value.kind == Float) {
			n.value, n.start = negate(n.value), start
			return n
		}
		return p.call("negate", start, n)
	}
	return p.postfix()
}

// postfix parses an operand and any number of [index] and .name after it.
func (p *parser) postfix() *node {
	start := p.peek().start
	n := p.atom()
	for p.err == nil {
		switch {
		case p.accept("["):
			index := p.expr()
			p.expect("]")
			// A string in brackets after a path is a name below it, like the name after a
			// dot.
			if n.op == opPath && index.op == opLiteral && index.value.kind == Text {
				n.path, n.end = append(slices.Clip(n.path), index.value.s), p.prevEnd()
				continue
			}
			n = p.call("arrayElement", start, n, index)
		case p.accept("."):
			t := p.peek()
			// A number after a dot is a position in a tuple.
			if t.kind == tokNumber {
				p.pos++
				n = p.call("tupleElement", start, n, p.literal(t))
				continue
			}
			name := p.name()
			if n.op == opPath {
				n.path, n.end = append(slices.Clip(n.path), name), p.prevEnd()
				continue
			}
			member := p.node(opLiteral, t.start)
			member.value = TextOf(name)
			n = p.call("tupleElement", start, n, member)
		default:
			return n
		}
	}
	return n
}

// literal returns the node of a number or string whose token has been read.
func (p *parser) literal(t token) *node {
	n := p.node(opLiteral, t.start)
	if t.kind == tokString {
		n.value = TextOf(t.text)
		return n
	}
	if i, err := strconv.ParseInt(t.text, 10, 64); err == nil {
		n.value = IntOf(i)
	} else if f, err := strconv.ParseFloat(t.text, 64); err == nil {
		n.value = FloatOf(f)
	} else {
		p.fail(p.fault(SyntaxError, t.start, t.end, "Unexpected "+quoted(t.text), ": expected a number that fits 64 bits"))
	}
	return n
}

// constants are the keywords that are literals.
var constants = map[string]Value{"TRUE": BoolOf(true), "FALSE": BoolOf(false), "NULL": {}}

// atom parses an operand without operators.
func (p *parser) atom() *node {
	t := p.peek()
	switch t.kind {
	case tokNumber, tokString:
		p.pos++
		return p.literal(t)
	case tokQuoted:
		n := &node{op: opPath, src: p.source, start: t.start, path: []string{p.name()}}
		n.end = p.prevEnd()
		return n
	case tokName:
		return p.named(t)
	case tokSign:
		switch t.text {
		case "(":
			return p.parens()
		case "[":
			return p.list()
		case "{":
			return p.placeholder()
		}
	}
	p.unexpected("an expression")
	return p.node(opLiteral, t.start)
}

// named parses an operand that begins with a word.
//
// The word may be a keyword with its own syntax, a literal such as TRUE, the name of a
// function if a parenthesis follows, or the name of a field.
func (p *parser) named(t token) *node {
	next := p.peekAt(1)
	called := next.is("(")
	switch {
	// These words are only special before a string or a parenthesis, and are names otherwise.
	case next.kind == tokString && (t.text == "DATE" || t.text == "TIMESTAMP"):
		p.pos += 2
		return p.call(map[string]string{"DATE": "$date", "TIMESTAMP": "$timestamp"}[t.text], t.start, p.literal(next))
	case called && t.text == "CAST":
		return p.cast()
	case called && slices.Contains([]string{"AND", "OR", "NOT", "IN", "LIKE", "ILIKE"}, t.text):
		return p.function()
	case t.text == "CASE":
		return p.cases()
	case t.text == "INTERVAL":
		return p.interval()
	}
	if v, ok := constants[t.text]; ok {
		p.pos++
		n := p.node(opLiteral, t.start)
		n.value = v
		return n
	}
	if isReserved(t.text) {
		p.unexpected("an expression")
		return p.node(opLiteral, t.start)
	}
	if called {
		return p.function()
	}
	n := &node{op: opPath, src: p.source, start: t.start, path: []string{p.name()}}
	n.end = p.prevEnd()
	return n
}
