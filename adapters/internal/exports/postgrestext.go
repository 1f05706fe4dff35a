package exports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// replacement replaces characters that PostgreSQL cannot store.
const replacement = "\uFFFD"

// maxNumber is the maximum length of a JSON number in characters, and its maximum exponent. jsonb
// has limits too, which are far higher.
const maxNumber = 1000

// pgText returns a string that PostgreSQL can store: UTF-8 without NUL.
func pgText(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", replacement)
	}
	return strings.ToValidUTF8(s, replacement)
}

// pgShort returns the first shortText characters of a string.
func pgShort(s string) string {
	n := 0
	for i := range s {
		if n++; n > shortText {
			return s[:i]
		}
	}
	return s
}

// maxKey is the maximum length of a string in a key, in bytes: an index of PostgreSQL allows 2,704
// for all columns together.
const maxKey = 1000

// pgKey shortens a string that is too long for an index: it returns the beginning and a hash of the
// whole string, which keeps it unique. A session's id may have any length.
func pgKey(s string) string {
	sum := sha256.Sum256([]byte(s))
	return pgText(s[:maxKey-2*len(sum)-8]) + "#" + hex.EncodeToString(sum[:])
}

// pgJSON returns JSON that jsonb accepts: without escapes of NUL and of single surrogates
// (spec/clients.md §16), and with too large numbers as strings. Everyone can send events, and one
// event must not prevent the export of all others.
func pgJSON(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte(replacement))
	}
	var out []byte // nil while raw needs no change
	copied := 0    // raw is in out up to this index
	put := func(from, to int, text string) {
		out = append(append(out, raw[copied:from]...), text...)
		copied = to
	}
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i = pgString(raw, i+1, put)
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(raw) && strings.IndexByte("+-.0123456789eE", raw[end]) >= 0 {
				end++
			}
			if number := raw[i:end]; isTooLarge(number) {
				put(i, end, `"`+string(number)+`"`)
			}
			i = end
		default:
			i++
		}
	}
	if out == nil {
		return raw
	}
	return append(out, raw[copied:]...)
}

// pgString processes a string whose first character is at i, and returns the index after its
// closing quote.
func pgString(raw []byte, i int, put func(from, to int, text string)) int {
	for i < len(raw) && raw[i] != '"' {
		switch {
		case raw[i] != '\\':
			i++
		case i+1 >= len(raw) || raw[i+1] != 'u':
			i += 2
		default:
			first, second := readUnit(raw, i), readUnit(raw, i+6)
			switch {
			case first == 0 || utf16.IsSurrogate(first) && utf16.DecodeRune(first, second) == utf8.RuneError:
				put(i, min(i+6, len(raw)), "")
				i += 6
			case utf16.IsSurrogate(first):
				i += 12
			default:
				i += 6
			}
		}
	}
	return i + 1
}

// readUnit parses an escape \uXXXX, and returns -1 if there is no escape.
func readUnit(raw []byte, i int) rune {
	if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// isTooLarge reports whether a number has more digits than are sent to PostgreSQL.
func isTooLarge(number []byte) bool {
	if len(number) > maxNumber {
		return true
	}
	at := bytes.IndexAny(number, "eE")
	if at < 0 {
		return false
	}
	n, err := strconv.Atoi(strings.TrimPrefix(string(number[at+1:]), "+"))
	return err != nil || n > maxNumber || n < -maxNumber
}
