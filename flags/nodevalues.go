package flags

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file reads values from nodes. Functions that expect another kind of value stop with a
// fault.

// elements iterates over the elements of an array.
type elements struct {
	node      // the current element
	index int // index of the current element
	in    node
}

// list returns an iterator before the first element of an array. Null and absent are empty
// arrays.
func (n node) list() elements {
	if !n.null() && n.kind() != tape.List {
		n.failExpected("an array")
	}
	return elements{node: node{t: n.t, i: -1}, index: -1, in: n}
}

// next advances to the next element and reports whether there is one.
func (e *elements) next() bool {
	if e.i < 0 {
		e.i = e.in.i + 1
	} else {
		e.i = e.end()
	}
	e.index++
	return e.in.i >= 0 && e.i < e.in.end()
}

// count returns the number of elements of an array, and 0 for other values.
func (n node) count() int {
	if n.kind() != tape.List {
		return 0
	}
	return int(n.t.Cells[n.i].Count)
}

// empty reports whether the value is an array without elements, null or absent.
func (n node) empty() bool {
	list := n.list()
	return !list.next()
}

// first returns the first element of a non-empty array.
func (n node) first() node { return n.cell(n.i + 1) }

// isText reports whether the value is a string.
func (n node) isText() bool {
	kind := n.kind()
	return kind == tape.Text || kind == tape.Escaped
}

// text returns a string.
func (n node) text() string {
	if !n.isText() {
		n.failExpected("text")
	}
	return n.t.pool(n.t.Text(n.i))
}

// maxPooled is the maximum length of a string that is pooled, and poolBytes the size of one
// block of the pool.
const maxPooled, poolBytes = 64, 1 << 14

// pool copies a short string of a long document to a block with the strings read before. A
// later pass over all flags then finds their keys next to each other instead of spread over
// the document's memory pages.
func (t *jsonText) pool(text string) string {
	if len(t.Src) < poolBytes || len(text) > maxPooled {
		return text
	}
	if t.texts == nil || t.texts.Len()+len(text) > t.texts.Cap() {
		t.texts = new(strings.Builder)
		t.texts.Grow(poolBytes)
	}
	from := t.texts.Len()
	t.texts.WriteString(text)
	return t.texts.String()[from:]
}

// textOrEmpty returns a string, empty for null and absent.
func (n node) textOrEmpty() string {
	if n.null() {
		return ""
	}
	return n.text()
}

// word is textOrEmpty for strings that mostly are operators or property types. For these it
// returns a shared string instead of a copy.
func (n node) word() string {
	if n.kind() == tape.Text {
		if number := schemaWords.Number(n.t.Text(n.i)); number != 0 {
			return schemaWords.Text(number)
		}
	}
	return n.textOrEmpty()
}

// schemaWords numbers the property types and operators.
var schemaWords = func() *tape.Names {
	words := []string{string(PersonProperty), string(GroupProperty), string(CohortProperty), string(FlagProperty), string(PersonMetadata)}
	for operator := range operators {
		words = append(words, string(operator))
	}
	return tape.NewNames(words...)
}()

// texts returns a list of strings, nil for null and absent.
func (n node) texts() []string {
	list := n.list()
	if n.null() {
		return nil
	}
	out := make([]string, 0, n.count())
	for list.next() {
		out = append(out, list.text())
	}
	return out
}

// bool returns a boolean, false for null and absent.
func (n node) bool() bool {
	switch n.kind() {
	case tape.True:
		return true
	case tape.Null, tape.False:
	default:
		n.failExpected("true or false")
	}
	return false
}

// int returns an integer.
func (n node) int() int64 {
	if n.kind() == tape.Number {
		if i, ok := values.ParseInteger(n.t.Raw(n.i)); ok {
			return i
		}
	}
	n.failExpected("a whole number")
	return 0
}

// ints returns a list of integers, empty for null and absent.
func (n node) ints() []int64 {
	list := n.list()
	out := make([]int64, 0, n.count())
	for list.next() {
		out = append(out, list.int())
	}
	return out
}

func (n node) intOrZero() int64 {
	if n.null() {
		return 0
	}
	return n.int()
}

// groupIndex returns an optional index of a group type, nil for null and absent.
func (n node) groupIndex() *int {
	if n.null() {
		return nil
	}
	i := n.int()
	if i < 0 || i > 255 {
		n.fail("a group type index must be between 0 and 255, not %d", i)
	}
	g := int(i)
	return &g
}

// percentage returns a number, which is not limited to 0 to 100.
func (n node) percentage() float64 {
	if n.kind() != tape.Number {
		n.failExpected("a percentage")
	}
	f, err := strconv.ParseFloat(n.t.Raw(n.i), 64)
	if err != nil {
		n.fail("%s is out of range for a percentage", n.t.Raw(n.i))
	}
	return f
}

// maxBoxed limits the number of cached property values of a document, maxBoxedBytes the
// length of their JSON.
const maxBoxed, maxBoxedBytes = 1024, 16

// value returns any value as a property value, with Go's numbers. Numbers that JSON writes
// differently from Go (5.0) remain json.Number.
func (n node) value() any {
	switch n.kind() {
	case tape.Null:
		return nil
	case tape.False, tape.True:
		return n.kind() == tape.True
	case tape.List:
		out := make([]any, 0, n.count())
		for list := n.list(); list.next(); {
			out = append(out, list.value())
		}
		return out
	case tape.Object:
		out := map[string]any{}
		for i, end := n.i+1, n.end(); i < end; i = n.t.Cells[i].Next {
			out[n.t.NameOf(i)] = n.cell(i).value()
		}
		return out
	}
	raw := n.t.Raw(n.i)
	if v, ok := n.t.boxed[raw]; ok {
		return v
	}
	var v any = json.Number(raw)
	if n.isText() {
		v = n.t.Text(n.i)
	} else if num, ok := values.Literal(raw); ok {
		if _, written := num.(values.Decimal); !written {
			v = num
		}
	}
	if len(raw) <= maxBoxedBytes && len(n.t.boxed) < maxBoxed {
		if n.t.boxed == nil {
			n.t.boxed = map[string]any{}
		}
		n.t.boxed[raw] = v
	}
	return v
}
