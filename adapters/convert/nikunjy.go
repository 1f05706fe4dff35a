package convert

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// The query language of GO Feature Flag's rules (nikunjy/rules): attribute,
// operator and value, joined by and and or from left to right, with not ( … ).
// Only what its grammar takes without repair is read.

type query struct {
	b     *builder
	at    *node
	text  string
	pos   int
	depth int
}

// parseQuery reads a query as a formula.
func parseQuery(b *builder, at *node, text string) formula {
	q := &query{b: b, at: at, text: text}
	f := q.expression()
	if q.pos < len(q.text) {
		q.fail("the end")
	}
	return f
}

func (q *query) fail(want string) {
	q.at.refuse("cannot be read at character %d: %s is expected, not %q", q.pos+1, want, short(q.text[q.pos:]))
}

// token takes what a pattern matches here.
func (q *query) token(re *regexp.Regexp) (string, bool) {
	s := re.FindString(q.text[q.pos:])
	q.pos += len(s)
	return s, s != ""
}

var (
	querySpace  = regexp.MustCompile(`^ \n*`)
	queryWord   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_:-]*`)
	queryOp     = regexp.MustCompile(`^(?:[A-Za-z]+|==|!=|>=|<=|>|<)`)
	queryString = regexp.MustCompile(`^"(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\])*"`)
	queryNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?`)
	queryRest   = regexp.MustCompile(`^[0-9A-Za-z.+-]+`)
	queryComma  = regexp.MustCompile(`^, *`)
	queryNot    = regexp.MustCompile(`^(?:not|NOT) ?\n*\(|^\(`)
)

func (q *query) space() {
	if _, ok := q.token(querySpace); !ok {
		q.fail("one space")
	}
}

func (q *query) expression() formula {
	left := q.term()
	for {
		before := q.pos
		_, spaced := q.token(querySpace)
		word, _ := q.token(queryWord)
		if !spaced || word != "and" && word != "or" {
			q.pos = before
			return left
		}
		q.space()
		if right := q.term(); word == "and" {
			left = allOf(left, right)
		} else {
			left = anyOf(left, right)
		}
	}
}

