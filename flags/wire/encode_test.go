package wire

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncode(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{map[string]any{"b": "<&>\u2028", "a": json.Number("5.0")}, `{"a":5.0,"b":"<&>\u2028"}`},
		{json.RawMessage(`{ "a" : 1 }`), `{"a":1}`},
		{"x\n", `"x\n"`},
		{nil, "null"},
	} {
		got, err := Encode(c.value)
		if err != nil || string(got) != c.want || string(MustEncode(c.value)) != c.want {
			t.Errorf("%v is %s (%v), want %s", c.value, got, err, c.want)
		}
	}
	if got, err := Encode(math.NaN()); err == nil {
		t.Errorf("NaN is %s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic for what has no form")
		}
	}()
	MustEncode(func() {})
}

func TestDecode(t *testing.T) {
	want := map[string]any{"a": []any{json.Number("5"), json.Number("5.0"), nil, "é"}}
	if diff := cmp.Diff(any(want), Value([]byte(`{"a":[5,5.0,null,"\u00e9"]} rest`))); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"", "{", "nul", "[1,]"} {
		if got := Value([]byte(text)); got != nil {
			t.Errorf("%q is %v", text, got)
		}
	}
	var list []int
	if err := Decode([]byte(`["x"]`), &list); err == nil {
		t.Error("a text is a number")
	}
}
