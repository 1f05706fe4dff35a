package httpapi

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
)

// maxSmallBody is how long a body may be that is read whole, in bytes: maxBulk ids, at
// their longest and escaped.
const maxSmallBody = 4 << 20

// readMembers reads a body that is a JSON object; nothing is an empty one.
func (c *call) readMembers() (members map[string]json.RawMessage, err error) {
	if c.r.Body == nil || c.r.Body == http.NoBody || c.r.ContentLength == 0 {
		return nil, nil
	}
	err = c.readJSONBody(&members)
	return members, err
}

// readJSONBody reads a body that has to be a small JSON object (§2.4).
func (c *call) readJSONBody(into any) error {
	if kind := c.r.Header.Get("Content-Type"); kind != "" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			p := problem{Status: 415, Type: "invalid_request", Code: "unsupported_media_type"}
			return p.setDetail("Unsupported media type %q in request.", shorten(kind))
		}
	}
	raw, err := c.lease.readRaw(maxSmallBody)
	if err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(raw, into); {
	case errors.As(err, &wrong) && wrong.Field == "":
		return invalid("", "Invalid data. Expected a dictionary, but got %s.", jsonKind(wrong.Value))
	case errors.As(err, &wrong):
		return invalid(wrong.Field, "Not a valid value: %s.", wrong.Value)
	case err != nil:
		return jsonProblem(raw, err)
	}
	return nil
}

// jsonKind is the name that errors of this surface have for a kind of value.
func jsonKind(kind string) string {
	switch kind {
	case "array":
		return "list"
	case "string":
		return "str"
	}
	return kind
}
