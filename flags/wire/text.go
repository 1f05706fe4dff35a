package wire

import "unicode/utf8"

// escapes maps each byte to its form in a JSON string: 0 if it is written unchanged, 'u' if it
// needs a hexadecimal escape, otherwise the character after a backslash. Bytes beyond ASCII have
// 'u' too; AppendQuoted treats them separately.
var escapes = func() (t [256]byte) {
	for c := range t {
		if c < ' ' || c >= utf8.RuneSelf {
			t[c] = 'u'
		}
	}
	t['"'], t['\\'] = '"', '\\'
	t['\b'], t['\t'], t['\n'], t['\f'], t['\r'] = 'b', 't', 'n', 'f', 'r'
	return t
}()

// AppendQuoted appends s as a JSON string with the fewest escapes: only quotation marks,
// backslashes and the control characters below space are escaped. Bytes that are not UTF-8 become
// U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		escape := escapes[c]
		switch {
		case escape == 0:
			i++
			continue
		case c >= utf8.RuneSelf:
			// An invalid byte is decoded as RuneError with size 1; a valid U+FFFD has size 3.
			r, size := utf8.DecodeRuneInString(s[i:])
			if i += size; r == utf8.RuneError && size == 1 {
				dst = append(append(dst, s[start:i-1]...), "\ufffd"...)
				start = i
			}
			continue
		}
		dst = append(append(dst, s[start:i]...), '\\', escape)
		if escape == 'u' {
			dst = append(dst, '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// Quote returns s as a JSON string, see [AppendQuoted].
func Quote(s string) string { return string(AppendQuoted(make([]byte, 0, len(s)+2), s)) }

// Shorten cuts s to at most limit bytes, without splitting a character, and appends an ellipsis if
// it cut something. It is for messages that people read.
func Shorten(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	// Move back to the beginning of a character.
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
