package wire

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of one JSON text.
const (
	MaxDepth   = 128     // nested objects and lists; one more is refused
	maxMembers = 1 << 20 // members of objects plus elements of lists, in all
	maxObject  = 1 << 16 // members of one object that is kept

	// memberSize is about what a member takes that is an object with one member, or
	// half of it, in bytes, and reserveStep for how many at a time memory is reserved.
	memberSize, reserveStep = 240, 4096
)

// Reader reads one JSON text from front to back. It is strict (RFC 8259) unless
// Lenient is set (see lenient.go). Values come out as serde_json has them: nil,
// bool, string, int64, uint64 (above the largest int64), float64 (everything with a
// point or an exponent, what fits no integer, and -0; as [Decimal] has it), []any,
// map[string]any with the last of equal keys. Bytes that are not UTF-8 become
// U+FFFD, one for each maximal part of a sequence.
//
// Strings without escapes are cut from Src and keep it alive.
//
// Methods answer false after the first fault, which stands in Fault. The zero value
// with a Src is ready.
type Reader struct {
	Src string
	// Pos is the present position, in bytes.
	Pos int
	// Lenient reads JSON5 as well.
	Lenient bool
	// Spans is for who stores values as the text that was sent, see [Reader.Raw]: half
	// of a surrogate pair is U+FFFD, members are not counted, and faults have texts
	// of their own.
	Spans bool
	// Scratch is room for strings with escapes; it grows.
	Scratch []byte
	// Budget is asked for memory for many members; nil: nobody is.
	Budget Budget
	Fault  *Fault

	depth   int
	members int
}

// Budget reserves n bytes of memory. Its error ends the reading.
type Budget interface{ Reserve(n int64) error }

// Peek is the byte at the present position, 0 at the end of the text. A NUL
// byte in the text is equally wrong everywhere.
func (r *Reader) Peek() byte {
	if r.Pos < len(r.Src) {
		return r.Src[r.Pos]
	}
	return 0
}

// Space steps over white space, and comments where the reader is lenient.
func (r *Reader) Space() {
	if r.Pos == len(r.Src) || r.Src[r.Pos] <= ' ' || r.Lenient {
		r.allSpace()
	}
}

func (r *Reader) allSpace() {
	for r.Pos < len(r.Src) {
		switch c := r.Src[r.Pos]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			r.Pos++
		case r.Lenient && (c < ' ' || c == '/' || c >= utf8.RuneSelf):
			if !r.lenientSpace() {
				return
			}
		default:
			return
		}
	}
}

// End reports whether nothing but white space is left.
func (r *Reader) End() bool {
	r.Space()
	if r.Fault == nil && r.Pos < len(r.Src) {
		return r.failText(moreText)
	}
	return r.Fault == nil
}

// Value reads any value.
func (r *Reader) Value() (any, bool) {
	switch c := r.Peek(); {
	case r.StartsText():
		s, ok := r.Text()
		return s, ok
	case c == '{':
		m := make(map[string]any)
		return m, r.Map(m)
	case c == '[':
		return r.array()
	case c == 't':
		return true, r.Word("true")
	case c == 'f':
		return false, r.Word("false")
	case c == 'n':
		return nil, r.Word("null")
	case r.StartsNumber():
		n, ok := r.number()
		return n.value(), ok
	}
	return nil, r.Fail("expected a value")
}

// Raw steps over white space and one value, and returns the value's text.
func (r *Reader) Raw() (text string, ok bool) {
	r.Space()
	start := r.Pos
	ok = r.Skip()
	return r.Src[start:r.Pos], ok
}

// Skip reads any value, checks it and lets it go.
func (r *Reader) Skip() bool {
	switch c := r.Peek(); {
	case c == '"' && !r.Lenient:
		return r.skipText()
	case c == '{':
		if !r.Enter() {
			return false
		}
		for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
			if !r.Skip() {
				return r.FailIn(key)
			}
		}
		return r.Fault == nil
	case c == '[':
		if !r.Enter() {
			return false
		}
		for i := 0; r.More(']', i == 0); i++ {
			if !r.Skip() {
				return r.FailIn(strconv.Itoa(i))
			}
		}
		return r.Fault == nil
	case !r.Lenient && r.StartsNumber():
		return r.skipNumber()
	}
	_, ok := r.Value()
	return ok
}

