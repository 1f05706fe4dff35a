package ruletest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
)

func TestDiffAnswer(t *testing.T) {
	answer := map[string]any{"a": 1, "b": []any{map[string]any{"c": "x", "d": nil}}, "e": map[string]any{}}
	fault := management.Fault("name", "Wrong.")
	for _, tt := range []struct {
		want string
		got  any
		err  error
		says string // empty if they match
	}{
		{`{"a":1}`, answer, nil, ""},
		{`{"b":[{"c":"x"}]}`, answer, nil, ""},
		{`{"e":{},"f":"(absent)"}`, answer, nil, ""},
		{`{"a":2}`, answer, nil, "answer.a is 1, want 2"},
		{`{"b":[{"c":"(like) ^[w-z]$"}]}`, answer, nil, ""},
		{`{"b":[{"c":"(like) ^[a-c]$"}]}`, answer, nil, "answer.b[0].c is x, want one like"},
		{`{"a":"(like) ."}`, answer, nil, "answer.a is 1, want one like"},
		{`{"f":null}`, answer, nil, "answer.f is not there"},
		{`{"a":"(absent)"}`, answer, nil, "answer.a is there"},
		{`{"b":[]}`, answer, nil, "answer.b is"},
		{`{"b":[{"d":""}]}`, answer, nil, "answer.b[0].d is <nil>, want"},
		{`{}`, answer, nil, "answer is"},
		{`{"a":1}`, nil, nil, "answer.a is not there"},
		{`null`, nil, nil, ""},
		{`{"a":1}`, nil, fault, "answers 400 invalid_input name Wrong., want"},
		{`400 invalid_input name`, nil, fault, ""},
		{`400 invalid_input name Wrong.`, nil, fault, ""},
		{`400 invalid_input name Other.`, nil, fault, "answers 400"},
		{`400 * name`, nil, fault, ""},
		{`400 invalid_input * Wrong.`, nil, fault, ""},
		{`400 * other`, nil, fault, "answers 400"},
		{`404 * *`, nil, fault, "answers 400"},
		{`400 invalid_input nam`, nil, fault, "answers 400"},
		{`404 not_found - Not found.`, nil, management.ErrNotFound(), ""},
		{`404 not_found -`, answer, nil, "answers {"},
		{`null`, nil, errors.New("disk"), "a fault: disk"},
	} {
		got := diffAnswer(tt.want, tt.got, tt.err)
		if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s of %v, %v: %q, want %q", tt.want, tt.got, tt.err, got, tt.says)
		}
	}
}

func TestBody(t *testing.T) {
	for text, want := range map[string]management.Body{
		"":          {Members: map[string]json.RawMessage{}},
		`{"a":[1]}`: {Members: map[string]json.RawMessage{"a": []byte("[1]")}},
		`[{"a":1}]`: {IsArray: true, Array: []json.RawMessage{[]byte(`{"a":1}`)}},
		`"text"`:    {Other: "str"},
		"17":        {Other: "int"},
		"true":      {Other: "bool"},
	} {
		if diff := cmp.Diff(want, Body(t, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// Every World has the calls wait and log.
func TestWorld_BuiltinCalls(t *testing.T) {
	w := New(t, memstore.New(memstore.ExternalData{}))
	create := func(scope *management.Scope, _, body string) (any, error) {
		return w.Dashboards.Create(t.Context(), scope, Body(t, body))
	}
	w.Run(t, Calls{"create": create}, slices.Concat([]Row{
		{"nothing was changed", "bob", "log Dashboard 1", ``, `null`},
		{"the first second", "bob", "wait 0s", ``, `null`},
	}, Each("made", "bob", "create", [2]string{`{"name":"one"}`, `{"id":1,"created_at":"2026-01-02T12:00:03Z"}`}, [2]string{`{"pinned":7}`, `400 invalid_input pinned`}), []Row{
		{"the log", "cyd", "log Dashboard 1", ``, `{"activity":"created","scope":"Dashboard","item_id":"1","user":{"email":"bob@example.com"}}`},
		{"a day", "bob", "wait 24h", ``, `null`},
		{"a day later", "bob", "create", ``, `{"created_at":"2026-01-03T12:00:07Z"}`},
	}))
}

// A later row may use the values of an earlier response.
func TestRememberNames(t *testing.T) {
	names := map[string]string{}
	rememberNames(names, "it", map[string]any{"id": "7", "name": "n", "count": 3, "list": []int{1}})
	rememberNames(names, "", []int{1})
	if got := expandPlaceholders("<it> <it.count> <n> <it.list> <other>", names); got != "7 3 7 [1] <other>" {
		t.Error(got)
	}
}
