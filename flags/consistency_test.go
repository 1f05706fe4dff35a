package flags_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// TestFlags_2_Consistency verifies the lists that PostHog's server and SDKs share:
// distinct_id_0 to distinct_id_999 under one flag (§2). testdata/README.md describes the
// format of the lists.
func TestFlags_2_Consistency(t *testing.T) {
	data, err := os.ReadFile("../testdata/consistency.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name    string          `json:"name"`
		Source  string          `json:"source"`
		Flag    json.RawMessage `json:"flag"`
		Values  []any           `json:"values"`
		Results []string        `json:"results"`
	}
	if err := json.Unmarshal(data, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) != 2 {
		t.Fatalf("%d lists, want 2", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(`{"flags":[` + string(v.Flag) + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			set := flags.Compile(d)
			var out flags.Decisions
			n := 0
			for _, row := range v.Results {
				for _, digit := range row {
					want := wantFlag{Code: "out_of_rollout_bound", Condition: new(int)}
					switch value := v.Values[digit-'0'].(type) {
					case bool:
						want.Enabled = value
					case string:
						want.Enabled, want.Variant, want.Payload = true, value, d.Flags[0].Payloads[value]
					}
					if want.Enabled {
						want.Code = "condition_match"
					}
					sub := flags.Subject{DistinctID: fmt.Sprintf("distinct_id_%d", n)}
					got, _ := set.EvaluateFlag(d.Flags[0].Key, &sub, testAt, &out)
					if diff := want.compare(&got); diff != "" {
						t.Errorf("%s: %s\ngot %s", sub.DistinctID, diff, show(&got))
					}
					n++
				}
			}
			if n != 1000 {
				t.Errorf("%d identifiers, want 1000", n)
			}
		})
	}
}
