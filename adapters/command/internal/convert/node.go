package convert

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/wire"
)

// node is a value of a document with its position. Values are nil, bool, json.Number, string, []any
// and map[string]any.
type node struct {
	value  any
	parent *node
	name   string // member of an object
	index  int    // element of an array, if name is empty
}

func (n *node) get(name string) *node {
	obj, _ := n.value.(map[string]any)
	return &node{value: obj[name], parent: n, name: name}
}

func (n *node) has(name string) bool {
	obj, _ := n.value.(map[string]any)
	_, ok := obj[name]
	return ok
}

// path formats the position, for example flags[3].rules[0].
func (n *node) path() string { return n.pathFrom(nil) }

// pathFrom formats the position relative to another node.
func (n *node) pathFrom(top *node) string {
	if n == nil || n == top || n.parent == nil {
		return ""
	}
	up := n.parent.pathFrom(top)
	switch {
	case n.name == "":
		return up + "[" + strconv.Itoa(n.index) + "]"
	case up == "":
		return n.name
	}
	return up + "." + n.name
}

// refusal is the reason why a part of a document cannot be converted. Readers panic with it, and
// catchRefusal recovers it, which keeps readers free of error handling.
type refusal struct {
	src    *node
	reason string
}

func (r *refusal) Error() string {
	if path := r.src.path(); path != "" {
		return path + ": " + r.reason
	}
	return r.reason
}

// refuse aborts the reading of a flag, which is then left out.
func (n *node) refuse(format string, args ...any) {
	panic(&refusal{n, fmt.Sprintf(format, args...)})
}

// catchRefusal runs f and returns its refusal, or nil if there was none.
func catchRefusal(f func()) (r *refusal) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case *refusal:
			r = v
		default:
			panic(v)
		}
	}()
	f()
	return nil
}

// kindOf describes the type of a value for a reason.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null or absent"
	case bool:
		return "a boolean"
	case json.Number:
		return "the number " + short(string(v))
	case string:
		return "the text " + strconv.Quote(short(v))
	case []any:
		return "a list"
	}
	return "an object"
}

// short cuts text that is quoted in a reason.
func short(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}

func (n *node) want(what string) { n.refuse("must be %s, not %s", what, kindOf(n.value)) }

// as returns the value as a T. It refuses other types; what describes the expected type.
func as[T any](n *node, what string) T {
	v, ok := n.value.(T)
	if !ok {
		n.want(what)
	}
	return v
}

// asOr is as, but returns absent if the value is nil.
func asOr[T any](n *node, what string, absent T) T {
	if n.value == nil {
		return absent
	}
	return as[T](n, what)
}

// object returns the value as an object, or nil if it is absent.
func (n *node) object() map[string]any { return asOr[map[string]any](n, "an object", nil) }

// textOr returns the string, or "" if it is absent.
func (n *node) textOr() string { return asOr(n, "text", "") }

func (n *node) text() string { return as[string](n, "text") }

// boolOr returns the boolean, or absent if it is absent.
func (n *node) boolOr(absent bool) bool { return asOr(n, "true or false", absent) }

// members returns the members of an object, sorted by name.
func (n *node) members() []*node {
	obj := n.object()
	out := make([]*node, 0, len(obj))
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		out = append(out, n.get(name))
	}
	return out
}

// items returns the elements of a list, or none if it is absent.
func (n *node) items() []*node {
	list := asOr[[]any](n, "a list", nil)
	out := make([]*node, len(list))
	for i := range list {
		out[i] = &node{value: list[i], parent: n, index: i}
	}
	return out
}

func (n *node) number() float64 {
	f, err := as[json.Number](n, "a number").Float64()
	if err != nil {
		n.want("a number that a double can hold")
	}
	return f
}

// numberOr returns the number, or absent if it is absent.
func (n *node) numberOr(absent float64) float64 {
	if n.value == nil {
		return absent
	}
	return n.number()
}

func (n *node) texts() []string {
	var out []string
	for _, item := range n.items() {
		out = append(out, item.text())
	}
	return out
}

// json returns the value as compact JSON.
func (n *node) json() json.RawMessage { return wire.MustEncode(n.value) }
