package house

import (
	"slices"
	"testing"
)

// In a good order of these files, the only backward arrow is that from c to a: a uses b and c, and
// b uses c.
func TestBackwards_Counts(t *testing.T) {
	all, back := countBackwards(map[string]map[string]bool{
		"a.go": {"b.go": true, "c.go": true},
		"b.go": {"c.go": true},
		"c.go": {"a.go": true},
	})
	if all != 4 || !slices.Equal(back, []string{"c.go -> a.go"}) {
		t.Errorf("%d arrows, backwards %v; want 4, c.go -> a.go", all, back)
	}
}
