package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"sort"
	"strconv"
	"strings"
)

// node is a place in a JSON document: reading a definition goes down a chain
// of nodes, so that a fault can name its place without cost when there is none.
type node struct {
	value  any
	parent *node
	name   string // member of an object
	index  int    // element of an array when name is empty
}

func (n *node) at(name string) *node {
	obj, _ := n.value.(map[string]any)
	return &node{value: obj[name], parent: n, name: name}
}

func (n *node) item(i int, v any) *node { return &node{value: v, parent: n, index: i} }

func (n *node) has(name string) bool {
	obj, _ := n.value.(map[string]any)
	_, ok := obj[name]
	return ok
}

// path writes the place as "projects[0].flags[3].key".
func (n *node) path() string {
	if n == nil || n.parent == nil && n.name == "" {
		return ""
	}
	up := n.parent.path()
	switch {
	case n.name == "":
		return up + "[" + strconv.Itoa(n.index) + "]"
	case up == "":
		return n.name
	}
	return up + "." + n.name
}

// fault is a problem at a place. Reading helpers panic with it and read
// recovers, which keeps the readers straight lines.
type fault struct {
	at      *node
	problem string
	err     *DefinitionError // complete, instead of the two
}

func (n *node) fail(format string, args ...any) {
	at := *n // so that n, which most often does not fail, need not be on the heap
	panic(fault{at: &at, problem: fmt.Sprintf(format, args...)})
}

// read runs f and returns the fault that it stopped at, nil for none.
func read(f func()) (err *DefinitionError) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			if err = r.err; err != nil {
				return
			}
			err = &DefinitionError{Path: r.at.path(), Problem: r.problem}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

func (n *node) want(what string) { n.fail("must be %s, not %s", what, kindOf(n.value)) }

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null or absent"
	case bool:
		return "a boolean"
	case json.Number:
		return "the number " + string(v)
	case string:
		return "the text " + quote(v)
	case []any:
		return "an array"
	}
	return "an object"
}

func (n *node) object() map[string]any {
	obj, ok := n.value.(map[string]any)
	if !ok {
		n.want("an object")
	}
	return obj
}

// list returns the elements of an array; null and absent are empty.
func (n *node) list() []any {
	if n.value == nil {
		return nil
	}
	list, ok := n.value.([]any)
	if !ok {
		n.want("an array")
	}
	return list
}

func (n *node) text() string {
	s, ok := n.value.(string)
	if !ok {
		n.want("text")
	}
	return s
}

// textOr is text where null and absent are allowed and empty.
func (n *node) textOr() string {
	if n.value == nil {
		return ""
	}
	return n.text()
}

func (n *node) texts() []string {
	list := n.list()
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = n.item(i, v).text()
	}
	return out
}

// bool reads a boolean; null and absent are false.
func (n *node) bool() bool {
	if n.value == nil {
		return false
	}
	b, ok := n.value.(bool)
	if !ok {
		n.want("true or false")
	}
	return b
}

func (n *node) int() int64 {
	if num, ok := n.value.(json.Number); ok {
		if i, ok := wholeNumber(num); ok {
			return i
		}
	}
	n.want("a whole number")
	return 0
}

// wholeNumber accepts 3 and 3.0.
func wholeNumber(num json.Number) (int64, bool) {
	if i, err := strconv.ParseInt(string(num), 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(string(num), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func (n *node) ints() []int64 {
	list := n.list()
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = n.item(i, v).int()
	}
	return out
}

func (n *node) intOr() int64 {
	if n.value == nil {
		return 0
	}
	return n.int()
}

// groupIndex reads an optional group type index.
func (n *node) groupIndex() *int {
	if n.value == nil {
		return nil
	}
	i := n.int()
	if i < 0 || i > 255 {
		n.fail("a group type index is between 0 and 255, not %d", i)
	}
	g := int(i)
	return &g
}

func (n *node) percentage() float64 {
	num, ok := n.value.(json.Number)
	if !ok {
		n.want("a percentage")
	}
	f, err := strconv.ParseFloat(string(num), 64)
	if err != nil {
		n.fail("%s is out of range for a percentage", num)
	}
	return f
}

// DecodeJSON reads one JSON document as definitions are read: numbers stay
// json.Number, and an error gives line and column.
func DecodeJSON(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors write it first
	if len(data) >= longDocument {
		if v, err := readPieces(data); err == nil {
			return v, nil
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		end := dec.InputOffset()
		if rest := bytes.TrimLeft(data[end:], " \t\r\n"); len(rest) > 0 {
			return nil, fmt.Errorf("%s: text after the end of the JSON document", position(data, int64(len(data)-len(rest)+1)))
		}
		return v, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("%s: %s", position(data, syntax.Offset), strings.TrimPrefix(syntax.Error(), "json: "))
	case len(bytes.TrimSpace(data)) == 0:
		return nil, errors.New("the document is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: the document ends in the middle", position(data, int64(len(data))))
	}
	return nil, err
}

func position(data []byte, offset int64) string {
	offset = min(offset, int64(len(data)))
	before := data[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := int(offset) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d column %d", line, max(column, 1))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func cloneMap(m map[string]any) map[string]any {
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	return out
}
