package frame

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// maxSmallBody is the maximum size in bytes of a body that is read into memory at once. It suffices
// for maxBulk IDs of maximum length, escaped.
const maxSmallBody = 4 << 20

// ReadMembers reads a body that is a JSON object. It returns nil for an empty body.
func (c *Call) ReadMembers() (members map[string]json.RawMessage, err error) {
	if c.R.Body == nil || c.R.Body == http.NoBody || c.R.ContentLength == 0 {
		return nil, nil
	}
	err = c.ReadJSONBody(&members)
	return members, err
}

// ReadJSONBody decodes a body that must be a small JSON object (§2.4).
func (c *Call) ReadJSONBody(into any) error {
	if kind := c.R.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			p := problem.Problem{Status: 415, Type: "invalid_request", Code: "unsupported_media_type"}
			return p.Detailed("Unsupported media type %q in request.", problem.Shorten(kind))
		}
	}
	raw, err := c.Lease.ReadRaw(maxSmallBody)
	if err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(raw, into); {
	case errors.As(err, &wrong) && wrong.Field == "":
		return problem.Invalid("", "Invalid data. Expected a dictionary, but got %s.", jsonKind(wrong.Value))
	case errors.As(err, &wrong):
		return problem.Invalid(wrong.Field, "Not a valid value: %s.", wrong.Value)
	case err != nil:
		return jsonProblem(raw, err)
	}
	return nil
}

// jsonKind returns the name of a kind of JSON value in error messages of the API.
func jsonKind(kind string) string {
	switch kind {
	case "array":
		return "list"
	case "string":
		return "str"
	}
	return kind
}
