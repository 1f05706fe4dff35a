package httpapi

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// text reads a string. The present byte is its quotation mark.
func (r *jsonReader) text() (string, bool) {
	const (
		ones  = 0x0101010101010101
		tops  = 0x80 * ones
		quote = '"' * ones
		slash = '\\' * ones
	)
	src, start := r.src, r.pos+1
	i := start
	if src[r.pos] != '"' {
		return r.textWithMore(start, i)
	}
	// Eight bytes at a time, up to one that may not stand for itself: quotation
	// mark, backslash, control character, or beyond ASCII. A subtraction that
	// borrows sets the top bit of its byte; the lowest bit set is exact, as
	// only what lies above it can be reached by a borrow.
	for ; i+8 <= len(src); i += 8 {
		x := eightBytes(src[i : i+8])
		special := (x | (x - ' '*ones) | ((x ^ quote) - ones) | ((x ^ slash) - ones)) & tops
		if special == 0 {
			continue
		}
		i += bits.TrailingZeros64(special) / 8
		if src[i] == '"' {
			r.pos = i + 1
			return src[start:i], true
		}
		break
	}
	return r.textWithMore(start, i)
}

// eightBytes compiles to one load.
func eightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// textWithMore reads the rest of a string of which src[start:i] is plain.
func (r *jsonReader) textWithMore(start, i int) (string, bool) {
	src, quote := r.src, r.src[start-1]
	buf := append(r.scratch[:0], src[start:i]...)
	same := true // buf and the source are still the same bytes
	for i < len(src) {
		switch c := src[i]; {
		case c == quote:
			r.pos, r.scratch = i+1, buf
			if same {
				return src[start:i], true
			}
			return string(buf), true
		case c == '\\':
			same, r.pos = false, i
			if buf = r.escape(buf); r.fault != nil {
				return "", false
			}
			i = r.pos
		case c < ' ' && (!r.lenient || c == '\n' || c == '\r'):
			r.pos = i
			return "", r.fail("control character in a string")
		case c < utf8.RuneSelf:
			buf = append(buf, c)
			i++
		default:
			n := goodUTF8(src[i:])
			if n > 0 {
				buf = append(buf, src[i:i+n]...)
			} else {
				same, n = false, brokenUTF8(src[i:])
				buf = utf8.AppendRune(buf, utf8.RuneError)
			}
			i += n
		}
	}
	r.pos = len(src)
	return "", r.fail("string without an end")
}

var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape sequence, whose backslash is the present byte.
func (r *jsonReader) escape(buf []byte) []byte {
	if r.pos+1 < len(r.src) {
		c := r.src[r.pos+1]
		if plain := simpleEscapes[c]; plain != 0 {
			r.pos += 2
			return append(buf, plain)
		}
		if c == 'u' {
			return r.unicodeEscape(buf)
		}
	}
	if r.lenient {
		return r.lenientEscape(buf)
	}
	r.fail("unknown escape sequence")
	return buf
}

// unicodeEscape reads \uXXXX, or two of them for a character above U+FFFF.
// Half a pair is a fault, or U+FFFD where the reader is lenient.
func (r *jsonReader) unicodeEscape(buf []byte) []byte {
	high, ok := hexDigits(r.src, r.pos+2, 4)
	if !ok {
		r.fail("expected four hexadecimal digits")
		return buf
	}
	if high < 0xD800 || high > 0xDFFF {
		r.pos += 6
		return utf8.AppendRune(buf, rune(high))
	}
	if high < 0xDC00 && strings.HasPrefix(r.src[r.pos+6:], `\u`) {
		if low, ok := hexDigits(r.src, r.pos+8, 4); ok && low >= 0xDC00 && low <= 0xDFFF {
			r.pos += 12
			return utf8.AppendRune(buf, rune((high-0xD800)<<10|(low-0xDC00))+0x10000)
		}
	}
	if !r.lenient {
		r.fail("half of a surrogate pair")
		return buf
	}
	r.pos += 6
	return utf8.AppendRune(buf, utf8.RuneError)
}

// hexDigits reads n hexadecimal digits at src[at:].
func hexDigits(src string, at, n int) (uint32, bool) {
	if len(src)-at < n {
		return 0, false
	}
	v := uint32(0)
	for _, c := range []byte(src[at : at+n]) {
		d := hexValue(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | uint32(d)
	}
	return v, true
}

// hexValue is the value of a hexadecimal digit, -1 for any other byte.
func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// goodUTF8 is the length of the character at the front of s, 0 if it is broken.
func goodUTF8(s string) int {
	c, n := utf8.DecodeRuneInString(s)
	if c == utf8.RuneError && n <= 1 {
		return 0
	}
	return n
}

// brokenUTF8 is how many bytes one U+FFFD stands for at the front of s: the
// longest part that could have begun a character, at least one byte.
func brokenUTF8(s string) int {
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
