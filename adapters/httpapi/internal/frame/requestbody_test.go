package frame

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime/multipart"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// readBodyOf reads a body for an endpoint that has one.
func readBodyOf(method, kind, text string, limit int64) (management.Body, *problem.Problem, error) {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/", strings.NewReader(text))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	c := &Call{W: w, R: r}
	err := c.readBody(&Endpoint{BodyFields: management.Fields{}}, limit)
	var p *problem.Problem
	if errors.As(err, &p) {
		err = nil
	}
	return c.Body, p, err
}

// membersText returns the members of a body as one text.
func membersText(b management.Body) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.Members)) {
		out = append(out, name+"="+string(b.Members[name]))
	}
	return strings.Join(out, " ")
}

// spec/management.md §2.4: bodies are JSON, forms or multipart forms. A body without a type is JSON,
// which may begin with a byte order mark, and no body is an empty one.
func TestReadBody_Formats(t *testing.T) {
	t.Parallel()
	var multi bytes.Buffer
	form := multipart.NewWriter(&multi)
	for _, field := range [][2]string{{"name", "a b"}, {"tags", `["x"]`}, {"name", "c"}} {
		if err := form.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	const asJSON, asForm = "application/json", "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		kind, text string
		members    string
		array      int // -1: not an array
		other      string
	}{
		"JSON":                    {asJSON, `{"b":1.0,"a":{"x":[]}}`, `a={"x":[]} b=1.0`, -1, ""},
		"with a charset":          {"application/json; charset=utf-8", `{"a":1}`, "a=1", -1, ""},
		"in capital letters":      {"Application/JSON", `{"a":1}`, "a=1", -1, ""},
		"without a type":          {"", `{"a":1}`, "a=1", -1, ""},
		"blanks":                  {asJSON, " \r\n\t{\"a\":1}\n ", "a=1", -1, ""},
		"a byte order mark":       {asJSON, "\ufeff{\"a\":1}", "a=1", -1, ""},
		"nothing":                 {asJSON, "", "", -1, ""},
		"only blanks":             {asJSON, " \n", "", -1, ""},
		"only a byte order mark":  {asJSON, "\ufeff", "", -1, ""},
		"an empty object":         {asJSON, "{}", "", -1, ""},
		"a member twice":          {asJSON, `{"a":1,"a":2}`, "a=2", -1, ""},
		"an array":                {asJSON, `[{"a":1},2]`, "", 2, ""},
		"an empty array":          {asJSON, `[]`, "", 0, ""},
		"a text":                  {asJSON, `"x"`, "", -1, "str"},
		"a number":                {asJSON, `-1.5`, "", -1, "int"},
		"true":                    {asJSON, `true`, "", -1, "bool"},
		"false":                   {asJSON, `false`, "", -1, "bool"},
		"null":                    {asJSON, `null`, "", -1, "NoneType"},
		"a form":                  {asForm, "a=b+c&d=%7B%22x%22%3A1%7D&e=1", `a="b c" d={"x":1} e="1"`, -1, ""},
		"a form with a list":      {asForm, "a=1&a=%5B2%5D", `a=["1",[2]]`, -1, ""},
		"a form with broken JSON": {asForm, "a=%7Bx&b=%5B", `a="{x" b="["`, -1, ""},
		"a form with blanks":      {asForm, "a=+%5B1%5D+&b=+x+", `a=[1] b=" x "`, -1, ""},
		"a form with deep JSON":   {asForm, "a=" + strings.Repeat("%5B", 65) + strings.Repeat("%5D", 65), `a="` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `"`, -1, ""},
		"an empty form":           {asForm, "", "", -1, ""},
		"a multipart form":        {form.FormDataContentType(), multi.String(), `name=["a b","c"] tags=["x"]`, -1, ""},
	} {
		b, p, err := readBodyOf("POST", c.kind, c.text, 1<<20)
		array := -1
		if b.IsArray {
			array = len(b.Array)
		}
		if p != nil || err != nil || membersText(b) != c.members || array != c.array || b.Other != c.other {
			t.Errorf("%s: %s, array of %d, other %q, %v, %v", name, membersText(b), array, b.Other, p, err)
		}
	}
}

