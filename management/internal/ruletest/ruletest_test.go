package ruletest

import (
	"errors"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
)

func TestDiffers(t *testing.T) {
	answer := map[string]any{"a": 1, "b": []any{map[string]any{"c": "x", "d": nil}}, "e": map[string]any{}}
	fault := management.Fault("name", "Wrong.")
	for _, tt := range []struct {
		want string
		got  any
		err  error
		says string // empty: they are alike
	}{
		{`{"a":1}`, answer, nil, ""},
		{`{"b":[{"c":"x"}]}`, answer, nil, ""},
		{`{"e":{},"f":"(absent)"}`, answer, nil, ""},
		{`{"a":2}`, answer, nil, "answer.a is 1, want 2"},
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
		got := differs(tt.want, tt.got, tt.err)
		if (got == "") != (tt.says == "") || !strings.Contains(got, tt.says) {
			t.Errorf("%s of %v, %v: %q, want %q", tt.want, tt.got, tt.err, got, tt.says)
		}
	}
}
