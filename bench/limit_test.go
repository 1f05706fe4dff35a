package bench

import (
	"math"
	"testing"
)

// The expected values are the spec's own vectors (spec/flags.md §2.6).
func TestFlags_2_6_LimitHash(t *testing.T) {
	for _, v := range []struct {
		key, id, salt string
		want          float64
	}{
		{"beta-search", "user-17", "", 0.009101217133290002},
		{"checkout-layout", "user-61", "variant", 0.5698252224547713},
		{"simple-flag", "distinct_id_0", "", 0.7836963764220432},
		{"org-dashboard", "42", "", 0.5997466051660167},
	} {
		if got := bucket(v.key, v.id, v.salt); got != v.want {
			t.Errorf("%s.%s%s: %v, want %v", v.key, v.id, v.salt, got, v.want)
		}
	}
}

// Every workload has the properties that the issue describes.
func TestWorkloads(t *testing.T) {
	on := map[bool]int{}
	for _, w := range Workloads() {
		for _, u := range Users(checkUsers) {
			got := Expected(w.Flags, &u, nil)
			possible(t, w, &u, got)
			for _, a := range got {
				on[a.On]++
			}
		}
		for _, f := range w.Flags {
			sum := 0.0
			for _, v := range f.Variants {
				sum += v.Share
			}
			if len(f.Variants) > 0 && math.Abs(sum-100) > 1e-9 {
				t.Errorf("%s: shares sum to %v", f.Key, sum)
			}
			for i, c := range f.Conditions {
				if c.Rollout < 100 && i < len(f.Conditions)-1 {
					t.Errorf("%s: condition %d has a rollout and is not the last", f.Key, i)
				}
			}
		}
	}
	if on[true] == 0 || on[false] == 0 {
		t.Errorf("answers are all alike: %v", on)
	}
	third := Workloads()[1].Flags[0]
	properties := Ana.Properties()
	for i, c := range third.Conditions {
		p := c.Properties[0]
		if got := holds(p, properties[p.Key]); got != (i == 2) {
			t.Errorf("W2, condition %d matches: %v", i, got)
		}
	}
}

func BenchmarkLimit(b *testing.B) {
	race(b, func(_ testing.TB, w Workload) contender {
		c := contender{answers: func(u *User) []Answer { return Expected(w.Flags, u, nil) }}
		c.worker = func() func() {
			u, out := Ana, make([]Answer, 0, len(w.Flags))
			return func() { out = Expected(w.Flags, &u, out[:0]) }
		}
		return c
	}, equal)
}
