package flags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// A misspelt name stands for one within two edits (decision 30), counted by hand.
func TestNearest(t *testing.T) {
	names := []string{"listen", "list", "feature_flag:read", "feature_flag:write", "a", "BUNTING_PROJECT"}
	for name, want := range map[string]string{
		"lisen":                      "listen", // a letter left out; list is one edit away as well, by two
		"lits":                       "list",   // neighbours that changed places
		"feature_flags:raed":         "feature_flag:read",
		"bunting_projekt":            "BUNTING_PROJECT",
		"b":                          "", // half of it and more
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
