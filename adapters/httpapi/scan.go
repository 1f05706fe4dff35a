package httpapi

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of one JSON text.
const (
	maxJSONDepth   = 128     // nested objects and arrays; one more is refused
	maxJSONMembers = 1 << 20 // members of objects plus elements of arrays, in all
	maxJSONObject  = 1 << 16 // members of one object that is kept

	// jsonMember is about what a member takes that is an object with one member, or
	// half of it, in bytes, and jsonStep for how many at a time memory is reserved.
	jsonMember, jsonStep = 240, 4096
)

// jsonReader reads one JSON text from front to back. It is strict (RFC 8259)
// unless lenient is set (see lenient.go). Values come out as serde_json has
// them: nil, bool, string, int64, uint64 (above the largest int64), float64
// (everything with a point or an exponent, what fits no integer, and -0),
// []any, map[string]any with the last of equal keys. Bytes that are not UTF-8
// become U+FFFD, one for each maximal part of a sequence.
//
// Strings without escapes are cut from src and keep it alive.
//
// Methods answer false after the first fault, which stands in fault.
type jsonReader struct {
	src     string
	pos     int
	depth   int
	members int
	lenient bool
	scratch []byte
	lease   *lease // memory for many members is reserved with it; nil: nobody asks
	fault   *jsonFault
}

// jsonFault says what is wrong with a JSON text and where.
type jsonFault struct {
	text   string   // in which it is; empty: nowhere
	offset int      // in bytes, from 0
	what   string   // such as "expected a value"
	path   []string // names and indexes, innermost first
	err    error    // is answered instead: nothing is wrong with the text
	bound  bool     // the text is over a bound, in whatever way it is read
}

// where names the member at fault, such as "person_properties.tags.0": at most
// the outer eight names. It is empty at the top level.
func (f *jsonFault) where() string {
	var b strings.Builder
	for i := len(f.path) - 1; i >= 0; i-- {
		if len(f.path)-i > 8 {
			b.WriteString("…")
			break
		}
		b.WriteString(shorten(f.path[i]))
		if i > 0 {
			b.WriteByte('.')
		}
	}
	return b.String()
}

// shorten keeps names chosen by a client from filling an error message.
func shorten(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// fail records the first fault, at the present position.
func (r *jsonReader) fail(what string) bool {
	if r.fault == nil {
		r.fault = &jsonFault{text: r.src, offset: r.pos, what: what}
	}
	return false
}

// over records that a bound is passed.
func (r *jsonReader) over(what string) bool {
	r.fail(what)
	r.fault.bound = true
	return false
}

// within adds the name of the enclosing member to the fault.
func (r *jsonReader) within(name string) bool {
	r.fault.path = append(r.fault.path, name)
	return false
}

// peek is the byte at the present position, 0 at the end of the text. A NUL
// byte in the text is equally wrong everywhere.
func (r *jsonReader) peek() byte {
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

// space steps over white space, and comments where the reader is lenient.
func (r *jsonReader) space() {
	if r.pos == len(r.src) || r.src[r.pos] <= ' ' || r.lenient {
		r.allSpace()
	}
}

func (r *jsonReader) allSpace() {
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			r.pos++
		case r.lenient && (c < ' ' || c == '/' || c >= utf8.RuneSelf):
			if !r.lenientSpace() {
				return
			}
		default:
			return
		}
	}
}

// end reports whether nothing but white space is left.
func (r *jsonReader) end() bool {
	r.space()
	if r.fault == nil && r.pos < len(r.src) {
		return r.fail("text after the end of the value")
	}
	return r.fault == nil
}

// value reads any value.
func (r *jsonReader) value() (any, bool) {
	switch c := r.peek(); {
	case c == '"', c == '\'' && r.lenient:
		s, ok := r.text()
		return s, ok
	case c == '{':
		m := make(map[string]any)
		return m, r.object(m)
	case c == '[':
		return r.array()
	case c == 't':
		return true, r.word("true")
	case c == 'f':
		return false, r.word("false")
	case c == 'n':
		return nil, r.word("null")
	case r.startsNumber(c):
		n, ok := r.number()
		return n.value(), ok
	}
	return nil, r.fail("expected a value")
}