// Map reads an object into m.
func (r *Reader) Map(m map[string]any) bool {
	if !r.Enter() {
		return false
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		v, ok := r.Value()
		if !ok {
			return r.FailIn(key)
		}
		m[key] = v
		if !r.Fits(len(m)) {
			return false
		}
	}
	return r.Fault == nil
}

// Fits reports whether an object may have n members.
func (r *Reader) Fits(n int) bool {
	return n <= maxObject || r.failBound("more than "+strconv.Itoa(maxObject)+" members in one object")
}

func (r *Reader) array() (any, bool) {
	if !r.Enter() {
		return nil, false
	}
	list := []any{}
	for r.More(']', len(list) == 0) {
		v, ok := r.Value()
		if !ok {
			return nil, r.FailIn(strconv.Itoa(len(list)))
		}
		list = append(list, v)
	}
	return list, r.Fault == nil
}

// Object steps over an object. each is called with every member's name and has to
// step over its value; it may end the reading without a fault.
func (r *Reader) Object(each func(key string) bool) bool {
	if !r.Enter() {
		return false
	}
	for key, more := r.NextKey(true); more; key, more = r.NextKey(false) {
		if !each(key) {
			return false
		}
	}
	return r.Fault == nil
}

// List steps over a list. each has to step over one element; it may end the reading
// without a fault.
func (r *Reader) List(each func() bool) bool {
	if !r.Enter() {
		return false
	}
	for first := true; r.More(']', first); first = false {
		if !each() {
			return false
		}
	}
	return r.Fault == nil
}

// Enter steps over an opening bracket.
func (r *Reader) Enter() bool {
	if r.depth == MaxDepth {
		return r.failText(tooDeep)
	}
	r.depth++
	r.Pos++
	return true
}

// More stands before a member: it reports whether there is one, and steps over
// the comma before it or the closing bracket.
func (r *Reader) More(closing byte, first bool) bool {
	r.Space()
	if !first && r.Peek() == ',' {
		r.Pos++
		r.Space()
		if r.Peek() == closing && !r.Lenient {
			return r.failText(pickByBracket(closing, objectComma, listComma))
		}
	} else if !first && r.Peek() != closing {
		return r.failText(pickByBracket(closing, objectNext, listNext))
	}
	if r.Peek() == closing {
		r.Pos++
		r.depth--
		return false
	}
	if r.Spans {
		return true
	}
	if r.members++; r.members <= maxMembers && r.members%reserveStep != 0 {
		return r.Fault == nil
	}
	return r.countMember()
}

func pickByBracket(closing byte, object, list faultText) faultText {
	if closing == '}' {
		return object
	}
	return list
}

// countMember looks at a member that has to be paid for, or is one too many.
func (r *Reader) countMember() bool {
	if r.members > maxMembers {
		return r.failBound("more than " + strconv.Itoa(maxMembers) + " values")
	}
	if r.members%reserveStep == 0 && r.Budget != nil {
		if err := r.Budget.Reserve(reserveStep * memberSize); err != nil && r.Fault == nil {
			r.Fault = &Fault{Err: err}
		}
	}
	return r.Fault == nil
}

// NextKey reads up to the value of the next member of an object.
func (r *Reader) NextKey(first bool) (key string, more bool) {
	if !r.More('}', first) {
		return "", false
	}
	switch {
	case r.Peek() == '"':
		key, more = r.Text()
	case r.Lenient:
		key, more = r.lenientKey()
	default:
		return "", r.failText(noName)
	}
	if !more {
		return "", false
	}
	if r.Space(); r.Peek() != ':' {
		return "", r.failText(noColon)
	}
	r.Pos++
	r.Space()
	return key, r.Fault == nil
}

// Word steps over a word, such as true.
func (r *Reader) Word(w string) bool {
	if !strings.HasPrefix(r.Src[r.Pos:], w) {
		return r.Fail("expected a value")
	}
	r.Pos += len(w)
	return true
}

// Null steps over null. A number that is not finite counts as null.
func (r *Reader) Null() bool {
	if r.Peek() == 'n' && strings.HasPrefix(r.Src[r.Pos:], "null") {
		r.Pos += len("null")
		return true
	}
	return r.Lenient && r.skipNotFinite()
}
