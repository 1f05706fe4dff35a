package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/tape"
	"github.com/bunting-flags/bunting/flags/internal/values"
)

// jsonText is a scanned JSON text that definitions are parsed from.
type jsonText struct {
	tape.Tape
	root string // prefix of all paths
	// boxed caches short strings and numbers as property values, by their JSON. Many
	// conditions have the same values.
	boxed map[string]any
	texts *strings.Builder // see pool; nil before the first use
	// anchor is the member or element that is being parsed. Paths below it are built from it,
	// without a search through the whole list that it is part of.
	anchor anchor
}

// anchor is the position of a member or element, recorded while its list is iterated.
type anchor struct {
	cell   int32
	parent string // path of the list or object
	index  int
	name   string // name of a member, empty for an element
}

// node is a value in a JSON text. It is cheap to copy: its path is only computed for a fault.
type node struct {
	t *jsonText
	i int32 // index of the value's cell, -1 for an absent member
	// up is the object that an absent member is missing from, and name the member's name.
	up   int32
	name name
}

// open scans a JSON text and returns its root. Errors contain the line and column.
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

// kind returns the kind of the value, Null for an absent member.
func (n node) kind() tape.Kind {
	if n.i < 0 {
		return tape.Null
	}
	return n.t.Cells[n.i].Kind
}

// null reports whether the value is null or absent.
func (n node) null() bool { return n.kind() == tape.Null }

// end returns the index after the last cell within the value. It is 0 for an absent member.
func (n node) end() int32 {
	if n.i < 0 {
		return 0
	}
	return n.t.Cells[n.i].Next
}

// cell returns the node of another cell of the text.
func (n node) cell(i int32) node { return node{t: n.t, i: i} }

// at returns a member of an object. If several have the name, it returns the last one.
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

// object is an object with an index of its members with hot names, since these are looked up
// for every flag.
type object struct {
	node
	cells [hotNames]int32 // cells by name, 0 for absent members
}

// at is like [node.at] for names below hotNames.
func (o *object) at(name name) node {
	if i := o.cells[name]; i != 0 {
		return node{o.t, i, 0, name}
	}
	return node{o.t, -1, o.i, name}
}

func (o *object) has(name name) bool { return o.cells[name] != 0 }

// mustBeObject fails unless the value is an object.
func (n node) mustBeObject() node {
	if n.kind() != tape.Object {
		n.failExpected("an object")
	}
	return n
}

// namedNode is a member of an object with arbitrary names.
type namedNode struct {
	name string
	node
}

// entries returns the members of an object, sorted by name. Of members with the same name it
// returns the last.
func (n node) entries() []namedNode {
	n.mustBeObject()
	members := n.t.Members(n.i)
	out := make([]namedNode, len(members))
	for i, m := range members {
		out[i] = namedNode{m.Name, n.cell(m.Cell)}
	}
	return out
}

// path returns the path of the node, such as "projects[0].flags[3].key".
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
	return strings.Clone(path) // it may be a substring of the document
}

// fault is a problem at a node. Parsing functions panic with a fault, and read recovers it,
// which avoids error checks after every value.
type fault struct {
	node    node
	problem string
	err     *DefinitionError // the complete error, used instead of node and problem
}

// fail stops parsing with a fault at the node.
func (n node) fail(format string, args ...any) {
	panic(fault{node: n, problem: fmt.Sprintf(format, args...)})
}

// read calls f and returns the fault that stopped it, or nil.
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

// describe returns the kind of the value, and its text if it is a number or a string, for
// messages.
func (n node) describe() string {
	switch n.kind() {
	case tape.Null:
		return "null or absent"
	case tape.False, tape.True:
		return "a boolean"
	case tape.Number:
		return "the number " + n.t.Raw(n.i)
	case tape.Text, tape.Escaped:
		return "the text " + values.Quote(n.t.Text(n.i))
	case tape.List:
		return "an array"
	}
	return "an object"
}

// bom is the byte order mark that some editors write at the start of a file.
var bom = []byte("\ufeff")

// DecodeJSON decodes one JSON document in the way that definitions are read: numbers become
// json.Number, and text after the document is an error. Syntax errors are a
// *[DefinitionError] whose Path is the line and column.
func DecodeJSON(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, bom)
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	if err == nil {
		end := dec.InputOffset()
		if rest := bytes.TrimLeft(data[end:], " \t\r\n"); len(rest) > 0 {
			return nil, &DefinitionError{Path: position(data, int64(len(data)-len(rest)+1)), Problem: "text after the end of the JSON document"}
		}
		return v, nil
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, &DefinitionError{Path: position(data, syntax.Offset), Problem: strings.TrimPrefix(syntax.Error(), "json: ")}
	case len(bytes.TrimSpace(data)) == 0:
		return nil, &DefinitionError{Path: position(data, 0), Problem: "the document is empty"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, &DefinitionError{Path: position(data, int64(len(data))), Problem: "the document ends in the middle"}
	}
	return nil, err
}

// position returns the line and column of a byte offset, both counted from 1.
func position(data []byte, offset int64) string {
	offset = min(offset, int64(len(data)))
	before := data[:offset]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := int(offset) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Sprintf("line %d column %d", line, max(column, 1))
}
