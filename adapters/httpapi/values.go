package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// accepted is the body of all successful responses (decision 16). It is an object because SDKs read
// members of it.
var accepted = []byte(`{"status":1}`)

// acceptBlindly responds with success without reading the request, for OPTIONS (§1.4 item 2) and
// for load tests (§1.2).
func acceptBlindly(w http.ResponseWriter, _ *http.Request) error {
	write(w, http.StatusOK, accepted)
	return nil
}

// matchesETag reports whether If-None-Match headers contain version, as a weak or strong ETag or as
// a bare value.
func matchesETag(headers []string, version string) bool {
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

// instant is a time that is never null: its zero value is the first moment of the year 1, which
// events may have.
type instant time.Time

// MarshalJSON implements json.Marshaler.
func (t instant) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte(`"0001-01-01T00:00:00Z"`), nil
	}
	return management.Stamp{Time: time.Time(t)}.MarshalJSON()
}

// boolParameter reports whether a query parameter is set: it is present, with any value except
// false, 0 and no, in any case.
func boolParameter(q url.Values, name string) bool {
	if !q.Has(name) {
		return false
	}
	switch strings.ToLower(q.Get(name)) {
	case "false", "0", "no":
		return false
	}
	return true
}

// success is the response of endpoints without other results.
type success struct {
	Success bool `json:"success"`
}

type object = map[string]any

const plainText = "text/plain; charset=utf-8"

// maxConfigToken is the maximum length of a token of the public configuration routes (§16.1),
// in bytes.
const maxConfigToken = 200

// isConfigToken reports whether a token consists of letters, digits, - and _ (§16.1).
func isConfigToken(token string) bool {
	return len(token) <= maxConfigToken && isOnlyLetters(token, "-_")
}
