package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// want is the expected response of a case. Members of a body are selected by JSON pointers (RFC
// 6901).
type want struct {
	Status int `json:"status"`
	// Headers have a value, or null if the header must be absent.
	Headers map[string]*string `json:"headers"`
	// Body is a part of the body: members that it does not have are not compared.
	Body json.RawMessage `json:"body_subset"`
	// Exact is the whole body: a string if the body is not JSON.
	Exact    json.RawMessage            `json:"body_exact"`
	Equal    map[string]json.RawMessage `json:"equal"`
	SetEqual map[string][]string        `json:"set_equal"`
	Prefix   map[string]string          `json:"prefix"`
	Present  []string                   `json:"present"`
	Absent   []string                   `json:"absent"`
	Empty    bool                       `json:"empty"`
	// ETag is "weak", or "same" for the ETag of the previous step.
	ETag string `json:"etag"`
}

// check compares a response; etag is that of the previous step.
func (w *want) check(t *testing.T, got *httptest.ResponseRecorder, etag string) {
	t.Helper()
	if got.Code != w.Status {
		t.Errorf("status %d, want %d: %s", got.Code, w.Status, truncate(got.Body.Bytes()))
	}
	checkHeaders(t, got.Header(), w.Headers)
	switch tag := got.Header().Get("ETag"); {
	case w.ETag == "weak" && (!strings.HasPrefix(tag, `W/"`) || !strings.HasSuffix(tag, `"`) || len(tag) < 5),
		w.ETag == "same" && tag != etag:
		t.Errorf("ETag %s, want %s (%s before)", tag, w.ETag, etag)
	}
	if w.Empty && got.Body.Len() > 0 {
		t.Errorf("a body: %s", truncate(got.Body.Bytes()))
	}
	if w.Exact != nil {
		var text string
		if json.Unmarshal(w.Exact, &text) == nil && !strings.HasPrefix(got.Header().Get("Content-Type"), "application/json") {
			if got.Body.String() != text {
				t.Errorf("body %q, want %q", truncate(got.Body.Bytes()), text)
			}
		} else if diff := cmp.Diff(value(t, w.Exact), value(t, got.Body.Bytes())); diff != "" {
			t.Errorf("body (-want +got)\n%s", diff)
		}
	}
	if w.Body == nil && len(w.Equal)+len(w.SetEqual)+len(w.Prefix)+len(w.Present)+len(w.Absent) == 0 {
		return
	}
	w.checkMembers(t, value(t, got.Body.Bytes()))
}

func (w *want) checkMembers(t *testing.T, body any) {
	t.Helper()
	if w.Body != nil {
		if missing := missingFrom(value(t, w.Body), body, ""); missing != "" {
			t.Errorf("%s\nin %s", missing, textOf(body))
		}
	}
	for pointer, v := range w.Equal {
		got, _ := member(body, pointer)
		if diff := cmp.Diff(value(t, v), got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", pointer, diff)
		}
	}
	for pointer, names := range w.SetEqual {
		got, _ := member(body, pointer)
		var texts []string
		list, _ := got.([]any)
		for _, v := range list {
			texts = append(texts, fmt.Sprint(v))
		}
		slices.Sort(texts)
		slices.Sort(names)
		if !slices.Equal(texts, names) {
			t.Errorf("%s is %v, want %v in any order", pointer, got, names)
		}
	}
	for pointer, prefix := range w.Prefix {
		if got, _ := member(body, pointer); !strings.HasPrefix(fmt.Sprint(got), prefix) {
			t.Errorf("%s is %q, want it to begin with %q", pointer, got, prefix)
		}
	}
	for _, pointer := range w.Present {
		if _, ok := member(body, pointer); !ok {
			t.Errorf("no %s in %s", pointer, textOf(body))
		}
	}
	for _, pointer := range w.Absent {
		if got, ok := member(body, pointer); ok {
			t.Errorf("%s is there: %s", pointer, textOf(got))
		}
	}
}

func checkHeaders(t *testing.T, got http.Header, want map[string]*string) {
	t.Helper()
	for name, v := range want {
		values := got.Values(name)
		switch {
		case v == nil && len(values) > 0:
			t.Errorf("header %s is there: %q", name, values)
		case v != nil && strings.Join(values, ", ") != *v:
			t.Errorf("header %s is %q, want %q", name, values, *v)
		}
	}
}

// missingFrom returns the first position at which part is not contained in all: objects may have
// members that part does not have, all other values are equal.
func missingFrom(part, all any, path string) string {
	object, isObject := part.(map[string]any)
	inner, innerIsObject := all.(map[string]any)
	if isObject && innerIsObject {
		for name, v := range object {
			got, ok := inner[name]
			if !ok {
				return path + "/" + name + " is missing"
			}
			if missing := missingFrom(v, got, path+"/"+name); missing != "" {
				return missing
			}
		}
		return ""
	}
	if !reflect.DeepEqual(part, all) {
		return fmt.Sprintf("%s is %s, want %s", path, textOf(all), textOf(part))
	}
	return ""
}

// member returns the value at a JSON pointer.
func member(v any, pointer string) (any, bool) {
	for _, name := range strings.Split(pointer, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch inner := v.(type) {
		case map[string]any:
			next, ok := inner[name]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(inner) {
				return nil, false
			}
			v = inner[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// value decodes JSON, with numbers as json.Number.
func value(t testing.TB, data []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Errorf("no JSON: %v: %s", err, truncate(data))
		return nil
	}
	if d.More() {
		t.Errorf("more than one JSON value: %s", truncate(data))
	}
	return v
}

func decodeJSON(t testing.TB, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		t.Errorf("no JSON: %v: %s", err, truncate(data))
	}
}

func textOf(v any) string {
	text, _ := json.Marshal(v)
	return truncate(text)
}
