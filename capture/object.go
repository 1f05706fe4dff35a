package capture

import (
	"cmp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Member is a member of a JSON object: its name, and its value as JSON text.
type Member struct{ Key, Value string }

// Object is a JSON object: sorted by key, each key once. Values are JSON text
// as it was sent, so that nothing is lost on the way through. An Object is
// never changed; what changes it makes a new one.
type Object []Member

// ParseObject reads a JSON object. Of equal keys the last one stays. The error is a
// *wire.Fault.
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

// readMembers appends the members of the object at the present position, in order,
// each key once: the last one's value, in the first one's place. Those beyond
// the limit are left out, but for what says whose the event is.
func (s *scanner) readMembers(to []Member) ([]Member, bool) {
	first := len(to)
	var seen uint64 // a small filter: most objects hold no key twice
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

func keyHash(key string) uint32 {
	h := uint32(len(key))
	for i := 0; i < len(key); i++ {
		h = h*31 + uint32(key[i])
	}
	return h ^ h>>7
}

// NewObject makes an object of members in any order; of equal keys the last
// one stays. It takes the slice over.
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

func (o Object) search(key string) (int, bool) {
	return slices.BinarySearchFunc(o, key, func(m Member, key string) int { return cmp.Compare(m.Key, key) })
}

// Text returns the value of a key that is a string.
func (o Object) Text(key string) (string, bool) {
	value, _ := o.Get(key)
	return text(value)
}

// AppendJSON appends the object as JSON text. Members without a value are left out.
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

// String is the object as JSON text.
func (o Object) String() string { return string(o.AppendJSON(make([]byte, 0, o.size()))) }

// size is about how long the JSON text is.
func (o Object) size() int {
	n := 2
	for _, m := range o {
		n += len(m.Key) + len(m.Value) + 4
	}
	return n
}

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) { return o.AppendJSON(nil), nil }

// rooted is the object as JSON text, and the object cut from that text, so that
// it does not keep the request alive from which its parts came.
func (o Object) rooted() (Object, string) {
	all := make([]byte, 0, o.size())
	out := make(Object, len(o))
	type span struct{ key, value, end int }
	spans := make([]span, len(o))
	all = append(all, '{')
	for i, m := range o {
		if i > 0 {
			all = append(all, ',')
		}
		spans[i].key = len(all)
		all = append(wire.AppendQuoted(all, m.Key), ':')
		spans[i].value = len(all)
		all = append(all, m.Value...)
		spans[i].end = len(all)
	}
	text := string(append(all, '}'))
	for i, m := range o {
		out[i] = Member{text[spans[i].key+1 : spans[i].value-2], text[spans[i].value:spans[i].end]}
		if out[i].Key != m.Key { // it has escapes
			out[i].Key = strings.Clone(m.Key)
		}
	}
	return out, text
}
