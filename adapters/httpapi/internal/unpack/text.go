package unpack

import (
	"bytes"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags/wire"
)

// form extracts the JSON from a form body (§9.3): the value of the form field data, or the whole
// body if it has no such field. It is more lenient than the specification in two ways: it ignores
// other fields, and the value may be plain JSON, since curl -d sends plain JSON with this content
// type.
func (u *unpacker) form(body []byte, compression string) ([]byte, *problem.Body) {
	data, inForm := FormMember(body, "data=")
	if !inForm {
		data = body
		if StartsObject(body) {
			return body, nil
		}
	}
	if compression == "" {
		name, _ := FormMember(body, "compression=")
		compression = QueryText(string(name))
	}
	switch strings.ToLower(compression) {
	case "", "base64":
		if StartsObject(data) || bytes.HasPrefix(data, []byte("%7B")) || bytes.HasPrefix(data, []byte("%7b")) {
			if err := u.reserve(2 * len(data)); err != nil {
				return nil, err
			}
			return []byte(QueryText(string(data))), nil
		}
		return u.base64(data, true)
	case "gzip", "gzip-js":
		return nil, &problem.Body{Status: 400, Attr: "compression", Detail: "Gzip compression not supported for form-urlencoded data"}
	case "lz64":
		return u.lz64(data)
	}
	return nil, unsupportedCompression(compression)
}

// FormMember returns the value of a form field. name must include the equals sign.
func FormMember(body []byte, name string) (value []byte, found bool) {
	for len(body) > 0 {
		var member []byte
		member, body, _ = bytes.Cut(body, []byte("&"))
		if bytes.HasPrefix(member, []byte(name)) {
			return member[len(name):], true
		}
	}
	return nil, false
}

// reserve reserves n bytes for decoded text. Small amounts are not counted.
func (u *unpacker) reserve(n int) *problem.Body {
	if n <= FirstRead {
		return nil
	}
	if err := u.lease.Reserve(int64(n)); err != nil {
		return &problem.Body{Cause: err}
	}
	return nil
}

// lz64 unpacks LZ-string text. It reserves the memory for the work first.
func (u *unpacker) lz64(packed []byte) ([]byte, *problem.Body) {
	limit := u.limit
	if u.lease != nil {
		var work int64
		limit, work = lz64Bounds(u.lease, packed, limit)
		if err := u.reserve(int(work)); err != nil {
			return nil, err
		}
	}
	return unpackLZ64(packed, limit)
}

// base64 decodes base64, and gzip inside it. Invalid base64 is an error in a form; in other bodies
// it is returned unchanged, for the JSON decoder to reject or accept.
func (u *unpacker) base64(text []byte, form bool) ([]byte, *problem.Body) {
	if err := u.reserve(len(text)); err != nil {
		return nil, err
	}
	decoded, ok := DecodeBase64(u.free(), text)
	switch {
	case !ok && form:
		err := undecodable("Base64 decoding error")
		err.Attr = "data"
		return nil, err
	case !ok:
		return text, nil
	case IsGzip(decoded):
		return u.gunzip(decoded)
	}
	return decoded, nil
}

// base64Value maps each byte to its value as a base64 digit, in the standard alphabet and the one
// for URLs. It is -1 for bytes that are not digits, and -2 for white space, which is skipped.
var base64Value = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = int8(i)
	}
	t['-'], t['_'] = 62, 63
	t['\n'], t['\r'], t['\t'] = -2, -2, -2
	return t
}()

// DecodeBase64 appends the decoded text to dst[:0] and reports whether the text is valid base64.
// Percent escapes are decoded first; padding may be missing. A blank may be a plus sign that a form
// decoder has replaced, or noise: DecodeBase64 prefers the reading that results in a JSON object,
// and otherwise the first that is valid base64.
func DecodeBase64(dst, text []byte) ([]byte, bool) {
	out, ok := decodeBase64As(dst, text, 62)
	if !bytes.ContainsAny(text, " ") && !bytes.Contains(text, []byte("%20")) || ok && utf8.Valid(out) && StartsObject(out) {
		return out, ok
	}
	without, okWithout := decodeBase64As(nil, text, -2)
	if okWithout && (!ok || utf8.Valid(without) && StartsObject(without)) {
		return without, true
	}
	return out, ok
}

