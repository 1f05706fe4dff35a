package segment

import (
	"strings"

	"github.com/bunting-flags/bunting/capture/jsontext"
)

const (
	// maxNames is the maximum number of names of properties that are remembered, and maxNameText the maximum
	// length of a name as JSON with its colon. Others are read more slowly.
	maxNames, maxNameText = maxOthers + sampleNames, 256
)

// propertyNames are the names of properties in a file. Most events have the same names in the same order
// as one of the events before, so that the next name and its value are compared instead of being read.
type propertyNames struct {
	byName map[string]*propertyName
	// start is followed by the first name of an event.
	start propertyName
}

// propertyName is a name of a property.
type propertyName struct {
	// text is the name as JSON with its colon, up to the value. It is empty if the name is not remembered.
	text     string
	property *property     // nil if the property has no column
	next     *propertyName // the name that followed last, or nil
}

// nextName reads the name of the next property of an event, which follows another name. It returns nil if
// there is none.
func (p *propertyWriter) nextName(r *jsontext.Reader, last *propertyName, first bool) *propertyName {
	if next := last.next; next != nil {
		at := r.Pos
		if !first && at < len(r.Src) && r.Src[at] == ',' {
			at++
		}
		if (first || at > r.Pos) && strings.HasPrefix(r.Src[at:], next.text) {
			r.Pos = at + len(next.text)
			return next
		}
	}
	from := r.Pos
	key, more := r.NextKey(first)
	if !more {
		return nil
	}
	text := r.Src[from:r.Pos]
	next := p.name(key, text[strings.IndexByte(text, '"'):])
	if next.text != "" {
		last.next = next
	}
	return next
}

// name returns a name of a property, with its text as JSON up to the value.
func (p *propertyWriter) name(name, text string) *propertyName {
	n := p.names.byName[name]
	switch {
	case n == nil && (len(p.names.byName) == maxNames || len(text) > maxNameText):
		p.note(name)
		return &propertyName{}
	case n == nil:
		name = strings.Clone(name)
		n = &propertyName{text: strings.Clone(text), property: p.candidate(name)}
		p.names.byName[name] = n
	case len(text) > maxNameText:
	case n.text != text:
		n.text = strings.Clone(text)
	}
	return n
}

// repeats reports whether the next value is the last one of the property, and adds it.
func (c *property) repeats(r *jsontext.Reader, row int32) bool {
	if c.isPlain || len(c.entries) == 0 {
		return false
	}
	last := c.texts[c.lastEntry]
	end := r.Pos + len(last)
	if end >= len(r.Src) || r.Src[r.Pos:end] != last || r.Src[end] != ',' && r.Src[end] != '}' {
		return false
	}
	r.Pos = end
	if c.present[len(c.present)-1] != row { // a name occurs once
		c.present, c.entries = append(c.present, row), append(c.entries, c.lastEntry)
	}
	return true
}
