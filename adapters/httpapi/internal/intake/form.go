package intake

import (
	"bytes"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
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
		if key, value, _ := strings.Cut(pair, "="); key == name || unpack.QueryText(key) == name {
			return unpack.QueryText(value)
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
