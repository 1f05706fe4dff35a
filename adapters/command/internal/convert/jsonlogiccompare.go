package convert

import (
	"encoding/json"
)

// sides returns the attribute and the constant of a comparison. swapped reports whether the
// constant is the left operand.
func (l *logic) sides(n, a, b *node) (_ *attribute, constant any, swapped bool) {
	first, right := l.operand(a), l.operand(b)
	switch {
	case first.attribute != nil && right.attribute == nil:
		return first.attribute, right.constant, false
	case first.attribute == nil && right.attribute != nil:
		return right.attribute, first.constant, true
	}
	l.refuse(n, "must compare an attribute with a constant")
	return nil, nil, false
}

// equal converts == and ===. Only comparisons of an attribute with a scalar are supported.
func (l *logic) equal(n *node, op string, args []*node) formula {
	if len(args) != 2 {
		l.refuse(n, "needs two arguments")
	}
	a, constant, _ := l.sides(n, args[0], args[1])
	switch v := constant.(type) {
	case nil:
		return a.isAbsent()
	case string:
		if a.boolean {
			l.refuse(n, "compares a boolean with a text")
		}
		a.noteTexts(v)
		if blankPattern().MatchString(v) {
			a.noteText() // in JSONLogic it also equals 0 and false
		}
		return a.oneOf([]string{v})
	case json.Number:
		return l.equalNumber(a, op, l.double(n, v))
	case bool:
		return l.equalBool(a, op, v)
	}
	l.refuse(n, "compares with a list or an object")
	return never
}

// equalNumber is equal for a number. With ==, booleans and blank strings are converted to numbers.
func (l *logic) equalNumber(a *attribute, op string, f float64) formula {
	if op == "===" {
		if a.isKey() || a.boolean {
			return never
		}
		a.noteNumber()
		return a.number("eq", f)
	}
	parts := []formula{a.numeric("eq", f)}
	switch f {
	case 0:
		parts = append(parts, a.isFalse(), a.isBlank())
	case 1:
		parts = append(parts, a.isTrue())
	}
	return anyOf(parts...)
}

func (l *logic) equalBool(a *attribute, op string, v bool) formula {
	a.noteBoolean()
	switch {
	case op == "===" && v:
		return a.isTrue()
	case op == "===":
		return a.isFalse()
	case v:
		return anyOf(a.isTrue(), a.numeric("eq", 1))
	}
	return anyOf(a.isFalse(), a.numeric("eq", 0), a.isBlank())
}

// numeric is number, but is never true for booleans.
func (a attribute) numeric(op string, n float64) formula {
	if a.boolean {
		return never
	}
	return a.number(op, n)
}

func (l *logic) double(n *node, v json.Number) float64 {
	f, err := v.Float64()
	if err != nil {
		l.refuse(n, "has a number that a double cannot hold")
	}
	return f
}

var logicOrders = map[string]string{"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

// ordered compares two values, or three in a row.
func (l *logic) ordered(n *node, op string, args []*node) formula {
	switch len(args) {
	case 2:
		return l.order(n, op, args[0], args[1])
	case 3:
		return allOf(l.order(n, op, args[0], args[1]), l.order(n, op, args[1], args[2]))
	}
	l.refuse(n, "needs two or three arguments")
	return never
}

// order converts a comparison by size of an attribute and a number.
func (l *logic) order(n *node, op string, first, right *node) formula {
	a, constant, swapped := l.sides(n, first, right)
	if swapped {
		op = orders[op].mirrored
	}
	v, ok := constant.(json.Number)
	if !ok {
		l.refuse(n, "compares the order of something other than numbers")
	}
	f, holds := l.double(n, v), orders[op].holds
	parts := []formula{a.numeric(op, f)}
	// Values that are not numbers are converted: true to 1, and false, blank and missing values to
	// 0.
	if holds(0, f) {
		if f != 0 { // null equals only itself
			parts = append(parts, a.isAbsent())
		}
		parts = append(parts, a.isFalse(), a.isBlank())
	}
	if holds(1, f) {
		parts = append(parts, a.isTrue())
	}
	return anyOf(parts...)
}

// in converts a search for a string in the text of an attribute, or for an attribute in a list.
func (l *logic) in(n *node, args []*node) formula {
	if len(args) != 2 {
		l.refuse(n, "needs two arguments")
	}
	if list, ok := l.resolve(args[1]).value.([]any); ok {
		return l.inList(n, l.operand(args[0]).attribute, list)
	}
	a, constant, swapped := l.sides(n, args[0], args[1])
	text, isText := constant.(string)
	if !swapped || !isText || a.boolean {
		l.refuse(n, "must search for a constant text in an attribute, or for an attribute in a list")
	}
	a.noteText()
	return a.has(contains, text)
}

// inList converts a search for an attribute in a list of strings or of numbers.
func (l *logic) inList(n *node, a *attribute, list []any) formula {
	if a == nil || a.boolean {
		l.refuse(n, "must search for an attribute in a list")
	}
	var texts []string
	var parts []formula
	for _, v := range list {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case json.Number:
			parts = append(parts, a.number("eq", l.double(n, v)))
		default:
			l.refuse(n, "has a list with elements other than texts and numbers")
		}
	}
	if len(parts) > 0 && (a.isKey() || len(texts) > 0) {
		l.refuse(n, "searches for a text in a list with numbers")
	}
	switch {
	case len(parts) > 0:
		a.noteNumber()
	case len(texts) > 0:
		a.noteText() // in JSONLogic 0 is in every list of strings
	}
	return anyOf(append(parts, a.oneOf(texts))...)
}
