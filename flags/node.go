package flags

import (
	"bytes"
	"fmt"
	"maps"
	"sort"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
)

// jsonText is a JSON text taken apart, from which definitions are read.
type jsonText struct {
	tape.Tape
	root string // what places begin with
	// boxed are short texts and numbers as values of properties, by their JSON: few
	// different ones stand in many conditions.
	boxed map[string]any
	texts *strings.Builder // see beside; nil: none yet
	// anchor is the member or element that is being read, so that its place need not
	// be looked for among all of its list.
	anchor anchor
}

type anchor struct {
	cell   int32
	parent string // the place of the list or object
	index  int
	name   string // of a member
}

// node is a place in a JSON text. It is cheap: a fault finds the name of its place
// when there is one.
type node struct {
	t *jsonText
	i int32 // the value's cell, -1 for a member that is absent
	// up is the object that such a member is absent from, and name its name.
	up   int32
	name name
}

// open takes a JSON text apart. Its error gives line and column.
func open(data []byte) (node, error) {
	data = bytes.TrimPrefix(data, bom)
	cells, ok := tape.Scan(string(data), recordNames)
	if !ok {
		if _, err := DecodeJSON(data); err != nil {
			return node{}, err
		}
		return node{}, &DefinitionError{Problem: "the document is too long"}
	}
	return node{t: &jsonText{Tape: cells}}, nil
}

func (n node) kind() tape.Kind {
	if n.i < 0 {
		return tape.Null
	}
	return n.t.Cells[n.i].Kind
}

// null says that it is null or absent.
func (n node) null() bool { return n.kind() == tape.Null }

// end is the cell behind the last one within it; of what is no object or list there
// are none.
func (n node) end() int32 {
	if n.i < 0 {
		return 0
	}
	return n.t.Cells[n.i].Next
}

func (n node) cell(i int32) node { return node{t: n.t, i: i} }

// at is a member, of the last with the name where there are several.
func (n node) at(name name) node {
	found := node{n.t, -1, n.i, name}
	if n.kind() == tape.Object {
		cells := n.t.Cells
		for i, end := n.i+1, n.end(); i < end; i = cells[i].Next {
			if cells[i].Name == uint8(name) {
				found.i = i
			}
		}
	}
	return found
}

func (n node) has(name name) bool { return n.at(name).i >= 0 }

// object is an object whose members that flags have can be looked up at once.
type object struct {
	node
	cells [hotNames]int32 // by name, 0 for absent
}

// at is as that of node, of names below hotNames.
func (o *object) at(name name) node {
	if i := o.cells[name]; i != 0 {
		return node{o.t, i, 0, name}
	}
	return node{o.t, -1, o.i, name}
}

func (o *object) has(name name) bool { return o.cells[name] != 0 }

func (n node) mustBeObject() node {
	if n.kind() != tape.Object {
		n.failExpected("an object")
	}
	return n
}

// namedNode is a member of an object with names of all sorts.
type namedNode struct {
	name string
	node
}

// entries are the members of an object, sorted by name; of those with the same name
// the last.
func (n node) entries() []namedNode {
	n.mustBeObject()
	members := n.t.Members(n.i)
	out := make([]namedNode, len(members))
	for i, m := range members {
		out[i] = namedNode{m.Name, n.cell(m.Cell)}
	}
	return out
}

// path writes the place as "projects[0].flags[3].key".
func (n node) path() string {
	path := n.t.root
	member := func(name string) {
		if path != "" {
			path += "."
		}
		path += name
	}
	target := n.i
	if target < 0 {
		target = n.up
	}
	in := int32(0)
	if a := &n.t.anchor; a.cell > 0 && a.cell <= target && target < n.t.Cells[a.cell].Next {
		path, in = a.parent, a.cell
		if a.name == "" {
			path += "[" + strconv.Itoa(a.index) + "]"
		} else {
			member(a.name)
		}
	}
	for in < target {
		index, i := 0, in+1
		for n.t.Cells[i].Next <= target {
			index, i = index+1, n.t.Cells[i].Next
		}
		switch name := ""; {
		case n.t.Cells[in].Kind == tape.List:
			path += "[" + strconv.Itoa(index) + "]"
		default:
			if name = n.t.NameOf(i); name == "" {
				path += "[0]"
			} else {
				member(name)
			}
		}
		in = i
	}
	if n.i < 0 {
		member(n.name.String())
	}
	return strings.Clone(path) // it may be a piece of the document
}

// fault is a problem at a place. Reading helpers panic with it and read
// recovers, which keeps the readers straight lines.
type fault struct {
	node    node
	problem string
	err     *DefinitionError // complete, instead of the two
}

func (n node) fail(format string, args ...any) {
	panic(fault{node: n, problem: fmt.Sprintf(format, args...)})
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
			err = &DefinitionError{Path: r.node.path(), Problem: r.problem}
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

func (n node) failExpected(expected string) { n.fail("must be %s, not %s", expected, n.describe()) }

func (n node) describe() string {
	switch n.kind() {
	case tape.Null:
		return "null or absent"
	case tape.False, tape.True:
		return "a boolean"
	case tape.Number:
		return "the number " + n.t.Raw(n.i)
	case tape.Text, tape.Escaped:
		return "the text " + quote(n.t.Text(n.i))
	case tape.List:
		return "an array"
	}
	return "an object"
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
