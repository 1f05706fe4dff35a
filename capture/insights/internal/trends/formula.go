package trends

import (
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// formula is an arithmetic expression over the series of a query (§2.4.5), in which A is the first
// series.
type formula struct {
	text, name string
	// value computes the formula for one bucket from the values of the series.
	value func(series []float64) float64
}

// Limits of formulas.
const (
	maxFormula  = 500 // characters
	maxFormulas = 10
)

// readFormulas parses the members formulaNodes, formulas and formula. Only the first that is set is
// used. series is the number of series.
func readFormulas(n document.Node, series int) []formula {
	var out []formula
	for _, f := range n.Get("formulaNodes").List(maxFormulas) {
		if text := f.Get("formula").Text(""); text != "" {
			out = append(out, readFormula(f.Get("formula"), text, f.Get("custom_name").Text(""), series))
		}
	}
	if len(out) > 0 {
		return out
	}
	for _, f := range n.Get("formulas").List(maxFormulas) {
		if text := f.Text(""); text != "" {
			out = append(out, readFormula(f, text, "", series))
		}
	}
	if text := n.Get("formula").Text(""); len(out) == 0 && text != "" {
		out = append(out, readFormula(n.Get("formula"), text, "", series))
	}
	return out
}

// readFormula parses one formula.
func readFormula(n document.Node, text, name string, series int) formula {
	p := &formulaParser{Node: n, rest: text, series: series}
	if len(text) > maxFormula {
		n.Fail(document.TooLarge, "A formula may have at most %d characters.", maxFormula)
		return formula{}
	}
	value := p.sum()
	if p.space(); p.rest != "" {
		n.Fail(document.InvalidInput, "The formula %s has an unexpected %q.", document.Describe(text), p.rest[:1])
	}
	return formula{text: text, name: name, value: value}
}

// term is a compiled part of a formula.
type term = func(series []float64) float64

// formulaParser is a recursive descent parser. Its depth is limited by the maximum length of a
// formula.
type formulaParser struct {
	document.Node
	// rest is the part of the formula that is not parsed yet.
	rest   string
	series int
}

// space skips white space.
func (p *formulaParser) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// accept skips white space and the sign, and reports whether the sign was there. A * that begins **
// is not accepted as *.
func (p *formulaParser) accept(sign string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, sign)
	// ** is an operator of its own.
	if ok && sign == "*" && strings.HasPrefix(rest, "*") {
		return false
	}
	if ok {
		p.rest = rest
	}
	return ok
}

// sum parses terms joined by + and -.
func (p *formulaParser) sum() term {
	operand := p.product()
	for !p.HasFailed() {
		// The closures must refer to the present value of left.
		a := operand
		switch {
		case p.accept("+"):
			b := p.product()
			operand = func(s []float64) float64 { return a(s) + b(s) }
		case p.accept("-"):
			b := p.product()
			operand = func(s []float64) float64 { return a(s) - b(s) }
		default:
			return operand
		}
	}
	return operand
}

// product parses factors joined by *, / and %.
func (p *formulaParser) product() term {
	operand := p.unary()
	for !p.HasFailed() {
		// The closures must refer to the present value of left.
		a := operand
		switch {
		case p.accept("*"):
			b := p.unary()
			operand = func(s []float64) float64 { return a(s) * b(s) }
		case p.accept("/"):
			b := p.unary()
			operand = func(s []float64) float64 { return divide(a(s), b(s)) }
		case p.accept("%"):
			b := p.unary()
			operand = func(s []float64) float64 { return remainder(a(s), b(s)) }
		default:
			return operand
		}
	}
	return operand
}

// unary parses a factor with optional signs. A sign binds less tightly than **, as in Python.
func (p *formulaParser) unary() term {
	switch {
	case p.accept("-"):
		a := p.unary()
		return func(s []float64) float64 { return -a(s) }
	case p.accept("+"):
		return p.unary()
	}
	return p.power()
}

// power parses an atom with an optional exponent; ** is right-associative.
func (p *formulaParser) power() term {
	a := p.atom()
	if p.HasFailed() || !p.accept("**") {
		return a
	}
	b := p.unary()
	return func(s []float64) float64 { return math.Pow(a(s), b(s)) }
}

// atom parses a parenthesized formula, the letter of a series, or a number.
func (p *formulaParser) atom() term {
	p.space()
	zero := func([]float64) float64 { return 0 }
	if p.rest == "" {
		p.Fail(document.InvalidInput, "The formula %s ends too soon.", document.Describe(p.Value))
		return zero
	}
	if p.accept("(") {
		inner := p.sum()
		if !p.accept(")") {
			p.Fail(document.InvalidInput, "The formula %s lacks a closing parenthesis.", document.Describe(p.Value))
		}
		return inner
	}
	c := p.rest[0]
	// c | 0x20 is the lower-case letter of c.
	if letter := c | 0x20; letter >= 'a' && letter <= 'z' {
		word := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"))]
		p.rest = p.rest[len(word):]
		i := int(letter - 'a')
		if len(word) > 1 || i >= p.series {
			p.Fail(document.InvalidInput, "The formula %s has an unknown %q: series are A to %c.", document.Describe(p.Value), word, 'A'+rune(p.series-1))
			return zero
		}
		return func(s []float64) float64 { return s[i] }
	}
	digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789."))]
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		p.Fail(document.InvalidInput, "The formula %s has an unexpected %q.", document.Describe(p.Value), p.rest[:1])
		return zero
	}
	p.rest = p.rest[len(digits):]
	return func([]float64) float64 { return f }
}

// divide returns a/b, or 0 if b is 0.
func divide(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// remainder returns the remainder of a/b with the sign of b, or 0 if b is 0.
func remainder(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	m := math.Mod(a, b)
	if m != 0 && (m < 0) != (b < 0) {
		m += b
	}
	return m
}
