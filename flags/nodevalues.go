package flags

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
)

// This file reads values.

// elements goes through an array.
type elements struct {
	node      // the present one
	index int // of it
	in    node
}

// list stands before the first element of an array; null and absent are empty.
func (n node) list() elements {
	if !n.null() && n.kind() != tape.List {
		n.failExpected("an array")
	}
	return elements{node: node{t: n.t, i: -1}, index: -1, in: n}
}

// next goes to the next element and reports whether there is one.
func (e *elements) next() bool {
	if e.i < 0 {
		e.i = e.in.i + 1
	} else {
		e.i = e.end()
	}
	e.index++
	return e.in.i >= 0 && e.i < e.in.end()
}

// count is the number of elements of an array; anything else has none.
func (n node) count() int {
	if n.kind() != tape.List {
		return 0
	}
	return int(n.t.Cells[n.i].Count)
}

// empty reports whether an array has no elements, or is null or absent.
func (n node) empty() bool {
	list := n.list()
	return !list.next()
}

// first is the first element of an array that is not empty.
func (n node) first() node { return n.cell(n.i + 1) }

// isText reports whether it is a text.
func (n node) isText() bool {
	kind := n.kind()
	return kind == tape.Text || kind == tape.Escaped
}

func (n node) text() string {
	if !n.isText() {
		n.failExpected("text")
	}
	return n.t.pool(n.t.Text(n.i))
}

// maxPooled is how long a text may be to be put beside others, poolBytes how many bytes
// of such texts are put in one piece of memory.
const maxPooled, poolBytes = 64, 1 << 14

// pool puts a text of a long document beside those that were read before it. Whoever goes
// through all flags again then finds their keys together, not one a page.
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

// textOrEmpty is text where null and absent are allowed and empty.
func (n node) textOrEmpty() string {
	if n.null() {
		return ""
	}
	return n.text()
}

// word is textOrEmpty for a text that is mostly an operator or a type of properties, of which
// there is no copy then.
func (n node) word() string {
	if n.kind() == tape.Text {
		if number := schemaWords.Number(n.t.Text(n.i)); number != 0 {
			return schemaWords.Text(number)
		}
	}
	return n.textOrEmpty()
}

var schemaWords = func() *tape.Names {
	words := []string{string(PersonProperty), string(GroupProperty), string(CohortProperty), string(FlagProperty), string(PersonMetadata)}
	for operator := range operators {
		words = append(words, string(operator))
	}
	return tape.NewNames(words...)
}()

// texts reads a list of texts; nil for null and absent.
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

// bool reads a boolean; null and absent are false.
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

func (n node) int() int64 {
	if n.kind() == tape.Number {
		if i, ok := parseInteger(n.t.Raw(n.i)); ok {
			return i
		}
	}
	n.failExpected("a whole number")
	return 0
}

// parseInteger accepts 3 and 3.0.
func parseInteger(num string) (int64, bool) {
	if i, err := strconv.ParseInt(num, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

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

// groupIndex reads an optional group type index.
func (n node) groupIndex() *int {
	if n.null() {
		return nil
	}
	i := n.int()
	if i < 0 || i > 255 {
		n.fail("a group type index is between 0 and 255, not %d", i)
	}
	g := int(i)
	return &g
}

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

// maxBoxed bounds what a document remembers of values, and how long they are.
const maxBoxed, maxBoxedBytes = 1024, 16

// value reads any value as one of a property, with Go's numbers. Numbers that JSON
// writes otherwise than Go does (5.0) stay as they are written.
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
	} else if num, ok := literal(raw); ok {
		if _, written := num.(decimalFloat); !written {
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
