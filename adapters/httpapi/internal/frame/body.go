package frame

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

var (
	// MediaType is the problem of a body in a media type that is not supported.
	MediaType       = problem.Problem{Status: 415, Type: "invalid_request", Code: "unsupported_media_type"}
	problemEndpoint = problem.Problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Endpoint not found."}
)

// formMemory is how much of a multipart form is stored in memory, in bytes; the rest is in
// temporary files.
const formMemory = 1 << 20

// maxBodyDepth is the maximum nesting depth of bodies of the management API.
const maxBodyDepth = 64

// keyBody is the maximum size in bytes of a body that is read for a key, before the caller is
// authenticated.
const keyBody = 1 << 20

// readBody reads the body of a request in one of the three formats of §2.4. It ignores errors if
// the endpoint has no body.
func (c *Call) readBody(e *Endpoint, limit int64) error {
	if c.R.Method == http.MethodGet || c.R.Method == http.MethodHead || c.R.Body == nil || c.R.Body == http.NoBody {
		return nil
	}
	kind, _, err := mime.ParseMediaType(c.R.Header.Get("Content-Type"))
	if err != nil && c.R.Header.Get("Content-Type") == "" {
		kind = "application/json"
	}
	c.R.Body = http.MaxBytesReader(c.W, c.R.Body, limit)
	isBodyRead := e.BodyFields != nil
	switch kind {
	case "application/json":
		err = c.readJSON()
	case "application/x-www-form-urlencoded":
		if err = c.R.ParseForm(); err == nil {
			c.Body.Members = formBody(c.R.PostForm).Members
		}
	case "multipart/form-data":
		if err = c.R.ParseMultipartForm(formMemory); err == nil {
			c.Body.Members = formBody(c.R.MultipartForm.Value).Members
		}
	default:
		err = MediaType.With("", "").Detailed("Unsupported media type %q in request.", c.R.Header.Get("Content-Type"))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case !isBodyRead:
		return nil
	case errors.As(err, &tooLarge):
		return problem.TooLarge.With("", "").Detailed("The request body is larger than %d bytes.", limit)
	}
	var target *problem.Problem
	if err != nil && !errors.As(err, &target) {
		return problem.Parse.With(err.Error(), "")
	}
	return err
}

// jsonProblem returns the problem for invalid JSON, with line and column, which are counted from 1,
// in characters.
func jsonProblem(text []byte, err error) error {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		if offset = syntax.Offset - 1; strings.HasPrefix(syntax.Error(), "unexpected end") {
			offset = int64(len(text))
		}
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(text)) {
		return problem.Parse.With(err.Error(), "")
	}
	line, column := problem.LineOf(text, int(offset))
	return problem.Parse.With(fmt.Sprintf("%v: line %d column %d", err, line, column), "")
}

// readJSON decodes a JSON body to c.body. It accepts a byte order mark, and an empty body. For
// values that are neither objects nor arrays it stores only their kind, for error messages.
func (c *Call) readJSON() error {
	text, err := io.ReadAll(c.R.Body)
	if err != nil {
		return err
	}
	trimmed := bytes.TrimRight(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	text = bytes.TrimLeft(trimmed, " \t\r\n")
	if len(text) == 0 {
		return nil
	}
	if depth(text) > maxBodyDepth {
		return problem.Parse.With("the value is nested too deeply", "")
	}
	var value any
	var into any = &value
	switch text[0] {
	case '{':
		into = &c.Body.Members
	case '[':
		c.Body.IsArray, into = true, &c.Body.Array
	}
	if err := json.Unmarshal(trimmed, into); err != nil {
		return jsonProblem(trimmed, err)
	}
	if into == &value {
		c.Body.Other = cmp.Or(otherKinds[text[0]], "int")
	}
	return nil
}

// otherKinds maps the first byte of JSON values other than objects and arrays to their kind. Values
// with another first byte are numbers.
var otherKinds = map[byte]string{'"': "str", 't': "bool", 'f': "bool", 'n': "NoneType"}

// depth returns the nesting depth of a JSON text.
func depth(text []byte) (deepest int) {
	now, inText, escaped := 0, false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = b == '\\', b != '"'
		case b == '"':
			inText = true
		case b == '{' || b == '[':
			now++
			deepest = max(deepest, now)
		case b == '}' || b == ']':
			now--
		}
	}
	return deepest
}

// formBody converts a form to an object. Values are strings, or JSON if they are a valid object or
// array; fields that occur several times become arrays.
func formBody(form url.Values) management.Body {
	b := management.Body{Members: map[string]json.RawMessage{}}
	for name, values := range form {
		if len(values) == 1 {
			b.Members[name] = formValue(values[0])
			continue
		}
		list := make([]json.RawMessage, len(values))
		for i, v := range values {
			list[i] = formValue(v)
		}
		b.Members[name], _ = json.Marshal(list) // marshaling strings cannot fail
	}
	return b
}

func formValue(text string) json.RawMessage {
	if trimmed := strings.TrimSpace(text); trimmed != "" && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid([]byte(trimmed)) && depth([]byte(trimmed)) <= maxBodyDepth {
		return json.RawMessage(trimmed)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

// TextMember returns a member of an object if it is a string, and an empty string otherwise.
func TextMember(b management.Body, name string) string {
	var text string
	if raw, ok := b.Members[name]; ok && json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	return ""
}

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
