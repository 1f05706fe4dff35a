package house

import (
	"slices"
	"testing"
)

// The arrows are those of the package's files in a good order: a names b and c, b names c,
// and c names a, which is the only way back.
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
