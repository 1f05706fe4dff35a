package cli

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProperty_JSONOrText(t *testing.T) {
	for in, want := range map[string]any{
		"pro": "pro", "5": json.Number("5"), "5.0": json.Number("5.0"), `"5"`: "5", "true": true, "null": nil, "": "",
		"1.2.3": "1.2.3", "00100": "00100", "1 2": "1 2", `["a"]`: []any{"a"}, "{": "{",
	} {
		if diff := cmp.Diff(want, jsonOrText(in)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", in, diff)
		}
	}
}
