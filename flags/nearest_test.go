package flags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// A misspelt name is matched with names within two edits (decision 30), counted by hand.
func TestNearest(t *testing.T) {
	names := []string{"listen", "list", "feature_flag:read", "feature_flag:write", "a", "BUNTING_PROJECT"}
	for name, want := range map[string]string{
		"lisen":                      "listen", // one letter missing; for list it would be two edits
		"lits":                       "list",   // adjacent letters swapped
		"feature_flags:raed":         "feature_flag:read",
		"bunting_projekt":            "BUNTING_PROJECT",
		"b":                          "", // half of its length and more
		"":                           "",
		"persons":                    "",
		"LIST":                       "list",
		strings.Repeat("listen", 20): "",
	} {
		if got := flags.Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
