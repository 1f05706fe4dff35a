package insights

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// node is a value of a query's JSON and where it stands. Reading one that is not
// as expected notes the first fault of the query; what is read then is the
// default, and the reader goes on.
type node struct {
	value   any // as wire.Decode has it, nil for null and absent
	attr    string
	fault   **Error
	tracker *memberTracker // nil: nobody asks which members are looked for
}

// decodeQuery begins to read a query.
func decodeQuery(text json.RawMessage, attr string) (node, **Error) {
	fault := new(*Error)
	n := node{value: wire.Value(text), attr: attr, fault: fault, tracker: newMemberTracker()}
	return n, fault
}

// fail notes a fault at the node, unless there is one already.
func (n node) fail(code, format string, args ...any) {
	if *n.fault == nil {
		*n.fault = newError(code, n.attr, format, args...)
	}
}

func (n node) hasFailed() bool { return *n.fault != nil }

// isAbsent says whether the node is null or not there.
func (n node) isAbsent() bool { return n.value == nil }

// get is a member of an object; absent when the node is none.
func (n node) get(name string) node {
	m, _ := n.value.(map[string]any)
	n.tracker.track(m, n.attr, name)
	return node{value: m[name], attr: n.attr + "__" + name, fault: n.fault, tracker: n.tracker}
}

// object wants an object or nothing.
func (n node) object() node {
	if _, ok := n.value.(map[string]any); !ok && n.value != nil {
		n.fail(invalidInput, "Expected an object, not %s.", describe(n.value))
		n.value = nil
	}
	return n
}

// list wants a list of at most so many elements, or nothing.
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
		n.fail(tooLarge, "%d elements are more than the %d that are allowed.", len(l), limit)
		return nil
	}
	out := make([]node, len(l))
	for i, v := range l {
		out[i] = node{value: v, attr: n.attr + "__" + strconv.Itoa(i), fault: n.fault, tracker: n.tracker}
	}
	return out
}

// text wants a text or nothing, for which it gives the default.
func (n node) text(fallback string) string {
	switch v := n.value.(type) {
	case nil:
	case string:
		return v
	default:
		n.fail(invalidInput, "Expected a text, not %s.", describe(v))
	}
	return fallback
}

// choice wants one of some texts or nothing, for which it gives the default.
func (n node) choice(fallback string, choices ...string) string {
	v := n.text(fallback)
	if n.value != nil && !n.hasFailed() && !slices.Contains(choices, v) {
		n.fail(invalidChoice, "%q is not one of %s.", wire.Shorten(v, 100), strings.Join(choices, ", "))
		return fallback
	}
	return v
}

// boolean wants true, false or nothing, which is false.
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

// number wants a number or nothing.
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

// intInRange wants a whole number between two bounds, or nothing.
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

// rejectMembers fails when a member that is known but not done is there.
func (n node) rejectMembers(names ...string) {
	for _, name := range names {
		if m := n.get(name); !m.isAbsent() {
			m.fail(notSupported, "%q is not supported.", name)
		}
	}
}

// raw is the JSON text of the node.
func (n node) raw() json.RawMessage {
	if n.value == nil {
		return nil
	}
	return wire.MustEncode(n.value)
}

// describe names a JSON value for people.
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
