package insights

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// node is a value of a query's JSON, with its place. Reading a value of the wrong type records a
// fault and returns the default, and parsing continues; only the first fault of a query is
// recorded. So parsers need to check for faults only where a default would mislead them.
type node struct {
	value any // as decoded by wire.Decode; nil if null or absent
	// attr is the place in the form of Error.Attr. The fault is shared by all nodes of the query.
	attr    string
	fault   **Error
	tracker *memberTracker // records which members are read; nil: does not record
}

// decodeQuery decodes JSON for parsing. attr is the place of the document; the fault is set if
// parsing finds one.
func decodeQuery(text json.RawMessage, attr string) (node, **Error) {
	fault := new(*Error)
	n := node{value: wire.Value(text), attr: attr, fault: fault, tracker: newMemberTracker()}
	return n, fault
}

// fail records a fault at the node, unless one is recorded already.
func (n node) fail(code, format string, args ...any) {
	if *n.fault == nil {
		*n.fault = newError(code, n.attr, format, args...)
	}
}

// hasFailed reports whether parsing the query has found a fault so far.
func (n node) hasFailed() bool { return *n.fault != nil }

// isAbsent reports whether the node is null or does not exist.
func (n node) isAbsent() bool { return n.value == nil }

// get returns a member of an object. It is absent if the node is not an object.
func (n node) get(name string) node {
	m, _ := n.value.(map[string]any)
	n.tracker.track(m, n.attr, name)
	return node{value: m[name], attr: n.attr + "__" + name, fault: n.fault, tracker: n.tracker}
}

// object checks that the node is an object or absent.
func (n node) object() node {
	if _, ok := n.value.(map[string]any); !ok && n.value != nil {
		n.fail(invalidInput, "Expected an object, not %s.", describe(n.value))
		n.value = nil
	}
	return n
}

// list returns the elements of a list, which may have at most limit; nil if the node is absent.
func (n node) list(limit int) []node {
	if n.value == nil {
		return nil
	}
	l, ok := n.value.([]any)
	if !ok {
		n.fail(invalidInput, "Expected a list, not %s.", describe(n.value))
		return nil
	}
	if len(l) > limit {
		n.fail(tooLarge, "%d elements are too many: at most %d are allowed.", len(l), limit)
		return nil
	}
	out := make([]node, len(l))
	for i, v := range l {
		out[i] = node{value: v, attr: n.attr + "__" + strconv.Itoa(i), fault: n.fault, tracker: n.tracker}
	}
	return out
}

// text returns a string, or fallback if the node is absent.
func (n node) text(fallback string) string {
	switch v := n.value.(type) {
	case nil:
	case string:
		return v
	default:
		n.fail(invalidInput, "Expected a string, not %s.", describe(v))
	}
	return fallback
}

// choice returns a string that must be one of choices, or fallback if the node is absent.
func (n node) choice(fallback string, choices ...string) string {
	v := n.text(fallback)
	if n.value != nil && !n.hasFailed() && !slices.Contains(choices, v) {
		n.fail(invalidChoice, "%q is not one of %s.", wire.Shorten(v, 100), strings.Join(choices, ", "))
		return fallback
	}
	return v
}

// boolean returns a boolean; false if the node is absent.
func (n node) boolean() bool {
	switch v := n.value.(type) {
	case nil:
	case bool:
		return v
	default:
		n.fail(invalidInput, "Expected true or false, not %s.", describe(v))
	}
	return false
}

// number returns a finite number, or fallback if the node is absent.
func (n node) number(fallback float64) float64 {
	switch v := n.value.(type) {
	case nil:
		return fallback
	case json.Number:
		if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) {
			return f
		}
	}
	n.fail(invalidInput, "Expected a number, not %s.", describe(n.value))
	return fallback
}

// intInRange returns an integer from low to high inclusive, or fallback if the node is absent.
func (n node) intInRange(low, high, fallback int64) int64 {
	if n.value == nil {
		return fallback
	}
	f := n.number(float64(fallback))
	switch {
	case n.hasFailed():
	case f != math.Trunc(f):
		n.fail(invalidInput, "Expected a whole number, not %s.", describe(n.value))
	case f < float64(low) || f > float64(high):
		n.fail(invalidInput, "%s is not between %d and %d.", describe(n.value), low, high)
	default:
		return int64(f)
	}
	return fallback
}

// rejectMembers records a fault if one of the members is present, because they are recognized but
// not supported.
func (n node) rejectMembers(names ...string) {
	for _, name := range names {
		if m := n.get(name); !m.isAbsent() {
			m.fail(notSupported, "%q is not supported.", name)
		}
	}
}

// raw returns the node as JSON; nil if it is absent.
func (n node) raw() json.RawMessage {
	if n.value == nil {
		return nil
	}
	return wire.MustEncode(n.value)
}

// describe describes a JSON value in error messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return strconv.Quote(wire.Shorten(v, 100))
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return "that"
}

// optionalText returns a string, or nil if the node is absent.
func (n node) optionalText() *string {
	if n.isAbsent() {
		return nil
	}
	text := n.text("")
	return &text
}

// floatInRange returns a number, which may also be a string, between two exclusive bounds;
// otherwise fallback. It never records a fault.
func (n node) floatInRange(above, below, fallback float64) float64 {
	var f float64
	var ok bool
	switch v := n.value.(type) {
	case json.Number:
		f, ok = numberOf(v.String())
	case string:
		f, ok = numberOf(`"` + v + `"`)
	}
	if !ok || f <= above || f >= below {
		return fallback
	}
	return f
}
