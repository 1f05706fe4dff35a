package httpapi

import (
	"bytes"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// captureQuery is what the query of a capture request says (§1.5). Of equal
// names the first counts, and nothing in it is an error.
type captureQuery struct {
	// data is the payload, "" for none. It wins over the body.
	data string
	// compression names the encoding of the payload, any text.
	compression string
	// sentAt is the client's clock: milliseconds since 1970, as text.
	sentAt string
	// beacon asks for an empty answer.
	beacon bool
	// token is the project's key, for surveys and early access features.
	token string
}

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

// queryValue is the first value of a name in a query or form.
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

// codec is an encoding that a payload may be told to have (§2.4).
type codec uint8

const (
	codecUnknown codec = iota
	codecGzip
	codecLZ64
	codecBase64
)

// codecs by the names that queries, forms and headers have for them. Other names
// say nothing.
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

// isForm reports whether a content type is that of forms; all others are equal
// (§2.3).
func isForm(contentType string) bool {
	base, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(base), "application/x-www-form-urlencoded")
}

// formNames are the members by which a form is known (§2.3).
var formNames = [][]byte{[]byte("data="), []byte("_="), []byte("ip="), []byte("compression=")}

// looksLikeForm looks for a member of a form in the first 128 bytes.
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

// unescape undoes the percent escapes and plus signs of a form, in place. A
// percent sign without two hexadecimal digits stands for itself.
func unescape(text []byte) []byte {
	out := text[:0] // never ahead of what is read
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

// isBase64 reports whether text is base64 in its entirety, in either alphabet,
// with or without padding and line ends. A blank is a plus sign that a form
// decoder took away (§2.3).
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

// undoBase64 replaces a text that is base64 by what it stands for, in place
// (§2.2), and leaves every other as it is. JSON is none: its first character is
// outside of the alphabets.
func undoBase64(text []byte) []byte {
	if !isBase64(text) {
		return text
	}
	// Three bytes are written after four digits have been read, at the earliest.
	out, _ := decodeBase64As(text, text, 62)
	return out
}
