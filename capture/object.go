package capture

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"

	"github.com/bunting-flags/bunting/capture/jsontext"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Member is a member of a JSON object: its name, and its value as JSON text.
type Member struct{ Key, Value string }

// Object is a JSON object: a list of members sorted by key, without duplicate keys. Values
// are the JSON text that the client sent, so that they are stored unchanged. An Object is
// immutable.
type Object []Member

// ParseObject parses a JSON object. If a key occurs several times, the last member counts.
// The error has the position of the fault.
func ParseObject(src string) (Object, error) {
	s := newScanner(src)
	s.Space()
	if s.Peek() != '{' {
		s.Fail("expected an object")
		return nil, s.Fault
	}
	members, ok := s.readMembers(nil)
	if !ok || !s.End() {
		return nil, s.Fault
	}
	return NewObject(members), nil
}

// readMembers appends the members of the object at the current position, in their order. If a
// key occurs several times, the last value replaces the first one in its place. Members
// beyond the limit are omitted, except those that identify the project and the person of the
// event.
func (s *scanner) readMembers(to []Member) ([]Member, bool) {
	first := len(to)
	var seen uint64 // a small filter, because most objects have no duplicate keys
	var index map[string]int
	ok := s.Object(func(key string) bool {
		value, ok := s.Raw()
		if !ok {
			return false
		}
		if s.limit > 0 && (s.Pos > s.limit || len(to)-first >= maxMembers) && key != "token" && key != "distinct_id" {
			s.truncated = true
			return true
		}
		bit := uint64(1) << (keyHash(key) & 63)
		if seen&bit != 0 {
			if index == nil && len(to)-first > 64 {
				index = make(map[string]int, 2*(len(to)-first))
				for i := first; i < len(to); i++ {
					index[to[i].Key] = i
				}
			}
			if i := find(to, first, index, key); i >= 0 {
				to[i].Value = value
				return true
			}
		}
		seen |= bit
		if index != nil {
			index[key] = len(to)
		}
		to = append(to, Member{key, value})
		return true
	})
	return to, ok
}

// find returns the position of a key in members, from first on, or -1. index is used if not
// nil.
func find(members []Member, first int, index map[string]int, key string) int {
	if index != nil {
		if i, ok := index[key]; ok {
			return i
		}
		return -1
	}
	for i := first; i < len(members); i++ {
		if members[i].Key == key {
			return i
		}
	}
	return -1
}

// keyHash returns a fast hash of a key, for the filter of readMembers.
func keyHash(key string) uint32 {
	h := uint32(len(key))
	for i := 0; i < len(key); i++ {
		h = h*31 + uint32(key[i])
	}
	return h ^ h>>7
}

// NewObject returns the object with the given members, in any order. If a key occurs several
// times, the last member counts. NewObject modifies and retains the slice.
func NewObject(members []Member) Object {
	slices.SortStableFunc(members, func(a, b Member) int { return cmp.Compare(a.Key, b.Key) })
	out := members[:0]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].Key == m.Key {
			continue
		}
		out = append(out, m)
	}
	return out
}

// Get returns the value of a key as JSON text.
func (o Object) Get(key string) (value string, ok bool) {
	if i, ok := o.search(key); ok {
		return o[i].Value, true
	}
	return "", false
}

// search returns the position of a key, or the position where it would be inserted.
func (o Object) search(key string) (int, bool) {
	return slices.BinarySearchFunc(o, key, func(m Member, key string) int { return cmp.Compare(m.Key, key) })
}

// Text returns the value of a key if it is a string.
func (o Object) Text(key string) (string, bool) {
	value, _ := o.Get(key)
	return text(value)
}

// AppendJSON appends the object as JSON text. Members whose value is the empty string are
// omitted.
func (o Object) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	start := len(dst)
	for _, m := range o {
		if m.Value == "" {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = wire.AppendQuoted(dst, m.Key)
		dst = append(dst, ':')
		dst = append(dst, m.Value...)
	}
	return append(dst, '}')
}

// String returns the object as JSON text.
func (o Object) String() string { return stringOf(o.AppendJSON(make([]byte, 0, o.size()))) }

// stringOf returns the bytes as a string, without a copy. They must not be modified any more.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// size returns the approximate length of the JSON text.
func (o Object) size() int {
	n := 2
	for _, m := range o {
		n += len(m.Key) + len(m.Value) + 4
	}
	return n
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

// detach returns a copy of the object whose strings are substrings of text, which is the object as
// JSON text. The copy does not keep the request alive that the original strings are part of.
func (o Object) detach(text string) Object {
	out := make(Object, len(o))
	end := 0 // of the members so far, and of the opening brace or comma before the next one
	for i, m := range o {
		key := end + len(`{"`)
		out[i].Key, end = text[key:key+len(m.Key)], key+len(m.Key)
		if out[i].Key != m.Key || text[end] != '"' { // it has escapes
			out[i].Key, end = strings.Clone(m.Key), key+len(wire.Quote(m.Key))-len(`""`)
		}
		value := end + len(`":`)
		end = value + len(m.Value)
		out[i].Value = text[value:end]
	}
	return out
}

// maxMembers is the greatest number of members of an object of an event, about as many as fit
// into a million bytes. An event with more is dropped for its size.
const maxMembers = 200_000

// maxAIEvent is the greatest length of the JSON text of any event, in bytes.
var maxAIEvent = wire.MaxEventOf("$ai_span")

// scanner reads JSON text without creating values: it finds the beginning and end of each
// value, so that values can be stored unchanged. The text must be valid UTF-8.
type scanner struct {
	jsontext.Reader
	// limit is the position after which readMembers omits members; if it is 0, there is no
	// limit. If it is set, readMembers also returns at most maxMembers of an object.
	limit int
	// truncated reports whether readMembers has omitted members.
	truncated bool
}

func newScanner(src string) scanner {
	return scanner{Reader: jsontext.Reader{Src: src, Spans: true}}
}

// text returns the content of a JSON string. It returns false for any other value.
func text(value string) (string, bool) {
	if value == "" || value[0] != '"' {
		return "", false
	}
	return jsontext.Unquote(value), true
}
