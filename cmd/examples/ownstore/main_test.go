package main

import (
	"errors"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// Flags are evaluated with the stored properties of a person, and a change takes effect within a
// second. An unknown project key is reported.
func TestOwnStore(t *testing.T) {
	ours := company{
		definitions: map[string]string{"phc_x": `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {
			"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}}]}`},
		people: map[string]flags.Properties{"ana": {"plan": "pro"}, "bob": {"plan": "free"}},
	}
	reader, err := ours.reader("phc_x")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"ana": true, "bob": false, "eve": false} {
		on, d := reader.BoolDetail(t.Context(), "f", &flags.Subject{DistinctID: id}, !want)
		if on != want || d.Err != nil {
			t.Error(id, on, d.Err)
		}
	}
	ours.people["bob"]["plan"] = "pro"
	if !reader.Bool(t.Context(), "f", &flags.Subject{DistinctID: "bob"}, false) {
		t.Error("what the store says now does not count")
	}
	second, _ := ours.reader("phc_y")
	if _, d := second.BoolDetail(t.Context(), "f", &flags.Subject{DistinctID: "ana"}, false); !errors.Is(d.Err, flags.ErrUnknownKey) {
		t.Error(d.Err)
	}
}