// decodeBase64As is DecodeBase64 with a fixed reading of blanks: blank is the value of a digit, or
// -2 to skip blanks.
func decodeBase64As(dst, text []byte, blank int8) ([]byte, bool) {
	dst = dst[:0]
	bits, pending := uint32(0), 0 // the digits of an incomplete group of four
	padded := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			high, low := wire.HexDigit(text[i+1]), wire.HexDigit(text[i+2])
			if high < 0 || low < 0 {
				return nil, false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		v := base64Value[c]
		switch c {
		case ' ':
			v = blank
		case '=':
			padded = true
			continue
		}
		switch {
		case v == -2:
			continue
		case v == -1 || padded:
			return nil, false
		}
		bits = bits<<6 | uint32(v)
		if pending++; pending == 4 {
			dst = append(dst, byte(bits>>16), byte(bits>>8), byte(bits))
			bits, pending = 0, 0
		}
	}
	switch pending {
	case 1:
		return nil, false
	case 2:
		dst = append(dst, byte(bits>>4))
	case 3:
		dst = append(dst, byte(bits>>10), byte(bits>>2))
	}
	return dst, true
}

// AsText converts b to a string without copying. The caller must not modify b afterwards.
func AsText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

var byteOrderMark = []byte("\xef\xbb\xbf")

// StartsJSON reports whether the first character other than white space begins an object or an
// array.
func StartsJSON(text []byte) bool {
	for _, c := range bytes.TrimPrefix(text, byteOrderMark) {
		if c > ' ' {
			return c == '{' || c == '['
		}
	}
	return false
}

// Unescape decodes the percent escapes and plus signs of a form, in place. A percent sign that is
// not followed by two hexadecimal digits is literal.
func Unescape(text []byte) []byte {
	out := text[:0] // never longer than the part of text that was read
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '+':
			c = ' '
		case c == '%' && i+2 < len(text) && wire.HexDigit(text[i+1]) >= 0 && wire.HexDigit(text[i+2]) >= 0:
			c = byte(wire.HexDigit(text[i+1])<<4 | wire.HexDigit(text[i+2]))
			i += 2
		}
		out = append(out, c)
	}
	return out
}

// isBase64 reports whether the whole text is base64, in either alphabet, with or without padding
// and line breaks. A blank counts as a plus sign that a form decoder has replaced (§2.3).
func isBase64(text []byte) bool {
	digits, padding := 0, 0
	for _, c := range text {
		switch v := base64Value[c]; {
		case c == '=':
			padding++
		case v == -2:
		case v >= 0 || c == ' ':
			if padding > 0 {
				return false
			}
			digits++
		default:
			return false
		}
	}
	return digits > 0 && digits%4 != 1 && padding <= 2
}

// UndoBase64 decodes text in place if it is base64 (§2.2), and otherwise returns it unchanged. JSON
// objects and arrays are never base64, because their first character is outside of both alphabets.
func UndoBase64(text []byte) []byte {
	if !isBase64(text) {
		return text
	}
	// At the earliest, three bytes are written after four digits have been read.
	out, _ := decodeBase64As(text, text, 62)
	return out
}

// FirstRead is the maximum memory, in bytes, that is allocated for the declared length of a body.
// More is allocated only as bytes arrive, so that clients cannot reserve memory without sending
// data.
const FirstRead = 64 << 10

// StartsObject reports whether the first character other than white space is an opening brace.
func StartsObject(text []byte) bool {
	for _, c := range text {
		if c > ' ' {
			return c == '{'
		}
	}
	return false
}

// QueryText decodes the percent escapes and plus signs of a query or form.
func QueryText(s string) string {
	if strings.IndexByte(s, '%') < 0 && strings.IndexByte(s, '+') < 0 {
		return s
	}
	return string(Unescape([]byte(s)))
}