// Errors of bodies: their status, code and place, in lines and characters from 1.
func TestReadBody_Refusals(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const parse = "JSON parse error - "
	for name, c := range map[string]struct {
		kind, text string
		status     int
		code       string
		detail     string // the beginning
		end        string // the end
	}{
		"another type":          {"text/plain", "{}", 415, "unsupported_media_type", `Unsupported media type "text/plain" in request.`, ""},
		"no type at all":        {";", "{}", 415, "unsupported_media_type", `Unsupported media type ";" in request.`, ""},
		"a member without end":  {"", `{"a":1`, 400, "parse_error", parse + "unexpected end of JSON input", ": line 1 column 7"},
		"on the third line":     {"", "{\n\"é\": 1,\n\"é\": x}", 400, "parse_error", parse + "invalid character 'x' looking for beginning of value", ": line 3 column 6"},
		"after the value":       {"", `{} {}`, 400, "parse_error", parse + "invalid character '{' after top-level value", ": line 1 column 4"},
		"two commas":            {"", `[1,,2]`, 400, "parse_error", parse, ": line 1 column 4"},
		"a half escape":         {"", `{"a":"\u12"}`, 400, "parse_error", parse, ": line 1 column 11"},
		"not JSON":              {"", `a=b`, 400, "parse_error", parse, ": line 1 column 1"},
		"too deep":              {"", nested(65), 400, "parse_error", parse + "the value is nested too deeply", ""},
		"objects that are deep": {"", strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), 400, "parse_error", parse + "the value is nested too deeply", ""},
		"very deep":             {"", strings.Repeat("[", 1<<19), 400, "parse_error", parse + "the value is nested too deeply", ""},
		"a broken form":         {"application/x-www-form-urlencoded", "a=%zz", 400, "parse_error", parse, ""},
		"no boundary":           {"multipart/form-data", "a", 400, "parse_error", parse, ""},
		"one byte too many":     {"", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "request_too_large", "The request body is larger than 1048576 bytes.", ""},
		"a form too long":       {"application/x-www-form-urlencoded", "a=" + strings.Repeat("x", 1<<20), 413, "request_too_large", "The request body is larger than 1048576 bytes.", ""},
	} {
		_, p, err := readBodyOf("POST", c.kind, c.text, 1<<20)
		if err != nil || p == nil || p.Status != c.status || p.Code != c.code || !strings.HasPrefix(p.Detail, c.detail) || !strings.HasSuffix(p.Detail, c.end) || p.Attr != nil {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// The bounds themselves are allowed. Brackets in strings are no nesting.
	for name, text := range map[string]string{
		"as deep as allowed": nested(64), "as long as allowed": `{"a":"` + strings.Repeat("x", 1<<20-8) + `"}`,
		"brackets in a text": `["` + strings.Repeat(`[\"{`, 100) + `"]`,
		"one after another":  "[" + strings.Repeat("[],", 100) + "[]]",
	} {
		if _, p, err := readBodyOf("POST", "", text, 1<<20); p != nil || err != nil {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// A body is not read for GET and HEAD, and an endpoint without a body ignores one that is invalid.
func TestReadBody_NotRead(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD"} {
		if b, p, err := readBodyOf(method, "", "{", 10); p != nil || err != nil || b.Members != nil {
			t.Errorf("%s: %v, %v, %v", method, b, p, err)
		}
	}
	for _, text := range []string{"{", strings.Repeat("x", 100)} {
		c := &Call{W: httptest.NewRecorder(), R: httptest.NewRequest("POST", "/", strings.NewReader(text))}
		if err := c.readBody(&Endpoint{}, 10); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	c := &Call{W: httptest.NewRecorder(), R: httptest.NewRequest("POST", "/", strings.NewReader(`{"personal_api_key":" k "}`))}
	if err := c.readBody(&Endpoint{}, 100); err != nil || TextMember(c.Body, "personal_api_key") != "k" {
		t.Errorf("%v, %v", c.Body, err)
	}
}

// A member that is a string, without the blanks around it; other values count as empty.
func TestTextMember(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{`"k"`: "k", `" k\n"`: "k", `""`: "", `1`: "", `null`: "", `["k"]`: "", `{"k":"k"}`: "", `true`: "", `"\ud83d\ude00"`: "😀"} {
		if got := TextMember(management.Body{Members: map[string]json.RawMessage{"m": json.RawMessage(raw)}}, "m"); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
	if got := TextMember(management.Body{}, "m"); got != "" {
		t.Errorf("no body: %q", got)
	}
}

// The depth of a JSON text counts arrays and objects that are open, not the brackets in strings.
func TestDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		``: 0, `1`: 0, `[]`: 1, `{}`: 1, `[[],[]]`: 2, `{"a":[{}]}`: 3, `"[["`: 0, `["\"[["]`: 1, `["\\",[]]`: 2, `["\\\"[",[[]]]`: 3, `]]][`: 0, `{"[":{"]":[]}}`: 3,
	} {
		if got := depth([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// Values of the fields of a form: a text, or JSON if it is an object or an array.
func TestFormBody_Values(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		values []string
		want   string
	}{
		{[]string{""}, `""`}, {[]string{"x"}, `"x"`}, {[]string{"1"}, `"1"`}, {[]string{"true"}, `"true"`}, {[]string{`"x"`}, `"\"x\""`}, {[]string{"null"}, `"null"`},
		{[]string{"[]"}, `[]`}, {[]string{" {\"a\": 1} "}, `{"a": 1}`}, {[]string{"[1"}, `"[1"`}, {[]string{"[] []"}, `"[] []"`}, {[]string{"a", "{}"}, `["a",{}]`}, {[]string{"", ""}, `["",""]`},
	} {
		b := formBody(map[string][]string{"f": c.values})
		if diff := cmp.Diff(map[string]json.RawMessage{"f": json.RawMessage(c.want)}, b.Members); diff != "" {
			t.Errorf("%d, %s (-want +got):\n%s", i, fmt.Sprint(c.values), diff)
		}
	}
}
