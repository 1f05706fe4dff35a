package capture

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep objects and lists may lie in one another (§2.6); one
// level more is refused.
const maxDepth = 128

// scanner walks over one JSON text, strict by RFC 8259. It makes no values: it
// finds where they begin and end, so that what is stored is what was sent.
//
// The text has to be UTF-8. Methods answer false after the first fault, which
// stands in fault.
type scanner struct {
	src   string
	pos   int
	depth int
	// limit is the position after which members keeps no more; 0: none.
	limit int
	fault string // empty: none
}

// SyntaxError is a text that is no JSON.
type SyntaxError struct {
	What   string
	Offset int // in bytes, from 0
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

func (s *scanner) err() error {
	if s.fault == "" {
		return nil
	}
	return &SyntaxError{s.fault, s.pos}
}

func (s *scanner) fail(what string) bool {
	if s.fault == "" {
		s.fault = what
	}
	return false
}

// peek is the byte at the present position, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\n', '\r', '\t':
			s.pos++
		default:
			return
		}
	}
}

// end reports whether nothing but white space is left.
func (s *scanner) end() bool {
	s.space()
	if s.fault == "" && s.pos < len(s.src) {
		return s.fail("unexpected text after the value")
	}
	return s.fault == ""
}

// value steps over one value and returns its text.
func (s *scanner) value() (text string, ok bool) {
	s.space()
	start := s.pos
	switch c := s.peek(); {
	case c == '"':
		ok = s.stringText()
	case c == '{':
		ok = s.object(nil)
	case c == '[':
		ok = s.list(nil)
	case c == '-' || c >= '0' && c <= '9':
		ok = s.number()
	case c == 't':
		ok = s.word("true")
	case c == 'f':
		ok = s.word("false")
	case c == 'n':
		ok = s.word("null")
	default:
		ok = s.fail("expected a value")
	}
	return s.src[start:s.pos], ok
}

func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.src[s.pos:], w) {
		return s.fail("expected a value")
	}
	s.pos += len(w)
	return true
}

// object steps over an object. each, when there is one, is called with every
// member's name, unescaped, and has to step over its value; nil steps over all.
func (s *scanner) object(each func(key string) bool) bool {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested too deep")
	}
	s.pos++ // the brace
	s.space()
	if s.peek() == '}' {
		s.pos++
		s.depth--
		return true
	}
	for {
		s.space()
		if s.peek() != '"' {
			return s.fail("expected a name in quotes")
		}
		start := s.pos
		if !s.stringText() {
			return false
		}
		name := s.src[start:s.pos]
		s.space()
		if s.peek() != ':' {
			return s.fail("expected a colon")
		}
		s.pos++
		if each == nil {
			if _, ok := s.value(); !ok {
				return false
			}
		} else {
			s.space()
			if !each(unquote(name)) {
				return false
			}
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			s.depth--
			return true
		default:
			return s.fail("expected a comma or the end of the object")
		}
	}
}

// list steps over a list. each, when there is one, has to step over one element.
func (s *scanner) list(each func() bool) bool {
	if s.depth++; s.depth > maxDepth {
		return s.fail("nested too deep")
	}
	s.pos++ // the bracket
	s.space()
	if s.peek() == ']' {
		s.pos++
		s.depth--
		return true
	}
	for {
		s.space()
		if each == nil {
			if _, ok := s.value(); !ok {
				return false
			}
		} else if !each() {
			return false
		}
		s.space()
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			s.depth--
			return true
		default:
			return s.fail("expected a comma or the end of the list")
		}
	}
}

// plain are the bytes that stand for themselves inside a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// stringText steps over a string with its quotes.
func (s *scanner) stringText() bool {
	i := s.pos + 1
	for {
		for i < len(s.src) && plain[s.src[i]] {
			i++
		}
		if i >= len(s.src) {
			s.pos = i
			return s.fail("string without an end")
		}
		switch s.src[i] {
		case '"':
			s.pos = i + 1
			return true
		case '\\':
			n := escapeLength(s.src[i:])
			if n == 0 {
				s.pos = i
				return s.fail("unknown escape sequence")
			}
			i += n
		default:
			s.pos = i
			return s.fail("control character in a string")
		}
	}
}

// escapeLength is how long the escape sequence at the beginning of s is, 0 when
// there is none like it.
func escapeLength(s string) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(s, 2); ok {
			return 6
		}
	}
	return 0
}

func hex4(s string, at int) (v uint32, ok bool) {
	if len(s) < at+4 {
		return 0, false
	}
	for _, c := range []byte(s[at : at+4]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint32(c)
	}
	return v, true
}

// number steps over a number. One that no float64 can hold is refused (§2.6).
func (s *scanner) number() bool {
	start := s.pos
	if s.peek() == '-' {
		s.pos++
	}
	switch c := s.peek(); {
	case c == '0':
		s.pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return s.fail("expected a digit")
	}
	if s.peek() == '.' {
		s.pos++
		if s.digits() == 0 {
			return s.fail("expected a digit")
		}
	}
	exponent := false
	if c := s.peek(); c == 'e' || c == 'E' {
		exponent = true
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if s.digits() == 0 {
			return s.fail("expected a digit")
		}
	}
	if exponent || s.pos-start > 300 {
		if _, err := strconv.ParseFloat(s.src[start:s.pos], 64); err != nil {
			s.pos = start
			return s.fail("number out of range")
		}
	}
	return true
}

func (s *scanner) digits() (n int) {
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.pos++
		n++
	}
	return n
}

// unquote undoes the escapes of a string's text, which has been stepped over
// before. Half of a surrogate pair becomes U+FFFD.
func unquote(text string) string {
	text = text[1 : len(text)-1]
	i := strings.IndexByte(text, '\\')
	if i < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for i >= 0 {
		out = append(out, text[:i]...)
		n := 2
		switch c := text[i+1]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, length := unicodeEscape(text[i:])
			out, n = utf8.AppendRune(out, r), length
		default:
			out = append(out, c)
		}
		text = text[i+n:]
		i = strings.IndexByte(text, '\\')
	}
	return string(append(out, text...))
}

// unicodeEscape reads \uXXXX, or two of them that are one character.
func unicodeEscape(s string) (r rune, length int) {
	v, _ := hex4(s, 2)
	if v < 0xd800 || v > 0xdfff {
		return rune(v), 6
	}
	if v < 0xdc00 && strings.HasPrefix(s[6:], `\u`) {
		if low, ok := hex4(s, 8); ok && low >= 0xdc00 && low <= 0xdfff {
			return rune((v-0xd800)<<10|(low-0xdc00)) + 0x10000, 12
		}
	}
	return utf8.RuneError, 6
}

// text is the string that a JSON text holds; false for any other value.
func text(value string) (string, bool) {
	if value == "" || value[0] != '"' {
		return "", false
	}
	return unquote(value), true
}
