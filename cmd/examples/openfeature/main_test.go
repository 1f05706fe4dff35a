package main

import (
	"testing"

	"github.com/open-feature/go-sdk/openfeature"
)

// The flags are defined in testdata/demo.json. The default is returned for a flag that does not
// exist.
func TestOpenFeature(t *testing.T) {
	for _, tt := range []struct {
		flag   string
		value  bool
		reason openfeature.Reason
		fails  bool
	}{
		{"new-onboarding", true, openfeature.StaticReason, false},
		{"nowhere", false, openfeature.ErrorReason, true},
	} {
		value, reason, err := read(t.Context(), "../../../testdata/demo.json", "phc_demo", tt.flag)
		if value != tt.value || reason != tt.reason || (err != nil) != tt.fails {
			t.Errorf("%s: %v %s %v", tt.flag, value, reason, err)
		}
	}
}
