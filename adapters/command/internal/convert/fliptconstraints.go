package convert

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// fliptConstraints are the readers of constraints by type.
var fliptConstraints = map[string]func(r *fliptReader, c *node, a attribute, op string) formula{
	"STRING_COMPARISON_TYPE":    (*fliptReader).text,
	"ENTITY_ID_COMPARISON_TYPE": (*fliptReader).text,
	"NUMBER_COMPARISON_TYPE":    (*fliptReader).number,
	"BOOLEAN_COMPARISON_TYPE":   (*fliptReader).truth,
	"DATETIME_COMPARISON_TYPE":  (*fliptReader).date,
}

// constraint converts one constraint of a segment. The operators for presence are the same for all
// types, up to their names.
func (r *fliptReader) constraint(c *node) formula {
	c.onlyMembers("type", "property", "operator", "value", "description")
	if r.size++; r.size > maxLeaves {
		c.refuse("the flag has more than %d constraints", maxLeaves)
	}
	kind := c.get("type").text()
	read := fliptConstraints[kind]
	if read == nil {
		c.get("type").refuse("is an unknown type of constraint")
	}
	a := r.b.userKey(c)
	if kind != "ENTITY_ID_COMPARISON_TYPE" {
		a = r.b.attribute(c, c.get("property").text())
		a.textOnly, a.lists = true, false // values of a context are always strings
	}
	op := c.get("operator").text()
	isText := kind == "STRING_COMPARISON_TYPE" || kind == "ENTITY_ID_COMPARISON_TYPE"
	switch {
	case isText && op == "empty", !isText && op == "notpresent":
		return not(a.isFilled())
	case isText && op == "notempty", !isText && op == "present":
		return a.isFilled()
	}
	return read(r, c, a, op)
}

// white is the inside of a character class for what Go's strings.TrimSpace removes.
const white = `\t-\r\x{85}\p{Z}`

// isFilled is true if the text contains more than white space.
func (a attribute) isFilled() formula { return a.matches(`[^` + white + `]`) }

// isNonEmpty is true if the text is not empty; an empty text equals a missing one.
func (a attribute) isNonEmpty() formula { return a.matches(`(?s:.)`) }

// fliptValue returns the operand as Flipt stores it, as text.
func fliptValue(n *node) string {
	switch v := n.value.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return strconv.FormatFloat(n.number(), 'f', -1, 64)
	case []any:
		return string(n.json())
	}
	return n.text()
}

// fliptList returns the operand as a list. It is a list, or the JSON text of one.
func fliptList(n *node) []*node {
	if text, isText := n.value.(string); isText {
		v, err := flags.DecodeJSON([]byte(text))
		if err != nil || depthOf(v) > 1 {
			n.refuse("must be a list")
		}
		return (&node{value: v, parent: n.parent, name: n.name}).items()
	}
	return n.items()
}

