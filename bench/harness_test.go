package bench

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// contender is one engine loaded with one workload.
type contender struct {
	// answers evaluates every flag for u, in the order of the workload.
	answers func(u *User) []Answer
	// worker returns the operation that is timed, for Ana. Each goroutine calls it separately.
	worker func() func()
}

// checkUsers is the number of users for whom every engine is checked before it is timed.
const checkUsers = 60

// race checks a contender and times it on every workload.
func race(b *testing.B, load func(tb testing.TB, w Workload) contender, check func(tb testing.TB, w Workload, u *User, got []Answer)) {
	for _, w := range Workloads() {
		b.Run(w.Name, func(b *testing.B) {
			c := load(b, w)
			for _, u := range Users(checkUsers) {
				check(b, w, &u, c.answers(&u))
			}
			// The first operation allocates the memory that an engine reuses, before the clock
			// starts.
			ready := func() func() {
				op := c.worker()
				op()
				return op
			}
			b.ReportAllocs()
			if w.Parallel {
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					// The worker is created here, since workers created by one goroutine may share
					// cache lines, for which cores that write to them would wait.
					op := ready()
					for pb.Next() {
						op()
					}
				})
				return
			}
			op := ready()
			for b.Loop() {
				op()
			}
		})
	}
}

// equal requires the limit's answers, for engines with PostHog's hash.
func equal(tb testing.TB, w Workload, u *User, got []Answer) {
	tb.Helper()
	if diff := cmp.Diff(Expected(w.Flags, u, nil), got); diff != "" {
		tb.Fatalf("%s, %s: answers differ from the limit's (-limit +got):\n%s", w.Name, u.ID, diff)
	}
}

// possible requires an answer that some hash could produce, for engines with their own hash.
// Without a hash only one answer is possible.
func possible(tb testing.TB, w Workload, u *User, got []Answer) {
	tb.Helper()
	if len(got) != len(w.Flags) {
		tb.Fatalf("%s, %s: %d answers for %d flags", w.Name, u.ID, len(got), len(w.Flags))
	}
	for i, f := range w.Flags {
		if may := outcomes(f, u); !slices.Contains(may, got[i]) {
			tb.Fatalf("%s, %s, %s: %+v, possible are %+v", w.Name, u.ID, f.Key, got[i], may)
		}
	}
}

// outcomes returns the values of f for u under any hash. It reads the conditions instead of the
// limit, so that it also checks the limit.
func outcomes(f Flag, u *User) []Answer {
	properties := u.Properties()
	for _, c := range f.Conditions {
		if slices.ContainsFunc(c.Properties, func(p Property) bool { return !holds(p, properties[p.Key]) }) {
			continue
		}
		var may []Answer
		if c.Rollout < 100 {
			may = append(may, Answer{})
		}
		if len(f.Variants) == 0 {
			return append(may, Answer{On: true})
		}
		for _, v := range f.Variants {
			may = append(may, Answer{true, v.Key})
		}
		return may
	}
	return []Answer{{}}
}

func holds(p Property, x any) bool {
	switch p.Operator {
	case "exact":
		return slices.Contains(p.Value.([]string), x.(string))
	case "is_not":
		return !slices.Contains(p.Value.([]string), x.(string))
	case "icontains":
		return strings.Contains(x.(string), p.Value.(string))
	default:
		return x.(float64) >= p.Value.(float64)
	}
}
