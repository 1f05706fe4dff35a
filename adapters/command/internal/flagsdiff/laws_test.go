package flagsdiff_test

import (
	"fmt"
	"math/rand"
	"strconv"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/flagsdiff"
	"github.com/bunting-flags/bunting/flags"
)

// A comparison with itself is empty, and the reverse comparison is the mirror image.
func TestDiff_Laws(t *testing.T) {
	changes := 0
	for seed := range int64(400) {
		g := generator{rand.New(rand.NewSource(seed))}
		a, b := flags.Compile(g.definitions()), flags.Compile(g.definitions())
		at := time.Unix(1_750_000_000, 0)
		self, there, back := flagsdiff.New(a, a, flagsdiff.Options{Reasons: true}), flagsdiff.New(a, b, flagsdiff.Options{Reasons: true}), flagsdiff.New(b, a, flagsdiff.Options{Reasons: true})
		for range 5 {
			sub := flags.Subject{DistinctID: pick(g, "u1", "u2", "", "user-17"), Groups: map[string]string{"org": pick(g, "", "acme")}, Person: flags.Properties{}}
			for _, key := range keys {
				if g.one(60) {
					sub.Person[key] = pick(g, values...)
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

// generator generates small definitions, so that failures are short.
type generator struct{ *rand.Rand }

func (g generator) one(percent int) bool { return g.Intn(100) < percent }

func pick[T any](g generator, list ...T) T { return list[g.Intn(len(list))] }

var (
	keys      = []string{"p0", "p1", "$browser", "distinct_id"}
	values    = []any{"a", "b", true, int64(1), 2.5, nil, "1.2.0", "2026-01-01", []any{"a"}}
	operators = []flags.Operator{
		"", flags.Exact, flags.IsNot, flags.IContains, flags.IsSet, flags.IsNotSet, flags.GreaterThan, flags.Regex,
		flags.IsDateBefore, flags.SemverNotEqual, flags.In,
	}
)

func (g generator) definitions() flags.Definitions {
	leaf := g.property(1)
	d := flags.Definitions{GroupTypes: map[int]string{0: "org"}, Cohorts: map[int64]flags.Cohort{
		1: {Tree: &flags.CohortNode{Leaf: &leaf}}, 2: {Static: true, Members: []string{"u1"}},
	}}
	for id := 1; id <= 1+g.Intn(3); id++ {
		d.Flags = append(d.Flags, g.flag(id))
	}
	return d
}

func (g generator) flag(id int) flags.Flag {
	f := flags.Flag{ID: int64(id), Key: "f" + strconv.Itoa(id), Active: !g.one(5), EarlyExit: g.one(25)}
	if g.one(15) {
		f.Group = new(int)
	}
	if g.one(10) {
		f.Holdout = &flags.Holdout{ID: 7, Exclusion: pick(g, 0.0, 50, 100)}
	}
	if g.one(40) {
		share := pick(g, 0.0, 50, 100, 30)
		f.Variants = []flags.Variant{{Key: "a", Rollout: share}, {Key: "b", Rollout: 100 - share}}
	}
	for range g.Intn(4) {
		c := flags.Condition{Variant: pick(g, "", "", "a", "b", "none")}
		if g.one(50) {
			c.Rollout = pick(g, new(0.0), new(10.0), new(40.0), new(100.0))
		}
		for range g.Intn(3) {
			c.Properties = append(c.Properties, g.condition(id))
		}
		f.Conditions = append(f.Conditions, c)
	}
	return f
}

// condition generates a condition on a property, a cohort or an earlier flag, so that there are no
// cycles.
func (g generator) condition(id int) flags.Property {
	switch n := g.Intn(100); {
	case n < 20:
		return flags.Property{Type: flags.CohortProperty, Operator: pick(g, flags.In, flags.NotIn), Value: int64(1 + g.Intn(3)), HasValue: true}
	case n < 35 && id > 1:
		return flags.Property{
			Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Key: strconv.Itoa(1 + g.Intn(id-1)),
			Value: pick[any](g, true, false, "a", "b", "holdout-7"), HasValue: true,
		}
	}
	return g.property(20)
}

// property generates a condition on a property, which is negated in some percent of the cases.
func (g generator) property(percent int) flags.Property {
	return flags.Property{
		Key: pick(g, keys...), Type: flags.PersonProperty, Operator: pick(g, operators...),
		Value: pick(g, values...), HasValue: !g.one(5), Negated: g.one(percent),
	}
}