// text converts a comparison of strings. An empty attribute equals a missing one, and matches no
// operator, including the negated ones.
func (r *fliptReader) text(c *node, a attribute, op string) formula {
	value := fliptValue(c.get("value"))
	is := func(values ...*node) formula {
		for _, v := range values {
			v.value = fliptValue(v)
		}
		values = slices.DeleteFunc(values, func(v *node) bool { return v.value == "" })
		return a.in(values, false)
	}
	trimmed, quoted := strings.TrimSpace(value), regexp.QuoteMeta(value)
	if len(value) > maxPiece && op != "isoneof" && op != "isnotoneof" {
		c.refuse("has a value longer than %d bytes", maxPiece)
	}
	switch op {
	case "eq":
		return is(&node{value: value})
	case "neq":
		return allOf(a.isNonEmpty(), not(is(&node{value: value})))
	case "isoneof":
		return is(fliptList(c.get("value"))...)
	case "isnotoneof":
		return allOf(a.isNonEmpty(), not(is(fliptList(c.get("value"))...)))
	case "contains":
		return allOf(a.isNonEmpty(), a.hasInAny(contains, value))
	case "notcontains":
		return allOf(a.isNonEmpty(), not(a.hasInAny(contains, value)))
	case "prefix", "suffix":
		if value == "" {
			return a.isNonEmpty()
		}
		if trimmed == "" {
			return never
		}
	}
	// White space around the attribute is ignored, but not that of the operand.
	switch op {
	case "prefix":
		switch {
		case !strings.HasPrefix(value, trimmed):
			return never
		case value != trimmed:
			return a.matches(`\A[` + white + `]*` + quoted + `(?s:.*)[^` + white + `]`)
		}
		return a.matches(`\A[` + white + `]*` + quoted)
	case "suffix":
		switch {
		case !strings.HasSuffix(value, trimmed):
			return never
		case value != trimmed:
			return a.matches(`[^` + white + `](?s:.*)` + quoted + `[` + white + `]*\z`)
		}
		return a.matches(quoted + `[` + white + `]*\z`)
	}
	return unknownFlipt(c)
}

// unknownFlipt refuses an operator that the type of a constraint does not support.
func unknownFlipt(c *node) formula {
	c.get("operator").refuse("%q is an unknown operator of a %s", short(c.get("operator").text()), short(c.get("type").text()))
	return never
}

// number converts a comparison of numbers. An attribute that is not a number matches no operator,
// including the negated ones.
func (r *fliptReader) number(c *node, a attribute, op string) formula {
	value := c.get("value")
	parse := func(n *node) float64 {
		f, err := strconv.ParseFloat(fliptValue(n), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			n.refuse("is not a number")
		}
		return f
	}
	a.note("attribute %q: texts such as 1_000, 0x10 and NaN are not numbers here")
	switch op {
	case "eq", "lt", "gt":
		return a.number(op, parse(value))
	case "lte", "gte":
		return a.number(op[:1]+"e", parse(value))
	case "neq":
		n := parse(value)
		return anyOf(a.number("gt", n), a.number("lt", n))
	case "isoneof", "isnotoneof":
		list := fliptList(value)
		if len(list) > maxValues {
			value.refuse("lists more than %d values", maxValues)
		}
		found := anyOf(mapFormulas(list, func(v *node) formula { return a.number("eq", v.number()) })...)
		if op == "isoneof" {
			return found
		}
		return allOf(anyOf(a.number("ge", 0), a.number("lt", 0)), not(found))
	}
	return unknownFlipt(c)
}

func (r *fliptReader) truth(c *node, a attribute, op string) formula {
	switch op {
	case "true":
		return a.matches(`\A(?:1|t|T|TRUE|true|True)\z`)
	case "false":
		return a.matches(`\A(?:0|f|F|FALSE|false|False)\z`)
	}
	return unknownFlipt(c)
}

// dateForm matches the dates that Flipt parses: RFC 3339, or a day.
const dateForm = `\A\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?:T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d))?\z`

// date converts a comparison of dates. An attribute that is not a date matches no operator.
func (r *fliptReader) date(c *node, a attribute, op string) formula {
	value := fliptValue(c.get("value"))
	if _, err := time.Parse(time.RFC3339, value); err != nil {
		if _, err := time.Parse(time.DateOnly, value); err != nil {
			return never
		}
	}
	valid := a.matches(dateForm)
	equal := allOf(valid, a.compare(flags.IsDateExact, value))
	before := allOf(valid, a.compare(flags.IsDateBefore, value))
	after := allOf(valid, a.compare(flags.IsDateAfter, value))
	f, comparisons := map[string]formula{
		"eq": equal, "neq": anyOf(before, after), "lt": before, "lte": anyOf(before, equal), "gt": after, "gte": anyOf(after, equal),
	}[op]
	if !comparisons {
		return unknownFlipt(c)
	}
	return f
}