func (q *query) term() formula {
	if open, ok := q.token(queryNot); ok {
		if q.depth++; q.depth > maxDepth {
			q.at.refuse("is nested deeper than %d levels", maxDepth)
		}
		q.token(querySpace)
		f := q.expression()
		q.token(querySpace)
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
	name, ok := q.token(queryWord)
	if !ok || slices.Contains(queryKeywords, name) {
		q.pos -= len(name)
		q.fail("the name of an attribute")
	}
	if strings.HasPrefix(q.text[q.pos:], ".") {
		q.at.refuse("asks for a part of the attribute %q: properties have no parts here", name)
	}
	q.space()
	op, _ := q.token(queryOp)
	if op == "pr" {
		return q.subject(name).present()
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

// queryKeywords are words that cannot be attributes.
var queryKeywords = []string{
	"not", "NOT", "and", "or", "true", "false", "null", "pr", "eq", "EQ", "ne", "NE", "gt", "GT", "lt", "LT", "ge", "GE", "le", "LE",
	"co", "CO", "sw", "SW", "ew", "EW", "in", "IN",
}

// subject is the left side of a comparison.
type subject struct {
	key string
	// id: the user's key, always a text. anonymous: always a boolean, false when
	// it is not sent.
	id, anonymous bool
}

func (q *query) subject(name string) subject {
	switch name {
	case "key", "targetingKey":
		return subject{key: distinctID, id: true}
	case "anonymous":
		return subject{key: name, anonymous: true}
	}
	return subject{key: propertyName(q.at, name)}
}

func (s subject) present() formula {
	if s.id || s.anonymous {
		return always
	}
	return not(absent(s.key))
}

// compare reads the value and makes the comparison. Values of another type than
// the attribute's never match there.
func (q *query) compare(s subject, op string) formula {
	rest := q.text[q.pos:]
	switch {
	case strings.HasPrefix(rest, `"`):
		text := q.quoted()
		return q.typed(s, "text", func() formula { return q.compareText(s, op, text) })
	case strings.HasPrefix(rest, "["):
		return q.list(s, op)
	}
	if word, ok := q.token(queryWord); ok {
		return q.constant(s, op, word)
	}
	number, ok := q.token(queryNumber)
	if !ok {
		q.fail("a value")
	}
	if tail, more := q.token(queryRest); more {
		return q.typed(s, "text", func() formula {
			if _, known := versionOps[op]; !known && op != "ne" {
				q.refuseOp(op)
			}
			if op == "ne" {
				return allOf(pattern(s.key, strictVersion), not(compareVersion(q.at, s.key, "eq", number+tail)))
			}
			return compareVersion(q.at, s.key, op, number+tail)
		})
	}
	n := parseNumber(q.at, number)
	return q.typed(s, "number", func() formula {
		q.b.noteNumber(q.at, s.key)
		if strings.Contains(number, ".") {
			return q.compareDouble(s.key, op, n)
		}
		return q.compareInt(s.key, op, n)
	})
}

// typed is never for attributes that are known to be of another type.
func (q *query) typed(s subject, kind string, f func() formula) formula {
	if s.id && kind != "text" || s.anonymous && kind != "boolean" {
		f() // what cannot be read is refused all the same
		return never
	}
	return f()
}

func (q *query) refuseOp(op string) {
	q.at.refuse("uses %s with a value of this type, which cannot be said here", op)
}

// quoted reads a text. Its escapes stay as they are, as they do there.
func (q *query) quoted() string {
	s, ok := q.token(queryString)
	if !ok {
		q.fail("a text in quotes")
	}
	return s[1 : len(s)-1]
}

func (q *query) compareText(s subject, op, text string) formula {
	parts := map[string]part{"co": contains, "sw": startsWith, "ew": endsWith}
	switch op {
	case "eq":
		if !s.id {
			q.b.noteTyped(q.at, s.key, text)
		}
		return textIs(s.key, text)
	case "ne":
		if s.id {
			return not(textIs(s.key, text))
		}
		q.b.noteText(q.at, s.key)
		return allOf(not(absent(s.key)), not(textIs(s.key, text)))
	case "co", "sw", "ew":
		if !s.id {
			q.b.noteText(q.at, s.key)
		}
		return parts[op].folding(q.at, s.key, text)
	}
	q.refuseOp(op)
	return never
}

// compareInt compares as whole numbers: fractions are cut off the attribute.
func (q *query) compareInt(key, op string, n float64) formula {
	if math.Abs(n) >= 1<<53 {
		q.at.refuse("compares with a number that a double cannot hold")
	}
	from := func(m float64) formula { // cut off, it is m or more
		if m > 0 {
			return compared(key, flags.GreaterOrEqual, m)
		}
		return compared(key, flags.GreaterThan, m-1)
	}
	below := func(m float64) formula {
		if m > 0 {
			return compared(key, flags.LessThan, m)
		}
		return compared(key, flags.LessOrEqual, m-1)
	}
	switch op {
	case "eq":
		return allOf(from(n), below(n+1))
	case "ne":
		return anyOf(below(n), from(n+1))
	case "gt":
		return from(n + 1)
	case "ge":
		return from(n)
	case "lt":
		return below(n)
	case "le":
		return below(n + 1)
	}
	q.refuseOp(op)
	return never
}

var orders = map[string]flags.Operator{
	"gt": flags.GreaterThan, "ge": flags.GreaterOrEqual, "lt": flags.LessThan, "le": flags.LessOrEqual,
}

func (q *query) compareDouble(key, op string, n float64) formula {
	switch order, ok := orders[op]; {
	case ok:
		return compared(key, order, n)
	case op == "eq":
		return equalTo(key, n)
	case op == "ne":
		return anyOf(compared(key, flags.LessThan, n), compared(key, flags.GreaterThan, n))
	}
	q.refuseOp(op)
	return never
}

func (q *query) constant(s subject, op, word string) formula {
	if op != "eq" && op != "ne" || !slices.Contains([]string{"true", "false", "null"}, word) {
		q.pos -= len(word)
		q.fail("eq or ne with true, false or null, or another value")
	}
	if word == "null" {
		if op == "ne" {
			return s.present()
		}
		return not(s.present())
	}
	yes := (word == "true") == (op == "eq")
	return q.typed(s, "boolean", func() formula {
		q.b.noteBoolean(q.at, s.key)
		switch {
		case yes:
			return pattern(s.key, isYes)
		case s.anonymous:
			return not(pattern(s.key, isYes))
		}
		return pattern(s.key, isNo)
	})
}

// list reads in [ … ].
func (q *query) list(s subject, op string) formula {
	q.pos++
	var texts []string
	var numbers []formula
	kind := ""
	for {
		item := ""
		if strings.HasPrefix(q.text[q.pos:], `"`) {
			item = "text"
			texts = append(texts, q.quoted())
		} else if number, ok := q.token(queryNumber); ok {
			item = "double " + strconv.FormatBool(strings.Contains(number, "."))
			numbers = append(numbers, equalTo(s.key, parseNumber(q.at, number)))
		}
		if item == "" || kind != "" && item != kind {
			q.fail("a value of the same type as the others")
		}
		kind = item
		if _, more := q.token(queryComma); !more {
			break
		}
	}
	if !strings.HasPrefix(q.text[q.pos:], "]") {
		q.fail("the end of the list")
	}
	q.pos++
	if op != "in" {
		q.refuseOp(op)
	}
	if kind == "text" {
		return q.typed(s, "text", func() formula {
			if !s.id {
				q.b.noteTyped(q.at, s.key, texts...)
			}
			return textIn(s.key, texts)
		})
	}
	return q.typed(s, "number", func() formula {
		q.b.noteNumber(q.at, s.key)
		return anyOf(numbers...)
	})
}
