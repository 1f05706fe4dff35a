// Package tape splits a whole JSON document in one pass into a flat list of values, for code that
// reads many small records of a long text and does not need a tree. It accepts the same texts as
// encoding/json, and reads the same values.
package tape

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Kind is the type of a [Cell].
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	False
	True
	Number
	Text
	// Escaped is a string that differs from its bytes in the text: it has escapes, or is not UTF-8.
	Escaped
	List
	Object
)

// Cell is one value of a [Tape].
type Cell struct {
	// At and End are the range of the value in Src.
	At, End int32
	// Count is the number of direct members or elements of an object or a list.
	Count int32
	// Next is the index of the first cell after this one and all its descendants.
	Next int32
	Kind Kind
	// Name is the number of the member's name, or 0 if [Names] does not have it.
	Name uint8
}

// Tape is a parsed JSON text: all its values, in the order of the text, in one list. The members of
// an object and the elements of a list directly follow it.
type Tape struct {
	// Src is the text, to which the cells refer.
	Src string
	// Cells are the values; the first one is the whole document.
	Cells []Cell
	// Names are the names with numbers, see Cell.Name.
	Names *Names
}

// Raw returns the JSON text of a value.
func (t *Tape) Raw(i int32) string { return t.Src[t.Cells[i].At:t.Cells[i].End] }

// Text returns a string value, as a slice of Src if it has no escapes.
func (t *Tape) Text(i int32) string {
	v := &t.Cells[i]
	if v.Kind == Text {
		return t.Src[v.At+1 : v.End-1]
	}
	return unquoteBytes(t.Src[v.At:v.End])
}

// NameOf returns the name of a member.
func (t *Tape) NameOf(i int32) string {
	v := &t.Cells[i]
	if v.Name != 0 {
		return t.Names.texts[v.Name]
	}
	// A name without a number is read from the text.
	s := scanner{src: t.Src, at: t.nameAt(i)}
	from := s.at
	kind := s.text()
	name := t.Src[from:s.at]
	if kind == Escaped {
		return unquoteBytes(name)
	}
	return name[1 : len(name)-1]
}

// nameAt returns the position in Src of the name of a member. There is no quotation mark between a
// name and its value, and a quotation mark within the name has a backslash before it.
func (t *Tape) nameAt(i int32) int {
	// First the end of the name, then its beginning.
	at := strings.LastIndexByte(t.Src[:t.Cells[i].At], '"')
	for {
		if at = strings.LastIndexByte(t.Src[:at], '"'); t.Src[at-1] != '\\' {
			return at
		}
	}
}

// unquoteBytes returns the string that a JSON string represents, which must have been checked
// before. Half of a surrogate pair, and each byte that is not UTF-8, becomes U+FFFD, as in
// encoding/json.
func unquoteBytes(text string) string {
	if !utf8.ValidString(text) {
		// The conversion decodes each invalid byte as U+FFFD.
		text = string([]rune(text))
	}
	text = text[1 : len(text)-1]
	var out []byte
	for {
		at := strings.IndexByte(text, '\\')
		switch {
		case at < 0 && out == nil:
			return text
		case at < 0:
			return string(append(out, text...))
		case out == nil:
			out = make([]byte, 0, len(text))
		}
		c, n, _ := wire.Unescape(text, at)
		out = utf8.AppendRune(append(out, text[:at]...), c)
		text = text[at+n:]
	}
}

// Tree returns a value as encoding/json decodes it, with numbers as json.Number.
func (t *Tape) Tree(i int32) any {
	v := &t.Cells[i]
	switch v.Kind {
	case False, True:
		return v.Kind == True
	case Number:
		return json.Number(t.Raw(i))
	case Text, Escaped:
		return t.Text(i)
	case List:
		list := make([]any, 0, v.Count)
		for at := i + 1; at < v.Next; at = t.Cells[at].Next {
			list = append(list, t.Tree(at))
		}
		return list
	case Object:
		// Of members with the same name the last one wins, as in encoding/json.
		object := map[string]any{}
		for at := i + 1; at < v.Next; at = t.Cells[at].Next {
			object[t.NameOf(at)] = t.Tree(at)
		}
		return object
	}
	return nil
}

// Member is a member of an object.
type Member struct {
	Name string
	Cell int32
}

