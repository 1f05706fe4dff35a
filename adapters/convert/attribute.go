package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// attribute is what another system knows of a user, as a person property. Its
// methods are the conditions that every reader speaks; unless noted an attribute
// that is missing meets none of them.
type attribute struct {
	b   *builder
	src *node // what asks: the place of notes and refusals
	key string
	// textOnly: it is never anything but text, so there is nothing to mistake.
	textOnly bool
	// boolean: it is always true or false, and false when it is not sent.
	boolean bool
	// lists: one of several values in a list is enough.
	lists bool
}

// distinctID is the property that holds the id of a user (§8.1).
const distinctID = "distinct_id"

// userKey is the user's own key: the distinct id.
func (b *builder) userKey(src *node) attribute {
	return attribute{b: b, src: src, key: distinctID, textOnly: true}
}

// attribute is the one of that name. Those that the server fills in by itself
// would be there although nobody has sent them.
func (b *builder) attribute(src *node, name string) attribute {
	if name == distinctID || strings.HasPrefix(name, "$initial_") || strings.HasPrefix(name, "$geoip_") {
		src.refuse("the attribute %q has a meaning of its own here", short(name))
	}
	return attribute{b: b, src: src, key: name, lists: true}
}

// isKey reports whether it is the user's key: always there, and a text.
func (a attribute) isKey() bool { return a.key == distinctID }

// compare asks for an operator of ours. Numbers become text where that is the only form
// that the management API takes; the operators read the number in it.
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

// matches holds where a regular expression is found in the text.
func (a attribute) matches(pattern string) formula { return a.compare(flags.Regex, pattern) }

func (a attribute) isSet() formula { return a.compare(flags.IsSet, "is_set") }

// unary holds where an operator that takes no value does.
func (a attribute) unary(op flags.Operator) formula {
	return leaf(flags.Property{Key: a.key, Type: flags.PersonProperty, Operator: op})
}

// isAbsent holds where it is missing or null.
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

var blankPattern = regexp.MustCompile(`^\s*$`)

func (a attribute) isBlank() formula {
	if a.boolean {
		return never
	}
	return a.matches(blankPattern.String())
}

// order is a comparison by size.
type order struct {
	op       flags.Operator
	mirrored string // what says the same with the sides changed
	holds    func(x, n float64) bool
}

var orders = map[string]order{
	"lt": {flags.LessThan, "gt", func(x, n float64) bool { return x < n }},
	"le": {flags.LessOrEqual, "ge", func(x, n float64) bool { return x <= n }},
	"gt": {flags.GreaterThan, "lt", func(x, n float64) bool { return x > n }},
	"ge": {flags.GreaterOrEqual, "le", func(x, n float64) bool { return x >= n }},
}

// number compares a number, or a text that reads as one, with n: eq, ne, or one of
// the orders.
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

// ordered is number where it may be anything.
func (a attribute) ordered(op string, n float64) formula {
	a.noteType("attribute %q: a text that is a number counts as one here, a list never does")
	return a.number(op, n)
}

// numberValue is a number as a definition holds it.
func numberValue(n float64) any {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return int64(n)
	}
	return n
}

var anyNumber = regexp.MustCompile(`^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$`)

func parseNumber(src *node, text string) float64 {
	f, err := strconv.ParseFloat(text, 64)
	if !anyNumber.MatchString(text) || err != nil {
		src.refuse("compares with %q, which is not a number", short(text))
	}
	return f
}

// note notes what is different about it; the format has a %q for its name.
func (a attribute) note(format string) { a.b.note(a.src, fmt.Sprintf(format, short(a.key))) }

// noteTyped notes it where other values than text may be sent: their types are lost.
func (a attribute) noteTyped(format string) {
	if !a.textOnly {
		a.noteType(format)
	}
}

func (a attribute) noteType(format string) {
	a.b.noteType(a.src, fmt.Sprintf(format, short(a.key)))
}

// noteText notes that its text is compared.
func (a attribute) noteText() {
	a.noteTyped("the attribute %q is compared as text: answers differ where it is a number, a boolean, a list or an object")
}

// noteSame notes that a number or boolean and its text are one.
func (a attribute) noteSame() {
	a.noteTyped("attribute %q: a number or boolean and its text are the same here")
}

// noteNumber notes that texts count as the numbers that they are.
func (a attribute) noteNumber() {
	a.noteTyped(`answers differ where the attribute %q is a text that reads as a number, such as "5"`)
}

// noteBoolean notes that texts count as the booleans that they read as.
func (a attribute) noteBoolean() {
	a.noteTyped(`answers differ where the attribute %q is the text "true" or "false" instead of a boolean`)
}

// noteTexts notes it where one of the texts is also that of another value.
func (a attribute) noteTexts(texts ...string) {
	if slices.ContainsFunc(texts, looksTyped) {
		a.noteText()
	}
}

// looksTyped reports whether a text is that of a JSON value, and one with it for
// our operators.
func looksTyped(text string) bool {
	var v any
	if json.Unmarshal([]byte(strings.ToLower(text)), &v) != nil {
		return false
	}
	_, isText := v.(string)
	return !isText
}
