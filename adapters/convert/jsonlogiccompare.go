package convert

import (
	"encoding/json"
	"regexp"

	"github.com/bunting-flags/bunting/flags"
)

// sides are an attribute and a constant; swapped: the constant stood first.
func (l *logic) sides(n, a, b *node) (o operand, constant any, swapped bool) {
	left, right := l.operand(a), l.operand(b)
	switch {
	case left.isVar && !right.isVar:
		return left, right.constant, false
	case !left.isVar && right.isVar:
		return right, left.constant, true
	}
	l.refuse(n, "must compare an attribute with a constant")
	return operand{}, nil, false
}

func (l *logic) equal(n *node, op string, args []*node) formula {
	if len(args) != 2 {
		l.refuse(n, "needs two arguments")
	}
	o, constant, _ := l.sides(n, args[0], args[1])
	switch v := constant.(type) {
	case nil:
		if o.id || o.flag {
			return never
		}
		return absent(o.key)
	case string:
		if o.flag {
			l.refuse(n, "compares a boolean with a text")
		}
		if !o.id {
			l.b.noteTyped(l.at, o.key, v)
			if regexp.MustCompile(isBlank).MatchString(v) {
				l.b.noteText(l.at, o.key) // equal to 0 and false there
			}
		}
		return textIn(o.key, []string{v})
	case json.Number:
		return l.equalNumber(n, o, op, v)
	case bool:
		return l.equalBool(o, op, v)
	}
	l.refuse(n, "compares with a list or an object")
	return never
}

func (l *logic) equalNumber(n *node, o operand, op string, v json.Number) formula {
	f := l.double(n, v)
	if op == "===" {
		if o.id || o.flag {
			return never
		}
		l.b.noteNumber(l.at, o.key)
		return equalTo(o.key, f)
	}
	of := []formula{l.numeric(o, equalTo(o.key, f))}
	switch f {
	case 0:
		of = append(of, l.no(o), l.blank(o))
	case 1:
		of = append(of, l.yes(o))
	}
	return anyOf(of...)
}

func (l *logic) equalBool(o operand, op string, v bool) formula {
	if !o.id {
		l.b.noteBoolean(l.at, o.key)
	}
	same, n := l.no(o), 0.0
	if v {
		same, n = l.yes(o), 1
	}
	if op == "===" {
		return same
	}
	of := []formula{same, l.numeric(o, equalTo(o.key, n))}
	if !v {
		of = append(of, l.blank(o))
	}
	return anyOf(of...)
}

// What an attribute is, where it may be that.

func (l *logic) yes(o operand) formula {
	if o.id {
		return never
	}
	return pattern(o.key, isYes)
}

func (l *logic) no(o operand) formula {
	switch {
	case o.id:
		return never
	case o.flag:
		return not(pattern(o.key, isYes))
	}
	return pattern(o.key, isNo)
}

func (l *logic) blank(o operand) formula {
	if o.flag {
		return never
	}
	return pattern(o.key, isBlank)
}

func (l *logic) numeric(o operand, f formula) formula {
	if o.flag {
		return never
	}
	return f
}

func (l *logic) nothing(o operand) formula {
	if o.id || o.flag {
		return never
	}
	return absent(o.key)
}

func (l *logic) double(n *node, v json.Number) float64 {
	f, err := v.Float64()
	if err != nil {
		l.refuse(n, "has a number that a double cannot hold")
	}
	return f
}

var mirrored = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}

var numberOrders = map[string]struct {
	op     flags.Operator
	orSame bool
	holds  func(x, n float64) bool // strictly
}{
	"<":  {flags.LessThan, false, func(x, n float64) bool { return x < n }},
	"<=": {flags.LessOrEqual, true, func(x, n float64) bool { return x < n }},
	">":  {flags.GreaterThan, false, func(x, n float64) bool { return x > n }},
	">=": {flags.GreaterOrEqual, true, func(x, n float64) bool { return x > n }},
}

// ordered compares two, or three in a row.
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

func (l *logic) order(n *node, op string, a, b *node) formula {
	o, constant, swapped := l.sides(n, a, b)
	if swapped {
		op = mirrored[op]
	}
	v, ok := constant.(json.Number)
	if !ok {
		l.refuse(n, "orders by something else than a number")
	}
	f, order := l.double(n, v), numberOrders[op]
	of := []formula{l.numeric(o, compared(o.key, order.op, f))}
	// What is no number counts as one: true as 1, false, blanks and nothing as 0.
	if order.holds(0, f) {
		of = append(of, l.nothing(o))
	}
	if order.holds(0, f) || order.orSame && f == 0 {
		of = append(of, l.no(o), l.blank(o))
	}
	if order.holds(1, f) || order.orSame && f == 1 {
		of = append(of, l.yes(o))
	}
	return anyOf(of...)
}

// in is a text in the text of an attribute, or an attribute in a list.
func (l *logic) in(n *node, args []*node) formula {
	if len(args) != 2 {
		l.refuse(n, "needs two arguments")
	}
	if list, ok := l.resolve(args[1]).value.([]any); ok {
		return l.inList(n, l.operand(args[0]), list)
	}
	o, constant, swapped := l.sides(n, args[0], args[1])
	text, isText := constant.(string)
	if !swapped || !isText || o.flag {
		l.refuse(n, "must seek a constant text in an attribute, or an attribute in a list")
	}
	if !o.id {
		l.b.noteText(l.at, o.key)
	}
	return contains.exactly(l.at, o.key, text)
}

func (l *logic) inList(n *node, o operand, list []any) formula {
	if !o.isVar || o.flag {
		l.refuse(n, "must seek an attribute in a list")
	}
	var texts []string
	var of []formula
	for _, v := range list {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case json.Number:
			of = append(of, equalTo(o.key, l.double(n, v)))
		default:
			l.refuse(n, "has a list with something else than texts and numbers")
		}
	}
	if len(of) > 0 && (o.id || len(texts) > 0) {
		l.refuse(n, "seeks a text among numbers, or among both")
	}
	switch {
	case len(of) > 0:
		l.b.noteNumber(l.at, o.key)
	case !o.id && len(texts) > 0:
		l.b.noteText(l.at, o.key) // 0 is in every list of texts there
	}
	return anyOf(append(of, textIn(o.key, texts))...)
}