// Members returns the members of an object, sorted by name. Of members with the same name it
// returns the last.
func (t *Tape) Members(i int32) []Member {
	list := make([]Member, 0, t.Cells[i].Count)
	for at := i + 1; at < t.Cells[i].Next; at = t.Cells[at].Next {
		list = append(list, Member{t.NameOf(at), at})
	}
	// The sort is stable, so the last of several equal names remains the last.
	slices.SortStableFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	out := list[:0]
	for i := range list {
		if i+1 == len(list) || list[i+1].Name != list[i].Name {
			out = append(out, list[i])
		}
	}
	return out
}

// AppendJSON appends the JSON text that encoding/json writes for Tree, without the escapes for
// HTML.
func (t *Tape) AppendJSON(dst []byte, i int32) []byte {
	v := &t.Cells[i]
	switch v.Kind {
	case Text, Escaped:
		// Most strings can be copied without decoding.
		if raw := t.Raw(i); isCanonical(raw) {
			return append(dst, raw...)
		}
		return appendQuoted(dst, t.Text(i))
	case List:
		dst = append(dst, '[')
		for at := i + 1; at < v.Next; at = t.Cells[at].Next {
			if at > i+1 {
				dst = append(dst, ',')
			}
			dst = t.AppendJSON(dst, at)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for j, m := range t.Members(i) {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = t.AppendJSON(append(appendQuoted(dst, m.Name), ':'), m.Cell)
		}
		return append(dst, '}')
	}
	return append(dst, t.Raw(i)...)
}

// isCanonical reports whether a JSON string is ASCII and equals the form that encoding/json writes.
func isCanonical(raw string) bool {
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c >= utf8.RuneSelf:
			return false
		case c == '\\':
			if i++; raw[i] == 'u' || raw[i] == '/' {
				return false
			}
		}
	}
	return true
}

// appendQuoted is like [wire.AppendQuoted], but escapes the two line separators that older
// JavaScript did not allow in strings, as encoding/json does.
func appendQuoted(dst []byte, s string) []byte {
	from := len(dst)
	dst = wire.AppendQuoted(dst, s)
	if strings.Contains(s, "\xe2\x80") { // both separators begin with these bytes
		dst = append(dst[:from], lineEnds.Replace(string(dst[from:]))...)
	}
	return dst
}

// lineEnds escapes the line and the paragraph separator.
var lineEnds = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

// Names are up to 255 names of members that have a number in a Tape.
type Names struct {
	texts []string // by number
	// slots is a hash table of numbers, 0 for an empty slot.
	slots [nameSlots]uint8
}

const nameSlots = 1024 // a power of two

// NewNames numbers the names from 1 on; of equal names only the first has a number. It panics if
// there are more than 255.
func NewNames(list ...string) *Names {
	n := &Names{texts: []string{""}}
	for _, name := range list {
		// An equal name already has a number.
		if n.Number(name) != 0 {
			continue
		}
		if len(n.texts) > math.MaxUint8 {
			panic("tape: more than 255 names")
		}
		at := hashName(name)
		for n.slots[at%nameSlots] != 0 {
			at++
		}
		n.slots[at%nameSlots] = uint8(len(n.texts))
		n.texts = append(n.texts, name)
	}
	return n
}

// Text returns the name with the given number.
func (n *Names) Text(number uint8) string { return n.texts[number] }

// Number returns the number of a name, or 0 if it is not in the list.
func (n *Names) Number(name string) uint8 {
	// Open addressing: an empty slot ends the search. The table is never full.
	for at := hashName(name); ; at++ {
		number := n.slots[at%nameSlots]
		if number == 0 || n.texts[number] == name {
			return number
		}
	}
}

// hashName mixes the length, the beginning and the end of a name.
func hashName(s string) uint64 {
	var a, b uint64
	switch n := len(s); {
	case n >= 8:
		a, b = wire.EightBytes(s), wire.EightBytes(s[n-8:])
	case n > 0:
		a, b = uint64(s[0])|uint64(s[n/2])<<8, uint64(s[n-1])
	}
	return (a*0x9E3779B97F4A7C15 ^ (b+uint64(len(s)))*0xC2B2AE3D27D4EB4F) >> 40
}
