package tape

import (
	"math"
	"math/bits"
	"runtime"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxTapeDepth is the maximum nesting that encoding/json accepts.
	maxTapeDepth = 10_000
	// cellsAtOnce is the number of cells that are scanned before the goroutine yields: some 100 µs.
	cellsAtOnce = 4096
	// bytesOfCell is the approximate length of a value in definitions, including its name.
	bytesOfCell = 9
)

// Scan splits a JSON text into its values. It reports false if encoding/json would not accept the
// text as JSON, or if the text is longer than 2 GiB. Members with the same name are all in the
// result.
func Scan(src string, names *Names) (Tape, bool) {
	if len(src) > math.MaxInt32 {
		// Positions in the text are int32.
		return Tape{}, false
	}
	s := scanner{src: src, names: names, cells: make([]Cell, 0, len(src)/bytesOfCell+8)}
	ok := s.document()
	return Tape{src, s.cells, names}, ok
}

// scanner is the state of a Scan.
type scanner struct {
	src   string
	at    int // in src
	names *Names
	cells []Cell
	open  []int32 // the enclosing objects and lists, as indexes of cells
	name  uint8   // of the next value
}

// document reads the whole text: values, and the separators between them.
func (s *scanner) document() bool {
	s.space()
	for yieldAt := cellsAtOnce; ; {
		if !s.value() || !s.nextValue() {
			return false
		}
		if len(s.open) == 0 {
			return s.at == len(s.src)
		}
		if len(s.cells) >= yieldAt {
			yieldAt += cellsAtOnce
			// A large document must not block other goroutines of a process with one processor.
			runtime.Gosched()
		}
	}
}

// space skips white space.
func (s *scanner) space() {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return
		}
	}
}

// value reads a scalar, or the beginning of an object or list up to its first scalar.
func (s *scanner) value() bool {
	for s.at < len(s.src) {
		c := s.src[s.at]
		if c != '{' && c != '[' {
			return s.scalar(c)
		}
		if len(s.open) == maxTapeDepth {
			return false
		}
		kind := Object
		if c == '[' {
			kind = List
		}
		// The cell of an object or a list precedes those of its contents; nextValue completes it at
		// the end.
		s.open = append(s.open, int32(len(s.cells)))
		s.add(kind, s.at)
		s.at++
		s.space()
		if s.at < len(s.src) && s.src[s.at] == c+2 { // empty: nextValue closes it
			return true
		}
		// The first member or element has no comma, so it is counted here.
		s.cells[len(s.cells)-1].Count = 1
		if c == '{' && !s.member() {
			return false
		}
	}
	return false
}

// scalar reads a value that begins with c and is neither an object nor a list.
func (s *scanner) scalar(c byte) bool {
	start, kind, ok := s.at, Null, true
	switch c {
	case '"':
		kind = s.text()
		ok = kind != Null
	case 't':
		kind, ok = True, s.word("true")
	case 'f':
		kind, ok = False, s.word("false")
	case 'n':
		ok = s.word("null")
	default:
		kind, ok = Number, (c == '-' || '0' <= c && c <= '9') && s.number()
	}
	s.add(kind, start)
	return ok
}

// add appends the cell of a value that ends at the current position and has no members. The cells of
// objects and lists get their end and count later.
func (s *scanner) add(kind Kind, start int) {
	s.cells = append(s.cells, Cell{
		At: int32(start), End: int32(s.at), Next: int32(len(s.cells) + 1), Kind: kind, Name: s.name,
	})
	s.name = 0
}

// nextValue skips from the end of a value to the next one, or to the end of the text.
func (s *scanner) nextValue() bool {
	for {
		s.space()
		if len(s.open) == 0 || s.at == len(s.src) {
			return len(s.open) == 0
		}
		// in is the cell of the enclosing object or list.
		in := &s.cells[s.open[len(s.open)-1]]
		switch c := s.src[s.at]; {
		case c == ',':
			// Each comma precedes one more member or element.
			in.Count++
			s.at++
			s.space()
			return in.Kind == List || s.member()
		case c == s.src[in.At]+2: // } is two above {, and ] two above [
			s.at++
			in.End, in.Next = int32(s.at), int32(len(s.cells))
			s.open = s.open[:len(s.open)-1]
		default:
			return false
		}
	}
}

// member reads the name of a member, up to its value.
func (s *scanner) member() bool {
	start := s.at
	if start == len(s.src) || s.src[start] != '"' {
		return false
	}
	switch s.text() {
	case Text:
		s.name = s.names.Number(s.src[start+1 : s.at-1])
	case Escaped:
		s.name = s.names.Number(unquoteBytes(s.src[start:s.at]))
	default:
		return false
	}
	if s.space(); s.at == len(s.src) || s.src[s.at] != ':' {
		return false
	}
	s.at++
	s.space()
	return true
}

// text skips a string and returns Text, Escaped, or Null for an invalid one.
func (s *scanner) text() Kind {
	src, i, kind := s.src, s.at+1, Text
	for {
		for ; i+8 <= len(src); i += 8 { // eight bytes at once
			if found := wire.Special(wire.EightBytes(src[i:i+8]), math.MaxUint64); found != 0 {
				i += bits.TrailingZeros64(found) / 8
				break
			}
		}
		if i == len(src) {
			return Null
		}
		switch c := src[i]; {
		case c == '"':
			s.at = i + 1
			return kind
		case c == '\\':
			_, n, _ := wire.Unescape(src, i)
			if n == 0 {
				return Null
			}
			kind, i = Escaped, i+n
		case c < ' ':
			return Null
		case c < utf8.RuneSelf: // one of the last bytes, fewer than eight
			i++
		default:
			c, n := utf8.DecodeRuneInString(src[i:])
			if c == utf8.RuneError && n == 1 {
				kind = Escaped
			}
			i += n
		}
	}
}

// word skips a literal word, such as true.
func (s *scanner) word(w string) bool {
	if len(s.src)-s.at < len(w) || s.src[s.at:s.at+len(w)] != w {
		return false
	}
	s.at += len(w)
	return true
}

// number skips a number. After a leading zero it stops, so that further digits are an error.
func (s *scanner) number() bool {
	src, i := s.src, s.at
	if src[i] == '-' {
		i++
	}
	first := i
	if i = digitsEnd(src, i); i == first {
		return false
	}
	if src[first] == '0' {
		i = first + 1
	}
	if i < len(src) && src[i] == '.' {
		from := i + 1
		if i = digitsEnd(src, from); i == from {
			return false
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		i++
		if i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		from := i
		if i = digitsEnd(src, from); i == from {
			return false
		}
	}
	s.at = i
	return true
}

// digitsEnd returns the index after the digits at src[i:].
func digitsEnd(src string, i int) int {
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		i++
	}
	return i
}
