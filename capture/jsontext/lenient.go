package jsontext

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file has the lenient half of Reader, for texts that the strict half refuses. PostHog's
// service reads bodies of /flags as JSON5, and so does this Reader (§9.3): comments, single quotes,
// bare names, a comma after the last member, +1, .5, 5., hexadecimal integers. NaN and the
// infinities become null. Beyond JSON5, half of a surrogate pair becomes U+FFFD.

// lenientSpace skips one comment, or one character of white space that strict JSON does not allow.
// It reports whether it skipped one.
func (r *Reader) lenientSpace() bool {
	rest := r.Src[r.Pos:]
	switch {
	case strings.HasPrefix(rest, "//"):
		end := strings.IndexFunc(rest, lineEnd)
		if end < 0 {
			end = len(rest)
		}
		r.Pos += end
		return true
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return r.Fail("comment without an end")
		}
		r.Pos += end + 4
		return true
	}
	c, n := utf8.DecodeRuneInString(rest)
	// White space of JSON5 beyond JSON: vertical tab, form feed, byte order mark, line and
	// paragraph separator, and the category Zs.
	if c != '\v' && c != '\f' && c != '\uFEFF' && c != '\u2028' && c != '\u2029' && !unicode.Is(unicode.Zs, c) {
		return false
	}
	r.Pos += n
	return true
}

// lineEnd reports whether c ends a line in JSON5.
func lineEnd(c rune) bool {
	return c == '\n' || c == '\r' || c == '\u2028' || c == '\u2029'
}

// lenientKey reads the name of a member, in single quotes or without quotes.
func (r *Reader) lenientKey() (string, bool) {
	// Names in double quotes are read by NextKey.
	if r.Peek() == '\'' {
		return r.Text()
	}
	var name strings.Builder
	for {
		c, n := utf8.DecodeRuneInString(r.Src[r.Pos:])
		// A name may contain escapes of the form \uXXXX, which must represent valid characters.
		if c == '\\' {
			if c, n, _ = wire.Unescape(r.Src, r.Pos); n < len(`\uXXXX`) {
				return "", r.Fail("expected a name")
			}
			if n > len(`\uXXXX`) { // no name has a pair of surrogates
				c = utf8.RuneError
			}
		}
		if !nameRune(c, name.Len() == 0) {
			break
		}
		name.WriteRune(c)
		r.Pos += n
	}
	if name.Len() == 0 {
		return "", r.Fail("expected a name")
	}
	return name.String(), true
}

// nameRune reports whether c may appear in an identifier of ECMAScript 5.1; first is true for its
// first character.
func nameRune(c rune, first bool) bool {
	if c == '$' || c == '_' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c) {
		return c != utf8.RuneError
	}
	return !first && (unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc) || c == '\u200C' || c == '\u200D')
}

// lenientEscape reads an escape sequence that JSON5 adds to JSON and appends its text to buf.
func (r *Reader) lenientEscape(buf []byte) []byte {
	rest := r.Src[r.Pos+1:]
	c, n := utf8.DecodeRuneInString(rest)
	switch {
	case rest == "":
		r.Fail("string without an end")
	case strings.HasPrefix(rest, "\r\n"):
		r.Pos += 3
	case lineEnd(c): // the string continues on the next line
		r.Pos += 1 + n
	case c == 'v':
		r.Pos += 2
		buf = append(buf, '\v')
	case c == '0' && (len(rest) == 1 || rest[1] < '0' || rest[1] > '9'):
		r.Pos += 2
		buf = append(buf, 0)
	case '0' <= c && c <= '9':
		r.Fail("unknown escape sequence")
	case c == 'x':
		if len(rest) < 3 || wire.HexDigit(rest[1]) < 0 || wire.HexDigit(rest[2]) < 0 {
			r.Fail("expected two hexadecimal digits")
			break
		}
		r.Pos += 4
		buf = utf8.AppendRune(buf, rune(wire.HexDigit(rest[1])<<4|wire.HexDigit(rest[2])))
	default: // the character itself, which the caller reads next
		r.Pos++
		// The caller's loop copies the next character, but would end the string at an apostrophe.
		if c == '\'' {
			r.Pos++
			buf = append(buf, '\'')
		}
	}
	return buf
}

// skipNotFinite skips NaN, Infinity and their signed forms, and reports whether it did.
func (r *Reader) skipNotFinite() bool {
	i := r.Pos
	if i < len(r.Src) && (r.Src[i] == '+' || r.Src[i] == '-') {
		i++
	}
	for _, word := range []string{"NaN", "Infinity"} {
		if strings.HasPrefix(r.Src[i:], word) {
			r.Pos = i + len(word)
			return true
		}
	}
	return false
}

// lenientNumber reads a number in the syntax of JSON5.
func (r *Reader) lenientNumber() (number, bool) {
	// The service reads them as null.
	if r.skipNotFinite() {
		return number{kind: asNull}, true
	}
	src, i := r.Src, r.Pos
	negative := src[i] == '-'
	if negative || src[i] == '+' {
		i++
	}
	// Hexadecimal integers have no fraction and no exponent.
	if strings.HasPrefix(src[i:], "0x") || strings.HasPrefix(src[i:], "0X") {
		return r.hexNumber(i+2, negative)
	}
	digits := i
	for i < len(src) && '0' <= src[i] && src[i] <= '9' {
		i++
	}
	intDigits, fraction := i-digits, 0
	// JSON5 allows no octal numbers.
	if intDigits > 1 && src[digits] == '0' {
		return number{}, r.Fail("number with a leading zero")
	}
	plain := true
	if i < len(src) && src[i] == '.' {
		plain = false
		for i++; i < len(src) && '0' <= src[i] && src[i] <= '9'; i++ {
			fraction++
		}
	}
	if intDigits+fraction == 0 {
		return number{}, r.Fail("expected a digit")
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		plain = false
		var ok bool
		if i, ok = r.exponent(i); !ok {
			return number{}, false
		}
	}
	// An integer is not parsed as a float64, which could lose digits.
	if plain {
		return r.integer(src[digits:i], 10, negative, i)
	}
	return r.float(r.Pos, i)
}

// hexNumber reads the digits of a hexadecimal integer at src[i:].
func (r *Reader) hexNumber(i int, negative bool) (number, bool) {
	start := i
	for i < len(r.Src) && wire.HexDigit(r.Src[i]) >= 0 {
		i++
	}
	if i == start {
		return number{}, r.Fail("expected a hexadecimal digit")
	}
	return r.integer(r.Src[start:i], 16, negative, i)
}

// integer returns the number of digits that were checked and end before src[end].
func (r *Reader) integer(digits string, base int, negative bool, end int) (number, bool) {
	size, err := strconv.ParseUint(digits, base, 64)
	switch {
	case err == nil:
		r.Pos = end
		return newInteger(negative, size), true
	case base == 10:
		return r.float(r.Pos, end)
	}
	// The number has more than 64 bits. ParseFloat requires an exponent after hexadecimal digits.
	f, err := strconv.ParseFloat("0x"+digits+"p0", 64)
	if err != nil {
		return number{}, r.Fail("number out of range")
	}
	if negative {
		f = math.Copysign(f, -1)
	}
	r.Pos = end
	return number{kind: asFloat, f: f}, true
}
