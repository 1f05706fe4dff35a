package convert

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The query language of GO Feature Flag's rules (nikunjy/rules) consists of comparisons of an
// attribute, an operator and a value, which are joined by and and or from left to right, and of not
// ( … ). Queries that its parser accepts only by error recovery are refused.

type query struct {
	b     *builder
	src   *node
	text  string
	pos   int
	depth int
}

// parseQuery parses a query into a formula.
func parseQuery(b *builder, src *node, text string) formula {
	q := &query{b: b, src: src, text: text}
	f := q.expression()
	if q.pos < len(q.text) {
		q.fail("the end")
	}
	return f
}

func (q *query) fail(want string) {
	q.src.refuse("cannot be read at character %d: %s is expected, not %q", q.pos+1, want, short(q.text[q.pos:]))
}

// token consumes the text that a pattern matches at the current position.
func (q *query) token(re *regexp.Regexp) (string, bool) {
	s := re.FindString(q.text[q.pos:])
	q.pos += len(s)
	return s, s != ""
}

var (
	querySpace  = lazy(`^ \n*`)
	queryWord   = lazy(`^[A-Za-z][A-Za-z0-9_:-]*`)
	queryOp     = lazy(`^(?:[A-Za-z]+|==|!=|>=|<=|>|<)`)
	queryString = lazy(`^"(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\])*"`)
	queryNumber = lazy(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?`)
	queryRest   = lazy(`^[0-9A-Za-z.+-]+`)
	queryComma  = lazy(`^, *`)
	queryNot    = lazy(`^(?:not|NOT) ?\n*\(|^\(`)
)

func (q *query) space() {
	if _, ok := q.token(querySpace()); !ok {
		q.fail("one space")
	}
}

// expression parses terms that are joined by and and or, which have equal precedence.
func (q *query) expression() formula {
	first := q.term()
	for {
		before := q.pos
		_, spaced := q.token(querySpace())
		word, _ := q.token(queryWord())
		if !spaced || word != "and" && word != "or" {
			q.pos = before
			return first
		}
		q.space()
		if right := q.term(); word == "and" {
			first = allOf(first, right)
		} else {
			first = anyOf(first, right)
		}
	}
}

// term parses a comparison, or an expression in parentheses that may follow not.
func (q *query) term() formula {
	if open, ok := q.token(queryNot()); ok {
		if q.depth++; q.depth > maxDepth {
			q.src.refuse("is nested deeper than %d levels", maxDepth)
		}
		q.token(querySpace())
		f := q.expression()
		q.token(querySpace())
		if !strings.HasPrefix(q.text[q.pos:], ")") {
			q.fail("a closing bracket")
		}
		q.pos++
		q.depth--
		if open != "(" {
			return not(f)
		}
		return f
	}
	name, ok := q.token(queryWord())
	if !ok || queryOps[name] != "" || slices.Contains(queryKeywords, name) {
		q.pos -= len(name)
		q.fail("the name of an attribute")
	}
	if strings.HasPrefix(q.text[q.pos:], ".") {
		q.src.refuse("reads a member of the attribute %q: properties have no members here", name)
	}
	q.space()
	op, _ := q.token(queryOp())
	if op == "pr" {
		return not(q.subject(name).isAbsent())
	}
	op, ok = queryOps[op]
	if !ok {
		q.fail("an operator")
	}
	q.space()
	return q.compare(q.subject(name), op)
}

var queryOps = map[string]string{
	"eq": "eq", "EQ": "eq", "==": "eq", "ne": "ne", "NE": "ne", "!=": "ne", "gt": "gt", "GT": "gt", ">": "gt",
	"lt": "lt", "LT": "lt", "<": "lt", "ge": "ge", "GE": "ge", ">=": "ge", "le": "le", "LE": "le", "<=": "le",
	"co": "co", "CO": "co", "sw": "sw", "SW": "sw", "ew": "ew", "EW": "ew", "in": "in", "IN": "in",
}

// queryKeywords are words that cannot be attributes, in addition to those of queryOps.
var queryKeywords = []string{"not", "NOT", "and", "or", "true", "false", "null", "pr"}

// subject returns the attribute on the left side of a comparison.
func (q *query) subject(name string) attribute {
	if name == "key" || name == "targetingKey" {
		return q.b.userKey(q.src)
	}
	a := q.b.attribute(q.src, name)
	a.boolean = name == "anonymous"
	return a
}

// compare parses the value and returns the comparison. In GO Feature Flag, a value never matches an
// attribute of another type.
func (q *query) compare(a attribute, op string) formula {
	remaining := q.text[q.pos:]
	switch {
	case strings.HasPrefix(remaining, `"`):
		return neverUnlessKind(a, "text", q.compareText(a, op, q.quoted()))
	case strings.HasPrefix(remaining, "["):
		return q.list(a, op)
	}
	if word, ok := q.token(queryWord()); ok {
		return q.constant(a, op, word)
	}
	number, ok := q.token(queryNumber())
	if !ok {
		q.fail("a value")
	}
	if tail, more := q.token(queryRest()); more {
		q.requireOp(op, "eq", "ne", "lt", "le", "gt", "ge")
		return neverUnlessKind(a, "text", a.compareStrict(op, number+tail))
	}
	n := parseNumber(q.src, number)
	q.requireOp(op, "eq", "ne", "lt", "le", "gt", "ge")
	a.noteNumber()
	if strings.Contains(number, ".") {
		return neverUnlessKind(a, "number", a.number(op, n))
	}
	return neverUnlessKind(a, "number", q.compareInt(a, op, n))
}

// neverUnlessKind returns never for attributes that are known to have another type.
func neverUnlessKind(a attribute, kind string, f formula) formula {
	if a.isKey() && kind != "text" || a.boolean && kind != "boolean" {
		return never
	}
	return f
}

// requireOp refuses operators that are not allowed.
func (q *query) requireOp(op string, allowed ...string) {
	if !slices.Contains(allowed, op) {
		q.refuseOp(op)
	}
}

func (q *query) refuseOp(op string) {
	q.src.refuse("uses %s with a value of this type, which cannot be expressed here", op)
}

// quoted parses a string. Its escapes are not decoded, as in GO Feature Flag.
func (q *query) quoted() string {
	s, ok := q.token(queryString())
	if !ok {
		q.fail("a text in quotes")
	}
	return s[1 : len(s)-1]
}

var queryParts = map[string]part{"co": contains, "sw": startsWith, "ew": endsWith}

func (q *query) compareText(a attribute, op, text string) formula {
	q.requireOp(op, "eq", "ne", "co", "sw", "ew")
	if op == "eq" {
		a.noteTexts(text)
		return a.equalFold(text)
	}
	a.noteText()
	if op == "ne" {
		return allOf(not(a.isAbsent()), not(a.equalFold(text)))
	}
	return a.hasFold(queryParts[op], text)
}

// compareInt compares as integers: fractions of the attribute are truncated.
func (q *query) compareInt(a attribute, op string, n float64) formula {
	if math.Abs(n) >= 1<<53 {
		q.src.refuse("compares with a number that a double cannot hold")
	}
	from := func(m float64) formula { // after truncation, the value is at least m
		if m > 0 {
			return a.number("ge", m)
		}
		return a.number("gt", m-1)
	}
	below := func(m float64) formula {
		if m > 0 {
			return a.number("lt", m)
		}
		return a.number("le", m-1)
	}
	return map[string]formula{
		"eq": allOf(from(n), below(n+1)), "ne": anyOf(below(n), from(n+1)),
		"gt": from(n + 1), "ge": from(n), "lt": below(n), "le": below(n + 1),
	}[op]
}

// constant converts a comparison with true, false or null.
func (q *query) constant(a attribute, op, word string) formula {
	if op != "eq" && op != "ne" || !slices.Contains([]string{"true", "false", "null"}, word) {
		q.pos -= len(word)
		q.fail("eq or ne with true, false or null, or another value")
	}
	if word == "null" {
		if op == "ne" {
			return not(a.isAbsent())
		}
		return a.isAbsent()
	}
	a.noteBoolean()
	if (word == "true") == (op == "eq") {
		return a.isTrue()
	}
	return a.isFalse()
}

// list parses the list of an in operator, [ … ].
func (q *query) list(a attribute, op string) formula {
	q.pos++
	var texts []string
	var numbers []formula
	kind := ""
	for {
		item := ""
		if strings.HasPrefix(q.text[q.pos:], `"`) {
			item = "text"
			texts = append(texts, q.quoted())
		} else if number, ok := q.token(queryNumber()); ok {
			item = "double " + strconv.FormatBool(strings.Contains(number, "."))
			numbers = append(numbers, a.number("eq", parseNumber(q.src, number)))
		}
		if item == "" || kind != "" && item != kind {
			q.fail("a value of the same type as the others")
		}
		kind = item
		if _, more := q.token(queryComma()); !more {
			break
		}
	}
	if !strings.HasPrefix(q.text[q.pos:], "]") {
		q.fail("the end of the list")
	}
	q.pos++
	q.requireOp(op, "in")
	if kind == "text" {
		a.noteTexts(texts...)
		return neverUnlessKind(a, "text", a.oneOf(texts))
	}
	a.noteNumber()
	return neverUnlessKind(a, "number", anyOf(numbers...))
}
