package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of one JSON text.
const (
	maxDepth   = 128     // nested objects and lists; deeper texts are refused
	maxMembers = 1 << 20 // members of objects plus elements of lists, in total
	maxObject  = 1 << 16 // members of one object that is read into a map

	// memberSize is an estimate, in bytes, of the memory of one member (an object with a single
	// member, divided by two). reserveStep is the number of members for which memory is reserved at
	// once.
	memberSize, reserveStep = 240, 4096
)

// Reader reads one JSON text from front to back. It is strict (RFC 8259) unless Lenient is set (see
// lenient.go). Values have the types that serde_json distinguishes: nil, bool, string, int64,
// uint64 (above the largest int64), float64 (numbers with a point or an exponent, numbers that fit
// no integer, and -0; see [wire.Decimal]), []any, and map[string]any, in which the last of several equal
// keys wins. Bytes that are not UTF-8 become U+FFFD, one for each maximal part of a sequence.
//
// Strings without escapes are slices of Src and keep it in memory.
//
// Methods return false after the first fault, which is in Fault. The zero value with a Src is ready
// to use. A Reader is not safe for concurrent use.
type Reader struct {
	Src string
	// Pos is the current position, in bytes.
	Pos int
	// Lenient also accepts JSON5.
	Lenient bool
	// Spans is for callers that store values as the text that was sent, see [Reader.Raw]: half of a
	// surrogate pair is U+FFFD, members are not counted, and faults have messages of their own.
	Spans bool
	// Scratch is the buffer for strings with escapes; the Reader replaces it when it must grow.
	Scratch []byte
	// Budget reserves n bytes of memory for texts with many members. If it returns an error, reading
	// ends. If nil, no memory is reserved.
	Budget interface{ Reserve(n int64) error }
	Fault  *Fault

	depth   int
	members int
}

// Peek returns the byte at the current position, or 0 at the end of the text. A NUL byte in the
// text needs no distinction: it is a fault wherever Peek is used.
func (r *Reader) Peek() byte {
	if r.Pos < len(r.Src) {
		return r.Src[r.Pos]
	}
	return 0
}

// Space skips white space, and comments if the reader is lenient.
func (r *Reader) Space() {
	if r.Pos == len(r.Src) || r.Src[r.Pos] <= ' ' || r.Lenient {
		r.allSpace()
	}
}

// allSpace is the slow path of Space.
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

// End skips white space and reports whether the text ends there; further text is a fault.
func (r *Reader) End() bool {
	r.Space()
	if r.Fault == nil && r.Pos < len(r.Src) {
		return r.failText(moreText)
	}
	return r.Fault == nil
}

// Value reads a value of any type.
func (r *Reader) Value() (any, bool) {
	switch c := r.Peek(); {
	case r.StartsText():
		s, ok := r.Text()
		return s, ok
	case c == '{':
		// An empty object is an empty map, not nil.
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

// Raw skips white space and one value, and returns the text of the value.
func (r *Reader) Raw() (text string, ok bool) {
	// Skip does not read leading white space.
	r.Space()
	start := r.Pos
	ok = r.Skip()
	return r.Src[start:r.Pos], ok
}

// Skip reads and checks a value of any type without returning it.
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

// Map reads an object and adds its members to m.
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
		// The check follows the insertion, because equal names count once.
		if !r.Fits(len(m)) {
			return false
		}
	}
	return r.Fault == nil
}

// Fits reports whether an object may have n members; if not, it records a fault.
func (r *Reader) Fits(n int) bool {
	return n <= maxObject || r.failBound("more than "+strconv.Itoa(maxObject)+" members in one object")
}

// array reads a list into a []any, which is not nil.
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

// Object reads an object. It calls each with the name of every member; each must read the value. If
// each returns false, reading ends, with or without a fault.
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

// List reads a list. It calls each for every element, which each must read. If each returns false,
// reading ends, with or without a fault.
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

// Enter skips an opening bracket. It fails if the nesting exceeds maxDepth.
func (r *Reader) Enter() bool {
	if r.depth == maxDepth {
		return r.failText(tooDeep)
	}
	r.depth++
	r.Pos++
	return true
}

// More is called before each member or element and reports whether there is another one. It skips
// the comma before the member, or the closing bracket.
func (r *Reader) More(closing byte, first bool) bool {
	r.Space()
	if !first && r.Peek() == ',' {
		r.Pos++
		r.Space()
		// Only JSON5 allows a comma before the closing bracket.
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

// pickByBracket returns the message for objects or for lists.
func pickByBracket(closing byte, object, list faultText) faultText {
	if closing == '}' {
		return object
	}
	return list
}

// countMember reserves memory for the next members or fails if there are too many. More calls it
// only at multiples of reserveStep and above maxMembers.
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

// NextKey reads the name of the next member of an object and the colon, up to its value.
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

// Word skips a literal word, such as true.
func (r *Reader) Word(w string) bool {
	if !strings.HasPrefix(r.Src[r.Pos:], w) {
		return r.Fail("expected a value")
	}
	r.Pos += len(w)
	return true
}

// Null skips null and reports whether it did. If lenient, numbers that are not finite count as
// null.
func (r *Reader) Null() bool {
	if r.Peek() == 'n' && strings.HasPrefix(r.Src[r.Pos:], "null") {
		r.Pos += len("null")
		return true
	}
	return r.Lenient && r.skipNotFinite()
}