// skip reads any value, checks it and lets it go.
func (r *jsonReader) skip() bool {
	switch r.peek() {
	case '{':
		if !r.enter() {
			return false
		}
		for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
			if !r.skip() {
				return r.within(key)
			}
		}
		return r.fault == nil
	case '[':
		if !r.enter() {
			return false
		}
		for i := 0; r.more(']', i == 0); i++ {
			if !r.skip() {
				return r.within(strconv.Itoa(i))
			}
		}
		return r.fault == nil
	}
	_, ok := r.value()
	return ok
}

// object reads an object into m.
func (r *jsonReader) object(m map[string]any) bool {
	if !r.enter() {
		return false
	}
	for key, more := r.nextKey(true); more; key, more = r.nextKey(false) {
		v, ok := r.value()
		if !ok {
			return r.within(key)
		}
		m[key] = v
		if !r.fits(len(m)) {
			return false
		}
	}
	return r.fault == nil
}

// fits reports whether an object may have n members.
func (r *jsonReader) fits(n int) bool {
	return n <= maxJSONObject || r.over("more than "+strconv.Itoa(maxJSONObject)+" members in one object")
}

func (r *jsonReader) array() (any, bool) {
	if !r.enter() {
		return nil, false
	}
	list := []any{}
	for r.more(']', len(list) == 0) {
		v, ok := r.value()
		if !ok {
			return nil, r.within(strconv.Itoa(len(list)))
		}
		list = append(list, v)
	}
	return list, r.fault == nil
}

// enter steps over an opening bracket.
func (r *jsonReader) enter() bool {
	if r.depth == maxJSONDepth {
		return r.fail("nested deeper than " + strconv.Itoa(maxJSONDepth) + " levels")
	}
	r.depth++
	r.pos++
	return true
}

// more stands before a member: it reports whether there is one, and steps over
// the comma before it or the closing bracket.
func (r *jsonReader) more(closing byte, first bool) bool {
	r.space()
	if !first && r.peek() == ',' {
		r.pos++
		r.space()
		if r.peek() == closing && !r.lenient {
			return r.fail("comma before the closing bracket")
		}
	} else if !first && r.peek() != closing {
		return r.fail("expected ',' or '" + string(rune(closing)) + "'")
	}
	if r.peek() == closing {
		r.pos++
		r.depth--
		return false
	}
	if r.members++; r.members > maxJSONMembers {
		return r.over("more than " + strconv.Itoa(maxJSONMembers) + " values")
	}
	if r.members%jsonStep == 0 && r.lease != nil {
		if err := r.lease.take(jsonStep * jsonMember); err != nil && r.fault == nil {
			r.fault = &jsonFault{err: err}
		}
	}
	return r.fault == nil
}

// nextKey reads up to the value of the next member of an object.
func (r *jsonReader) nextKey(first bool) (key string, more bool) {
	if !r.more('}', first) {
		return "", false
	}
	switch {
	case r.peek() == '"':
		key, more = r.text()
	case r.lenient:
		key, more = r.lenientKey()
	default:
		return "", r.fail("expected a name in double quotes")
	}
	if !more {
		return "", false
	}
	if r.space(); r.peek() != ':' {
		return "", r.fail("expected ':'")
	}
	r.pos++
	r.space()
	return key, r.fault == nil
}

func (r *jsonReader) word(w string) bool {
	if !strings.HasPrefix(r.src[r.pos:], w) {
		return r.fail("expected a value")
	}
	r.pos += len(w)
	return true
}

// null steps over null. A number that is not finite counts as null (§9.3).
func (r *jsonReader) null() bool {
	if r.peek() == 'n' && strings.HasPrefix(r.src[r.pos:], "null") {
		r.pos += len("null")
		return true
	}
	return r.lenient && r.notFinite()
}
