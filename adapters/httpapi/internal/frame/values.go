package frame

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Accepted is the body of all successful responses (decision 16). It is an object because SDKs read
// members of it.
var Accepted = []byte(`{"status":1}`)

// AcceptBlindly responds with success without reading the request, for OPTIONS (§1.4 item 2) and
// for load tests (§1.2).
func AcceptBlindly(w http.ResponseWriter, _ *http.Request) error {
	Write(w, http.StatusOK, Accepted)
	return nil
}

// MatchesETag reports whether If-None-Match headers contain version, as a weak or strong ETag or as
// a bare value.
func MatchesETag(headers []string, version string) bool {
	for _, header := range headers {
		for _, tag := range strings.Split(header, ",") {
			tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
			if tag == "*" || strings.Trim(tag, `"`) == version {
				return true
			}
		}
	}
	return false
}

// Instant is a time that is never null: its zero value is the first moment of the year 1, which
// events may have.
type Instant time.Time

// MarshalJSON implements json.Marshaler.
func (t Instant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte(`"0001-01-01T00:00:00Z"`), nil
	}
	return management.Stamp{Time: time.Time(t)}.MarshalJSON()
}

// BoolParameter reports whether a query parameter is set: it is present, with any value except
// false, 0 and no, in any case.
func BoolParameter(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	switch strings.ToLower(q.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}

// Success is the response of endpoints without other results.
type Success struct {
	Success bool `json:"success"`
}

// Object is a JSON object.
type Object = map[string]any

// PlainText is the media type of texts.
const PlainText = "text/plain; charset=utf-8"

// maxConfigToken is the maximum length of a token of the public configuration routes (§16.1),
// in bytes.
const maxConfigToken = 200

// IsConfigToken reports whether a token consists of letters, digits, - and _ (§16.1).
func IsConfigToken(token string) bool {
	return len(token) <= maxConfigToken && isOnlyLetters(token, "-_")
}
