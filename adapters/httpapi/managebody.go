package httpapi

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

	"github.com/bunting-flags/bunting/management"
)

var (
	problemMediaType = problem{Status: 415, Type: "invalid_request", Code: "unsupported_media_type"}
	problemEndpoint  = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Endpoint not found."}
)

// formMemory is how much of a multipart form is kept in memory, in bytes.
const formMemory = 1 << 20

// maxBodyDepth bounds the nesting of a body of the management API.
const maxBodyDepth = 64

// keyBody bounds a body, in bytes, in which a key is looked for before anybody is
// known.
const keyBody = 1 << 20

// readBody reads the body of a request in one of its three forms (§2.4). Where
// none is wanted nothing is wrong with any.
func (c *call) readBody(e *endpoint, limit int64) error {
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead || c.r.Body == nil || c.r.Body == http.NoBody {
		return nil
	}
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil && c.r.Header.Get("Content-Type") == "" {
		kind = "application/json"
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, limit)
	isBodyRead := e.bodyFields != nil
	switch kind {
	case "application/json":
		err = c.readJSON()
	case "application/x-www-form-urlencoded":
		if err = c.r.ParseForm(); err == nil {
			c.body.Members = formBody(c.r.PostForm).Members
		}
	case "multipart/form-data":
		if err = c.r.ParseMultipartForm(formMemory); err == nil {
			c.body.Members = formBody(c.r.MultipartForm.Value).Members
		}
	default:
		err = problemMediaType.with("", "").setDetail("Unsupported media type %q in request.", c.r.Header.Get("Content-Type"))
	}
	var tooLarge *http.MaxBytesError
	switch {
	case !isBodyRead:
		return nil
	case errors.As(err, &tooLarge):
		return problemTooLarge.with("", "").setDetail("The request body is larger than %d bytes.", limit)
	}
	var target *problem
	if err != nil && !errors.As(err, &target) {
		return problemParse.with(err.Error(), "")
	}
	return err
}

// jsonProblem is what is wrong with a JSON text, with line and column, which count
// from 1, in characters.
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
		return problemParse.with(err.Error(), "")
	}
	line, column := lineOf(text, int(offset))
	return problemParse.with(fmt.Sprintf("%v: line %d column %d", err, line, column), "")
}

func (c *call) readJSON() error {
	text, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	trimmed := bytes.TrimRight(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), " \t\r\n")
	text = bytes.TrimLeft(trimmed, " \t\r\n")
	if len(text) == 0 {
		return nil
	}
	if depth(text) > maxBodyDepth {
		return problemParse.with("the value is nested too deeply", "")
	}
	var value any
	var into any = &value
	switch text[0] {
	case '{':
		into = &c.body.Members
	case '[':
		c.body.IsArray, into = true, &c.body.Array
	}
	if err := json.Unmarshal(trimmed, into); err != nil {
		return jsonProblem(trimmed, err)
	}
	if into == &value {
		c.body.Other = cmp.Or(otherKinds[text[0]], "int")
	}
	return nil
}

// otherKinds are the kinds of values that are neither objects nor lists, by the
// beginning of their text; all others are numbers.
var otherKinds = map[byte]string{'"': "str", 't': "bool", 'f': "bool", 'n': "NoneType"}

// depth is how deep a JSON text is nested.
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

// formBody is a form as an object: values are texts, lists where a name comes
// several times, and JSON where they look like an object or a list.
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
		b.Members[name], _ = json.Marshal(list) // texts marshal always
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

// textMember is a member of an object that is a text, "" for none.
func textMember(b management.Body, name string) string {
	var text string
	if raw, ok := b.Members[name]; ok && json.Unmarshal(raw, &text) == nil {
		return strings.TrimSpace(text)
	}
	return ""
}
