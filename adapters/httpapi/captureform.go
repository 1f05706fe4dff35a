package httpapi

import (
	"bytes"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// captureQuery contains the query parameters of a capture request (§1.5). If a parameter is
// repeated, the first value is used. Invalid parameters are ignored.
type captureQuery struct {
	// data is the payload; if it is not empty, the body is ignored.
	data string
	// compression is the encoding of the payload, not validated.
	compression string
	// sentAt is the time of the client's clock, in milliseconds since 1970, as text.
	sentAt string
	// beacon requests a response without a body.
	beacon bool
	// token is the project key, for surveys and early access features.
	token string
}

// parseCaptureQuery parses the raw query of a capture request. If both names of a parameter occur,
// the first in the list below is used.
func parseCaptureQuery(raw string) (q captureQuery) {
	beacon := ""
	for _, field := range []struct {
		into *string
		name string
	}{{&q.sentAt, "sent_at"}, {&q.sentAt, "_"}, {&q.compression, "compression"}, {&q.data, "data"}, {&beacon, "beacon"}, {&q.token, "token"}, {&q.token, "api_key"}} {
		if *field.into == "" && raw != "" {
			*field.into = queryValue(raw, field.name)
		}
	}
	q.beacon = beacon == "1"
	return q
}

// queryValue returns the first value of a name in a query or form, or an empty string.
func queryValue(raw, name string) string {
	for raw != "" {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if key, value, _ := strings.Cut(pair, "="); key == name || queryText(key) == name {
			return queryText(value)
		}
	}
	return ""
}

// codec is an encoding of a payload that the request can declare (§2.4).
type codec uint8

const (
	codecUnknown codec = iota
	codecGzip
	codecLZ64
	codecBase64
)

// codecs maps the names in queries, forms and headers to codecs. Other names are ignored.
var codecs = map[string]codec{
	"gzip": codecGzip, "gzip-js": codecGzip,
	"lz64": codecLZ64, "lz-string": codecLZ64,
	"base64": codecBase64, "b64": codecBase64,
}

func codecOf(name string) codec {
	if name == "" {
		return codecUnknown
	}
	return codecs[strings.ToLower(strings.TrimSpace(name))]
}

// isForm reports whether a content type is that of a form. All other types are treated the same
// (§2.3).
func isForm(contentType string) bool {
	base, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(base), "application/x-www-form-urlencoded")
}

// formNames are the fields that identify a form (§2.3).
var formNames = [][]byte{[]byte("data="), []byte("_="), []byte("ip="), []byte("compression=")}

// looksLikeForm reports whether the first 128 bytes contain one of formNames.
func looksLikeForm(payload []byte) bool {
	head := payload[:min(len(payload), 128)]
	for {
		for _, name := range formNames {
			if bytes.HasPrefix(head, name) {
				return true
			}
		}
		next := bytes.IndexByte(head, '&')
		if next < 0 {
			return false
		}
		head = head[next+1:]
	}
}

// unescape decodes the percent escapes and plus signs of a form, in place. A percent sign that is
// not followed by two hexadecimal digits is literal.
func unescape(text []byte) []byte {
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

// undoBase64 decodes text in place if it is base64 (§2.2), and otherwise returns it unchanged. JSON
// objects and arrays are never base64, because their first character is outside of both alphabets.
func undoBase64(text []byte) []byte {
	if !isBase64(text) {
		return text
	}
	// At the earliest, three bytes are written after four digits have been read.
	out, _ := decodeBase64As(text, text, 62)
	return out
}
