package capture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// prepareException returns the stored properties of an exception with a list.
func prepareException(t *testing.T, list string) map[string]json.RawMessage {
	t.Helper()
	var out Batch
	it := &Item{Name: "$exception", DistinctID: "u", Properties: []Member{{exceptionList, list}}, Size: len(list)}
	if reason := testPreparer().prepare(it, &out); reason != NotDropped {
		t.Fatal(reason)
	}
	var stored map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out.Events[0].Properties), &stored); err != nil {
		t.Fatal(err)
	}
	return stored
}

// The derived lists are bounded by number, by length, and by the number of frames that are
// read (clients.md §17).
func TestCapture_ExceptionBounds(t *testing.T) {
	var many, frames []string
	for i := range 3000 {
		many = append(many, fmt.Sprintf(`{"type":"T%d","value":"v"}`, i))
	}
	for i := range maxFrames + 2 {
		frames = append(frames, fmt.Sprintf(`{"filename":"f%d","function":"same"}`, max(i-maxFrames+1, 0)))
	}
	for name, c := range map[string]struct {
		list, property string
		want           []string
	}{
		"number": {"[" + strings.Join(many, ",") + "]", "$exception_types", nil},
		"length": {
			`[{"type":"E","value":"` + strings.Repeat("x", maxDerivedBytes) + `"},{"type":"E","value":"` + strings.Repeat("y", maxDerivedBytes) + `"}]`,
			"$exception_values", []string{strings.Repeat("x", maxDerivedBytes)},
		},
		"frames": {`[{"type":"E","stacktrace":{"frames":[` + strings.Join(frames, ",") + `]}}]`, "$exception_sources", []string{"f0"}},
	} {
		var got []string
		if err := json.Unmarshal(prepareException(t, c.list)[c.property], &got); err != nil {
			t.Fatal(name, err)
		}
		if c.want == nil {
			for i := range maxDerived {
				c.want = append(c.want, fmt.Sprint("T", i))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d values, want %d", name, len(got), len(c.want))
		}
	}
}
