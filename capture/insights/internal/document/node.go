package document

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Node is a value of a query's JSON, with its place. Reading a value of the wrong type records a
// fault and returns the default, and parsing continues; only the first fault of a query is
// recorded. So parsers need to check for faults only where a default would mislead them.
type Node struct {
	Value any // as decoded by wire.Decode; nil if null or absent
	// Attr is the place in the form of Error.Attr. The fault is shared by all nodes of the query.
	Attr    string
	Fault   **port.Error
	Tracker *Tracker // records which members are read; nil: does not record
}

// Decode decodes JSON for parsing. attr is the place of the document; the fault is set if
// parsing finds one.
func Decode(text json.RawMessage, attr string) (Node, **port.Error) {
	fault := new(*port.Error)
	n := Node{Value: wire.Value(text), Attr: attr, Fault: fault, Tracker: newMemberTracker()}
	return n, fault
}

// Fail records a fault at the node, unless one is recorded already.
func (n Node) Fail(code, format string, args ...any) {
	if *n.Fault == nil {
		*n.Fault = NewFault(code, n.Attr, format, args...)
	}
}

// HasFailed reports whether parsing the query has found a fault so far.
func (n Node) HasFailed() bool { return *n.Fault != nil }

// IsAbsent reports whether the node is null or does not exist.
func (n Node) IsAbsent() bool { return n.Value == nil }

// Get returns a member of an object. It is absent if the node is not an object.
func (n Node) Get(name string) Node {
	m, _ := n.Value.(map[string]any)
	n.Tracker.track(m, n.Attr, name)
	return Node{Value: m[name], Attr: n.Attr + "__" + name, Fault: n.Fault, Tracker: n.Tracker}
}

// Object checks that the node is an object or absent.
func (n Node) Object() Node {
	if _, ok := n.Value.(map[string]any); !ok && n.Value != nil {
		n.Fail(InvalidInput, "Expected an object, not %s.", Describe(n.Value))
		n.Value = nil
	}
	return n
}

// List returns the elements of a list, which may have at most limit; nil if the node is absent.
func (n Node) List(limit int) []Node {
	if n.Value == nil {
		return nil
	}
	l, ok := n.Value.([]any)
	if !ok {
		n.Fail(InvalidInput, "Expected a list, not %s.", Describe(n.Value))
		return nil
	}
	if len(l) > limit {
		n.Fail(TooLarge, "%d elements are too many: at most %d are allowed.", len(l), limit)
		return nil
	}
	out := make([]Node, len(l))
	for i, v := range l {
		out[i] = Node{Value: v, Attr: n.Attr + "__" + strconv.Itoa(i), Fault: n.Fault, Tracker: n.Tracker}
	}
	return out
}

// Text returns a string, or fallback if the node is absent.
func (n Node) Text(fallback string) string {
	switch v := n.Value.(type) {
	case nil:
	case string:
		return v
	default:
		n.Fail(InvalidInput, "Expected a string, not %s.", Describe(v))
	}
	return fallback
}

// Choice returns a string that must be one of choices, or fallback if the node is absent.
func (n Node) Choice(fallback string, choices ...string) string {
	v := n.Text(fallback)
	if n.Value != nil && !n.HasFailed() && !slices.Contains(choices, v) {
		n.Fail(InvalidChoice, "%q is not one of %s.", wire.Shorten(v, 100), strings.Join(choices, ", "))
		return fallback
	}
	return v
}

// Boolean returns a boolean; false if the node is absent.
func (n Node) Boolean() bool {
	switch v := n.Value.(type) {
	case nil:
	case bool:
		return v
	default:
		n.Fail(InvalidInput, "Expected true or false, not %s.", Describe(v))
	}
	return false
}

// Number returns a finite number, or fallback if the node is absent.
func (n Node) Number(fallback float64) float64 {
	switch v := n.Value.(type) {
	case nil:
		return fallback
	case json.Number:
		if f, err := v.Float64(); err == nil && !math.IsInf(f, 0) {
			return f
		}
	}
	n.Fail(InvalidInput, "Expected a number, not %s.", Describe(n.Value))
	return fallback
}

// IntInRange returns an integer from low to high inclusive, or fallback if the node is absent.
func (n Node) IntInRange(low, high, fallback int64) int64 {
	if n.Value == nil {
		return fallback
	}
	f := n.Number(float64(fallback))
	switch {
	case n.HasFailed():
	case f != math.Trunc(f):
		n.Fail(InvalidInput, "Expected a whole number, not %s.", Describe(n.Value))
	case f < float64(low) || f > float64(high):
		n.Fail(InvalidInput, "%s is not between %d and %d.", Describe(n.Value), low, high)
	default:
		return int64(f)
	}
	return fallback
}

// RejectMembers records a fault if one of the members is present, because they are recognized but
// not supported.
func (n Node) RejectMembers(names ...string) {
	for _, name := range names {
		if m := n.Get(name); !m.IsAbsent() {
			m.Fail(NotSupported, "%q is not supported.", name)
		}
	}
}

// Raw returns the node as JSON; nil if it is absent.
func (n Node) Raw() json.RawMessage {
	if n.Value == nil {
		return nil
	}
	return wire.MustEncode(n.Value)
}

// Describe describes a JSON value in error messages.
func Describe(v any) string {
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

// OptionalText returns a string, or nil if the node is absent.
func (n Node) OptionalText() *string {
	if n.IsAbsent() {
		return nil
	}
	text := n.Text("")
	return &text
}

// FloatInRange returns a number, which may also be a string, between two exclusive bounds;
// otherwise fallback. It never records a fault.
func (n Node) FloatInRange(above, below, fallback float64) float64 {
	var f float64
	var ok bool
	switch v := n.Value.(type) {
	case json.Number:
		f, ok = NumberOf(v.String())
	case string:
		f, ok = NumberOf(`"` + v + `"`)
	}
	if !ok || f <= above || f >= below {
		return fallback
	}
	return f
}

// Codes of errors (§1.7).
const (
	InvalidInput  = "invalid_input"
	InvalidChoice = "invalid_choice"
	Required      = "required"
	NotSupported  = "not_supported"
	TooLarge      = "query_too_large"
)

// NewFault returns an error whose detail is formatted as by fmt.Sprintf.
func NewFault(code, attr, format string, args ...any) *port.Error {
	return &port.Error{Code: code, Attr: attr, Detail: fmt.Sprintf(format, args...)}
}

// MaxBytes is the maximum size of a query's JSON (§1.3).
const MaxBytes = 256 << 10

// wrappers are the kinds of queries that only define how their source is displayed (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

// Unwrap returns the query inside of up to ten wrappers.
func Unwrap(n Node) Node {
	for range 10 {
		kind, _ := n.Get("kind").Value.(string)
		if !slices.Contains(wrappers, kind) {
			break
		}
		attr := n.Attr
		if n.Get("source").IsAbsent() {
			n.Get("source").Fail(Required, "This field is required.")
			return n
		}
		n = n.Get("source").Object()
		n.Attr = attr // places in errors are relative to the inner query
	}
	return n
}
