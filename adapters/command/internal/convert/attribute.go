package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// attribute is an attribute of a user in another system, which becomes a person property. Its
// methods return the conditions that all readers use. Unless noted, a missing attribute meets none
// of them.
type attribute struct {
	b   *builder
	src *node // the source of the condition: the position of notes and refusals
	key string
	// textOnly: it is always a string, so that its type cannot be confused.
	textOnly bool
	// boolean: it is always true or false, and false if it is not sent.
	boolean bool
	// lists: if it is a list, one matching element is sufficient.
	lists bool
}

// distinctID is the property with the id of a user (§8.1).
const distinctID = "distinct_id"

// userKey is the user's own key, which becomes the distinct id.
func (b *builder) userKey(src *node) attribute {
	return attribute{b: b, src: src, key: distinctID, textOnly: true}
}

// attribute returns the attribute with a name. It refuses names that the server fills in itself,
// since these would exist although no client has sent them.
func (b *builder) attribute(src *node, name string) attribute {
	if name == distinctID || strings.HasPrefix(name, "$initial_") || strings.HasPrefix(name, "$geoip_") {
		src.refuse("the attribute %q is reserved here", short(name))
	}
	return attribute{b: b, src: src, key: name, lists: true}
}

// isKey reports whether a is the user's key, which always exists and is a string.
func (a attribute) isKey() bool { return a.key == distinctID }

// compare returns a condition with one of our operators. Numbers become strings for operators for
// which the management API accepts only strings; such operators parse the number.
func (a attribute) compare(op flags.Operator, value any) formula {
	if info, _ := op.Info(); info.Operand == flags.TextOperand {
		switch n := value.(type) {
		case int64:
			value = strconv.FormatInt(n, 10)
		case float64:
			value = strconv.FormatFloat(n, 'g', -1, 64)
		}
	}
	return leaf(flags.Property{Key: a.key, Type: flags.PersonProperty, Operator: op, Value: value, HasValue: true})
}

// matches is true if a regular expression matches part of the text.
func (a attribute) matches(pattern string) formula { return a.compare(flags.Regex, pattern) }

func (a attribute) isSet() formula { return a.compare(flags.IsSet, "is_set") }

// unary is true if an operator without an operand is true.
func (a attribute) unary(op flags.Operator) formula {
	return leaf(flags.Property{Key: a.key, Type: flags.PersonProperty, Operator: op})
}

// isAbsent is true if the attribute is missing or null.
func (a attribute) isAbsent() formula {
	if a.isKey() || a.boolean {
		return never
	}
	return anyOf(a.compare(flags.Exact, "null"), a.unary(flags.IsNotSet))
}

func (a attribute) isTrue() formula {
	if a.isKey() {
		return never
	}
	return a.matches(`^true$`)
}

func (a attribute) isFalse() formula {
	switch {
	case a.isKey():
		return never
	case a.boolean:
		return not(a.isTrue())
	}
	return a.matches(`^false$`)
}

var blankPattern = lazy(`^\s*$`)

func (a attribute) isBlank() formula {
	if a.boolean {
		return never
	}
	return a.matches(blankPattern().String())
}

// order is a comparison by size.
type order struct {
	op       flags.Operator
	mirrored string // the equivalent operator with exchanged operands
	holds    func(x, n float64) bool
}

var orders = map[string]order{
	"lt": {flags.LessThan, "gt", func(x, n float64) bool { return x < n }},
	"le": {flags.LessOrEqual, "ge", func(x, n float64) bool { return x <= n }},
	"gt": {flags.GreaterThan, "lt", func(x, n float64) bool { return x > n }},
	"ge": {flags.GreaterOrEqual, "le", func(x, n float64) bool { return x >= n }},
}

// number compares a number, or a string that can be parsed as one, with n. op is eq, ne, or a key
// of orders.
func (a attribute) number(op string, n float64) formula {
	v := numberValue(n)
	switch op {
	case "eq":
		return a.compare(flags.Between, []any{v, v})
	case "ne":
		return anyOf(a.number("lt", n), a.number("gt", n))
	}
	return a.compare(orders[op].op, v)
}

// ordered is number for an attribute of any type.
func (a attribute) ordered(op string, n float64) formula {
	a.noteType("attribute %q: a text that is a number counts as a number here, a list never does")
	return a.number(op, n)
}

// numberValue returns a number as it is stored in definitions.
func numberValue(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

var anyNumber = lazy(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

func parseNumber(src *node, text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if !anyNumber().MatchString(text) || err != nil {
		src.refuse("compares with %q, which is not a number", short(text))
	}
	return f
}

// note notes a difference of the attribute. format contains a %q for its name.
func (a attribute) note(format string) { a.b.note(a.src, fmt.Sprintf(format, short(a.key))) }

// noteTyped notes a lost type, unless the attribute is always a string.
func (a attribute) noteTyped(format string) {
	if !a.textOnly {
		a.noteType(format)
	}
}

func (a attribute) noteType(format string) {
	a.b.noteType(a.src, fmt.Sprintf(format, short(a.key)))
}

// noteText notes that the attribute is compared as a string.
func (a attribute) noteText() {
	a.noteTyped("the attribute %q is compared as text: answers differ where it is a number, a boolean, a list or an object")
}

// noteSame notes that a number or boolean equals its text.
func (a attribute) noteSame() {
	a.noteTyped("attribute %q: a number or boolean and its text are the same here")
}

// noteNumber notes that strings count as the numbers that they contain.
func (a attribute) noteNumber() {
	a.noteTyped(`answers differ where the attribute %q is a text that reads as a number, such as "5"`)
}

// noteBoolean notes that strings count as the booleans that they contain.
func (a attribute) noteBoolean() {
	a.noteTyped(`answers differ where the attribute %q is the text "true" or "false" instead of a boolean`)
}

// noteTexts notes a lost type if one of the strings is also the text of another JSON value.
func (a attribute) noteTexts(texts ...string) {
	if slices.ContainsFunc(texts, looksTyped) {
		a.noteText()
	}
}

// looksTyped reports whether a string is the text of another JSON value, which our operators cannot
// distinguish from it.
func looksTyped(text string) bool {
	var v any
	if json.Unmarshal([]byte(strings.ToLower(text)), &v) != nil {
		return false
	}
	_, isText := v.(string)
	return !isText
}
