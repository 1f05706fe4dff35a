package plain

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Integer reads an integer from a JSON number or string. Floats must be integral and below 2^53.
func Integer(raw json.RawMessage, kind string) (int64, bool) {
	text := string(raw)
	switch kind {
	case "str":
		if json.Unmarshal(raw, &text) != nil {
			return 0, false
		}
		text = strings.TrimSpace(text)
	case "int", "float":
	default:
		return 0, false
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return int64(x), true
	}
	return 0, false
}

// maxQuoted is the greatest length of request text in messages of errors, in bytes.
const maxQuoted = 200

// ShortText cuts text to the length that messages of errors may quote.
func ShortText(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// OrZero returns the value that p points to, or the zero value if p is nil.
func OrZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
