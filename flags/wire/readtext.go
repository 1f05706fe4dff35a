package wire

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// StartsText reports whether the value at the current position is a string.
func (r *Reader) StartsText() bool {
	c := r.Peek()
	return c == '"' || c == '\'' && r.Lenient
}

// These constants have the same byte in all eight positions.
const (
	ones  = 0x0101010101010101
	tops  = 0x80 * ones // as the argument stop of plainEnd it also finds bytes beyond ASCII
	quote = '"' * ones
	slash = '\\' * ones
)

// special examines eight bytes at once and sets the top bit of each byte that must not appear
// literally in a string: quotation marks, backslashes, control characters. A subtraction that
// borrows sets the top bit of its byte. Only the lowest bit that is set is exact, since a borrow
// can only affect the bytes above it.
func special(x uint64) uint64 {
	return ((x - ' '*ones) | ((x ^ quote) - ones) | ((x ^ slash) - ones)) &^ x & tops
}

// specialOrHigh is like special and also sets the top bit of bytes beyond ASCII.
func specialOrHigh(x uint64) uint64 {
	return (x | (x - ' '*ones) | ((x ^ quote) - ones) | ((x ^ slash) - ones)) & tops
}

// plainEnd returns the index of the first special byte of a string from src[i] on. If stop is tops,
// it also stops at the first byte beyond ASCII; if stop is 0, it does not.
func plainEnd(src string, i int, stop uint64) int {
	for ; i+8 <= len(src); i += 8 {
		x := eightBytes(src[i : i+8])
		if s := special(x) | x&stop; s != 0 {
			return i + bits.TrailingZeros64(s)/8
		}
	}
	for i < len(src) && src[i] >= ' ' && src[i] != '"' && src[i] != '\\' && (stop == 0 || src[i] < utf8.RuneSelf) {
		i++
	}
	return i
}

// eightBytes loads eight bytes. The compiler turns it into one load.
func eightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// skipText skips a string in strict JSON.
func (r *Reader) skipText() bool {
	src, i := r.Src, r.Pos+1
	for {
		if i = plainEnd(src, i, 0); i == len(src) {
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
		case i+1 < len(src) && simpleEscapes[src[i+1]] != 0:
			i += 2
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
		x := eightBytes(src[i : i+8])
		if s := specialOrHigh(x); s != 0 {
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

// simpleEscapes maps the character after a backslash to the byte that it represents, 0 if none.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads one escape sequence and appends its text to buf. The byte at the current position is
// the backslash.
func (r *Reader) escape(buf []byte) []byte {
	if r.Pos+1 < len(r.Src) {
		c := r.Src[r.Pos+1]
		if plain := simpleEscapes[c]; plain != 0 {
			r.Pos += 2
			return append(buf, plain)
		}
		if c == 'u' {
			return r.unicodeEscape(buf)
		}
	}
	if r.Lenient {
		return r.lenientEscape(buf)
	}
	r.Fail("unknown escape sequence")
	return buf
}

// unicodeEscape reads the escape of a character and appends it to buf. In strict mode half of a
// surrogate pair is a fault.
func (r *Reader) unicodeEscape(buf []byte) []byte {
	c, n, half := unicodeEscape(r.Src, r.Pos)
	switch {
	case n == 0:
		r.failText(noFourHex)
	case half && !r.Lenient && !r.Spans:
		r.Fail("half of a surrogate pair")
	default:
		r.Pos += n
		buf = utf8.AppendRune(buf, c)
	}
	return buf
}

// unicodeEscape reads \uXXXX at src[pos:], or two of them for a character above U+FFFF, and returns
// the character and the length of its escapes, 0 if there is no valid one. Half of a surrogate pair
// is U+FFFD, and half is true.
func unicodeEscape(src string, pos int) (c rune, n int, half bool) {
	high, ok := hexDigits(src, pos+2, 4)
	switch {
	case !ok:
		return 0, 0, false
	case high < 0xD800 || high > 0xDFFF:
		return rune(high), 6, false
	case high < 0xDC00 && strings.HasPrefix(src[pos+6:], `\u`):
		if low, ok := hexDigits(src, pos+8, 4); ok && low >= 0xDC00 && low <= 0xDFFF {
			return rune((high-0xD800)<<10|(low-0xDC00)) + 0x10000, 12, false
		}
	}
	return utf8.RuneError, 6, true
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
		// Other escapes have two bytes.
		n, half := 0, false
		if strings.HasPrefix(s[i:], `\u`) {
			_, n, half = unicodeEscape(s, i)
		}
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

// hexDigits reads n hexadecimal digits at src[pos:].
func hexDigits(src string, pos, n int) (uint32, bool) {
	if len(src)-pos < n {
		return 0, false
	}
	v := uint32(0)
	for _, c := range []byte(src[pos : pos+n]) {
		d := HexDigit(c)
		if d < 0 {
			return 0, false
		}
		v = v<<4 | uint32(d)
	}
	return v, true
}

// HexDigit returns the value of a hexadecimal digit, or -1 for any other byte.
func HexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
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
