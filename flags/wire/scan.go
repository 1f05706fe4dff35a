package wire

import (
	"strings"
	"unicode/utf8"
)

// This file has what scanners of JSON share.

// These constants have the same byte in all eight positions.
const (
	ones  = 0x0101010101010101
	tops  = 0x80 * ones
	quote = '"' * ones
	slash = '\\' * ones
)

// EightBytes loads eight bytes. The compiler turns it into one load.
func EightBytes(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Special examines eight bytes at once and sets the top bit of each byte that must not appear
// literally in a JSON string (quotation marks, backslashes, control characters), and of each byte
// beyond ASCII whose top bit is set in high. A subtraction that borrows sets the top bit of its
// byte. Only the lowest bit that is set is exact, since a borrow can only affect the bytes above it.
func Special(x, high uint64) uint64 {
	return (((x-' '*ones)|((x^quote)-ones)|((x^slash)-ones))&^x | x&high) & tops
}

// Unescape decodes the escape sequence of a JSON string at src[pos], which is the backslash. It
// returns the character and the length of the sequence, 0 if it is not valid. Half of a surrogate
// pair is U+FFFD, and half is true.
func Unescape(src string, pos int) (c rune, n int, half bool) {
	if pos+1 == len(src) {
		return 0, 0, false
	}
	if plain := simpleEscapes[src[pos+1]]; plain != 0 {
		return rune(plain), 2, false
	}
	high, ok := fourDigits(src, pos)
	switch {
	case !ok:
		return 0, 0, false
	case high < 0xD800 || high > 0xDFFF:
		return high, 6, false
	case high < 0xDC00:
		if low, ok := fourDigits(src, pos+6); ok && low >= 0xDC00 && low <= 0xDFFF {
			return (high-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12, false
		}
	}
	return utf8.RuneError, 6, true
}

// simpleEscapes maps the character after a backslash to the byte that it represents, 0 if none.
var simpleEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// fourDigits reads \uXXXX at src[pos:].
func fourDigits(src string, pos int) (c rune, ok bool) {
	if len(src)-pos < 6 || !strings.HasPrefix(src[pos:], `\u`) {
		return 0, false
	}
	for _, digit := range []byte(src[pos+2 : pos+6]) {
		d := HexDigit(digit)
		if d < 0 {
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
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
