package flags_test

import (
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagsdiff"
)

func compileJSON(t *testing.T, text string) *flags.Set {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return flags.Compile(d)
}

// A comparison with itself is empty, and the reverse comparison is the mirror image.
func TestDiff_Laws(t *testing.T) {
	changes := 0
	for seed := range int64(flags.Draws(400)) {
		g := generator{rand.New(rand.NewSource(seed))}
		a, b := flags.Compile(g.definitions()), flags.Compile(g.definitions())
		at := time.Unix(1_750_000_000, 0)
		self, there, back := flagsdiff.New(a, a, flagsdiff.Options{Reasons: true}), flagsdiff.New(a, b, flagsdiff.Options{Reasons: true}), flagsdiff.New(b, a, flagsdiff.Options{Reasons: true})
		for range 5 {
			sub := flags.Subject{DistinctID: pick(g, "u1", "u2", "", "user-17"), Groups: map[string]string{"org": pick(g, "", "acme")}, Person: flags.Properties{}}
			for _, key := range partialKeys {
				if g.one(60) {
					sub.Person[key] = pick(g, partialValues...)
				}
			}
			if got := self.Compare(&sub, at); len(got) > 0 || len(self.Flags()) > 0 {
				t.Fatalf("seed %d: a set differs from itself: %v", seed, got)
			}
			left, right := there.Compare(&sub, at), back.Compare(&sub, at)
			if len(left) != len(right) {
				t.Fatalf("seed %d: %d changes one way, %d the other", seed, len(left), len(right))
			}
			for i, c := range left {
				changes++
				m := right[i]
				if c.Key != m.Key || c.DistinctID != m.DistinctID || fmt.Sprint(c.Before) != fmt.Sprint(m.After) || fmt.Sprint(c.After) != fmt.Sprint(m.Before) ||
					c.Why.Before != m.Why.After || c.Why.After != m.Why.Before {
					t.Fatalf("seed %d: not mirrored:\n%+v\n%+v", seed, c, m)
				}
				if c.Why.Cause == "" || c.Why.Text == "" {
					t.Fatalf("seed %d: a change without a reason: %+v", seed, c)
				}
			}
		}
	}
	if changes < 1000 {
		t.Errorf("only %d changes were seen", changes)
	}
}
