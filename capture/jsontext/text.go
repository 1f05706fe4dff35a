package jsontext

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// StartsText reports whether the value at the current position is a string.
func (r *Reader) StartsText() bool {
	c := r.Peek()
	return c == '"' || c == '\'' && r.Lenient
}

// plainEnd returns the index of the first byte of a string from src[i] on that must not appear
// literally.
func plainEnd(src string, i int) int {
	for ; i+8 <= len(src); i += 8 {
		if s := wire.Special(wire.EightBytes(src[i:i+8]), 0); s != 0 {
			return i + bits.TrailingZeros64(s)/8
		}
	}
	for i < len(src) && src[i] >= ' ' && src[i] != '"' && src[i] != '\\' {
		i++
	}
	return i
}

// skipText skips a string in strict JSON.
func (r *Reader) skipText() bool {
	src, i := r.Src, r.Pos+1
	for {
		if i = plainEnd(src, i); i == len(src) {
			r.Pos = i
			return r.Fail("string without an end")
		}
		switch c := src[i]; {
		case c == '"':
			r.Pos = i + 1
			return true
		case c != '\\':
			r.Pos = i
			return r.Fail("control character in a string")
		default:
			r.Pos = i
			r.Scratch = r.escape(r.Scratch[:0])
			if i = r.Pos; r.Fault != nil {
				return false
			}
		}
	}
}

// Text reads a string. The byte at the current position must be its quotation mark.
func (r *Reader) Text() (string, bool) {
	src, start := r.Src, r.Pos+1
	if src[r.Pos] != '"' {
		return r.textWithMore(start, start)
	}
	i := start
	for ; i+8 <= len(src); i += 8 { // like plainEnd, without a call
		if s := wire.Special(wire.EightBytes(src[i:i+8]), math.MaxUint64); s != 0 {
			if i += bits.TrailingZeros64(s) / 8; src[i] == '"' {
				r.Pos = i + 1
				return src[start:i], true
			}
			break
		}
	}
	return r.textWithMore(start, i)
}

// textWithMore reads the rest of a string, of which src[start:i] contains no escapes.
func (r *Reader) textWithMore(start, i int) (string, bool) {
	src, closing := r.Src, r.Src[start-1]
	buf, from := r.Scratch[:0], start // src[from:i] is not yet in buf
	same := true                      // buf is empty: the string is a slice of src
	for i < len(src) {
		switch c := src[i]; {
		case c == closing:
			r.Pos = i + 1
			if same {
				return src[start:i], true
			}
			buf = append(buf, src[from:i]...)
			r.Scratch = buf
			return string(buf), true
		case c == '\\':
			same, r.Pos = false, i
			if buf = r.escape(append(buf, src[from:i]...)); r.Fault != nil {
				return "", false
			}
			i = r.Pos
			from = i
		case c < ' ' && (!r.Lenient || c == '\n' || c == '\r'):
			r.Pos = i
			return "", r.Fail("control character in a string")
		case c < utf8.RuneSelf:
			i++
		default:
			if n := validPrefix(src[i:]); n > 0 {
				i += n
				continue
			}
			same, buf = false, utf8.AppendRune(append(buf, src[from:i]...), utf8.RuneError)
			i += invalidPrefix(src[i:])
			from = i
		}
	}
	r.Pos = len(src)
	return "", r.Fail("string without an end")
}

// Unquote returns the string that a JSON string literal represents. The text must have been checked
// before. Half of a surrogate pair becomes U+FFFD.
func Unquote(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	// The text without escapes is at most as long as the literal, so Scratch does not grow.
	r := Reader{Src: text, Spans: true, Scratch: make([]byte, 0, len(text))}
	s, _ := r.Text()
	return s
}

// escape reads one escape sequence and appends its text to buf. The byte at the current position is
// the backslash. In strict mode half of a surrogate pair is a fault.
func (r *Reader) escape(buf []byte) []byte {
	c, n, half := wire.Unescape(r.Src, r.Pos)
	switch {
	case half && !r.Lenient && !r.Spans:
		r.Fail("half of a surrogate pair")
	case n > 0:
		r.Pos += n
		buf = utf8.AppendRune(buf, c)
	case strings.HasPrefix(r.Src[r.Pos+1:], "u"):
		r.failText(noFourHex)
	case r.Lenient:
		return r.lenientEscape(buf)
	default:
		r.Fail("unknown escape sequence")
	}
	return buf
}

// ReplaceHalfPairs replaces every escape of half a surrogate pair with \ufffd, which has the same
// length, so that offsets in the text remain valid.
func ReplaceHalfPairs(s string) string {
	if !strings.Contains(s, `\ud`) && !strings.Contains(s, `\uD`) {
		return s
	}
	var out []byte
	for i := 0; ; {
		next := strings.IndexByte(s[i:], '\\')
		if next < 0 {
			break
		}
		i += next
		_, n, half := wire.Unescape(s, i)
		if half {
			if out == nil {
				out = []byte(s)
			}
			copy(out[i:], `\ufffd`)
		}
		i = min(i+max(n, 2), len(s))
	}
	if out == nil {
		return s
	}
	return string(out)
}

// validPrefix returns the length in bytes of the character at the start of s, or 0 if it is not
// valid UTF-8.
func validPrefix(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	if c == utf8.RuneError && n <= 1 {
		return 0
	}
	return n
}

// invalidPrefix returns the number of bytes at the start of s that one U+FFFD replaces: the longest
// part that could begin a character, and at least one byte.
func invalidPrefix(s string) int {
	size, low, high := 0, byte(0x80), byte(0xBF)
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		size = 2
	case c >= 0xE0 && c <= 0xEF:
		size = 3
	case c >= 0xF0 && c <= 0xF4:
		size = 4
	}
	switch s[0] { // no overlong forms, no surrogates, nothing above U+10FFFF
	case 0xE0:
		low = 0xA0
	case 0xED:
		high = 0x9F
	case 0xF0:
		low = 0x90
	case 0xF4:
		high = 0x8F
	}
	n := 1
	for n < size && n < len(s) && low <= s[n] && s[n] <= high {
		n, low, high = n+1, 0x80, 0xBF
	}
	return n
}
