package hogql

import (
	"slices"
	"strconv"
	"strings"
)

// parens parses an expression in parentheses, or a tuple.
func (p *parser) parens() *node {
	start := p.peek().start
	p.expect("(")
	all := list(p, (*parser).expr)
	p.expect(")")
	// Several expressions in parentheses are a tuple.
	if len(all) > 1 {
		return p.call("tuple", start, all...)
	}
	return all[0]
}

// list parses a list in brackets.
func (p *parser) list() *node {
	start := p.peek().start
	p.expect("[")
	var all []*node
	if !p.accept("]") {
		all = list(p, (*parser).expr)
		p.expect("]")
	}
	return p.call("array", start, all...)
}

// placeholder parses {name} or {variables.name}.
func (p *parser) placeholder() *node {
	start := p.peek().start
	p.expect("{")
	path := []string{p.name()}
	if p.accept(".") {
		path = append(path, p.name())
	}
	p.expect("}")
	n := p.node(opPlaceholder, start)
	n.path = path
	if len(path) == 2 && path[0] != "variables" && p.err == nil {
		p.fail(p.fault(SyntaxError, start, n.end, "Unexpected "+quoted(p.word(start, n.end)), ": expected a name or variables. and a name in the braces"))
	}
	return n
}

// cast parses CAST(x AS type).
func (p *parser) cast() *node {
	start := p.peek().start
	// CAST and the parenthesis have been checked by the caller.
	p.pos += 2
	n := p.expr()
	p.expect("AS")
	at := p.peek().start
	to := p.name()
	kind := p.node(opLiteral, at)
	kind.value = TextOf(to)
	p.expect(")")
	return p.call("$cast", start, n, kind)
}

// cases parses a CASE expression. Without an operand it is a call of multiIf.
func (p *parser) cases() *node {
	start := p.peek().start
	p.expect("CASE")
	var args []*node
	function := "multiIf"
	if !p.is("WHEN") {
		function = "$case"
		args = append(args, p.expr())
	}
	for more := true; more && p.err == nil; more = p.is("WHEN") {
		p.expect("WHEN")
		args = append(args, p.expr())
		p.expect("THEN")
		args = append(args, p.expr())
	}
	// Without ELSE the value is null.
	fallback := p.node(opLiteral, start)
	if p.accept("ELSE") {
		fallback = p.expr()
	}
	p.expect("END")
	return p.call(function, start, append(args, fallback)...)
}

// units are the units of intervals and of functions, in the singular.
var units = []string{"second", "minute", "hour", "day", "week", "month", "quarter", "year"}

// interval parses INTERVAL 1 day, INTERVAL (expr) day and INTERVAL '1 day'.
func (p *parser) interval() *node {
	start := p.peek().start
	p.expect("INTERVAL")
	if t := p.peek(); t.kind == tokString {
		// The string has a number and a unit, as in '1 day'. Otherwise it is the number only.
		if number, unit, ok := strings.Cut(strings.TrimSpace(t.text), " "); ok {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil && unitOf(unit) >= 0 {
				p.pos++
				count := p.node(opLiteral, t.start)
				count.value = IntOf(n)
				return p.call("$interval"+units[unitOf(unit)], start, count)
			}
		}
		if unitOf(p.source.text[p.peekAt(1).start:p.peekAt(1).end]) < 0 {
			p.unexpected(`a text such as '1 day'`)
		}
	}
	n := p.expr()
	if n.op == opLiteral && n.value.kind == Text {
		if count, err := strconv.ParseInt(strings.TrimSpace(n.value.s), 10, 64); err == nil {
			n.value = IntOf(count)
		}
	}
	t := p.peek()
	unit := unitOf(p.source.text[t.start:t.end])
	if unit < 0 || t.kind != tokName {
		p.unexpected("second, minute, hour, day, week, month, quarter or year")
		return n
	}
	p.pos++
	return p.call("$interval"+units[unit], start, n)
}

// unitOf returns the index of a unit, ignoring case and a plural s. It returns -1 if there is
// no such unit.
func unitOf(word string) int {
	return slices.Index(units, strings.TrimSuffix(strings.ToLower(strings.TrimSpace(word)), "s"))
}

// function parses a call. If there are two pairs of parentheses, the first has the parameters
// of an aggregate.
func (p *parser) function() *node {
	start := p.peek().start
	name := p.name()
	args, distinct := p.arguments()
	// A second pair of parentheses means that the first one has parameters, as in
	// quantile(0.9)(x).
	var params []*node
	if p.is("(") {
		for _, a := range args {
			if a.op != opLiteral {
				p.fail(p.fault(SyntaxError, a.start, a.end, "Unexpected "+quoted(p.word(a.start, a.end)), ": expected a number or a text"))
			}
		}
		if distinct {
			p.unexpected("no second pair of parentheses")
		}
		params = args
		args, distinct = p.arguments()
	}
	n := p.call(name, start, args...)
	n.params, n.distinct = params, distinct
	return n
}

// arguments parses ( [["DISTINCT"] expr {"," expr} | "*"] ).
func (p *parser) arguments() (args []*node, distinct bool) {
	p.expect("(")
	if p.accept(")") {
		return nil, false
	}
	if t := p.peek(); t.is("*") {
		p.pos++
		args = []*node{p.node(opStar, t.start)}
	} else {
		distinct = p.accept("DISTINCT")
		args = list(p, (*parser).argument)
	}
	p.expect(")")
	return args, distinct
}

// argument parses an expression or a lambda.
func (p *parser) argument() *node {
	start := p.peek().start
	names, tokens := p.parameters()
	if tokens == 0 {
		return p.expr()
	}
	p.pos += tokens
	p.enter()
	defer func() { p.depth-- }()
	body := p.expr()
	n := p.node(opLambda, start)
	n.path, n.args = names, []*node{body}
	return n
}

// parameters checks for "x ->" and "(x, y) ->", and returns the names and the number of
// tokens. It does not move the position.
func (p *parser) parameters() (names []string, tokens int) {
	named := func(t token) bool { return t.kind == tokName && !isReserved(t.text) || t.kind == tokQuoted }
	read := func(t token) string {
		if t.kind == tokQuoted {
			return t.text
		}
		return p.source.text[t.start:t.end]
	}
	if named(p.peek()) && p.peekAt(1).is("->") {
		return []string{read(p.peek())}, 2
	}
	if !p.is("(") {
		return nil, 0
	}
	at := 1
	for named(p.peekAt(at)) {
		names = append(names, read(p.peekAt(at)))
		at++
		if !p.peekAt(at).is(",") {
			break
		}
		at++
	}
	if len(names) > 0 && p.peekAt(at).is(")") && p.peekAt(at+1).is("->") {
		return names, at + 2
	}
	return nil, 0
}
