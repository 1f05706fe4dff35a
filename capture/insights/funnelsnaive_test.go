package insights

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestWalkersFollowTheText compares walkers with the naive evaluator on random sequences with ties,
// exclusions, short windows and events that match several steps.
func TestWalkersFollowTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 25))
	full, spoiled := 0, 0
	for n := range 30_000 {
		f := naiveFunnel{steps: 1 + random.IntN(5), window: 1 + random.IntN(12), strict: n%3 == 1}
		if n%3 != 1 && f.steps > 1 {
			for range random.IntN(3) {
				from := random.IntN(f.steps - 1)
				f.exclusions = append(f.exclusions, naiveExclusion{from: from, to: from + 1 + random.IntN(f.steps-1-from)})
			}
		}
		events := randomWalk(random, &f, n%3 == 2)
		occurrences := make([]occurrence, len(events))
		for i, e := range events {
			occurrences[i] = occurrenceOf(e, int64(i))
		}
		var exclusions []exclusion
		for _, x := range f.exclusions {
			exclusions = append(exclusions, exclusion(x))
		}
		var w walker = newAttempts(f.steps, int64(f.window), f.strict, exclusions)
		reached, times := f.walk(events)
		if n%3 == 2 {
			w = newUnorderedWalker(f.steps, int64(f.window))
			reached, times = naiveUnordered(f.steps, f.window, events)
		}
		w.walk(occurrences[:len(occurrences)/2]) // a walker is reused
		got, gotTimes := w.walk(occurrences)
		if got != reached || !slices.Equal(gotTimes, times) {
			t.Fatalf("%+v of %+v\nreached %d at %v, want %d at %v", f, events, got, gotTimes, reached, times)
		}
		if reached == f.steps && reached > 2 {
			full++
		}
		if reached == 0 && len(f.exclusions) > 0 {
			spoiled++
		}
	}
	if full < 1000 || spoiled < 500 {
		t.Errorf("the sequences say little: %d whole funnels, %d spoiled", full, spoiled)
	}
}

func occurrenceOf(e naiveEvent, id int64) occurrence {
	o := occurrence{time: e.at, id: id}
	for _, k := range e.steps {
		o.match |= 1 << (k - 1)
	}
	for _, x := range e.exclusions {
		o.match |= 1 << (firstExclusion + x)
	}
	if e.barred {
		o.match |= cannotBegin
	}
	return o
}

func randomWalk(random *rand.Rand, f *naiveFunnel, anyOrder bool) []naiveEvent {
	events := make([]naiveEvent, random.IntN(14))
	now := int64(0)
	for i := range events {
		now += int64(random.IntN(4)) * int64(random.IntN(2))
		events[i].at = now
		for k := 1; k <= f.steps; k++ {
			if random.IntN(f.steps+1) == 0 {
				events[i].steps = append(events[i].steps, k)
			}
		}
		for x := range f.exclusions {
			if random.IntN(6) == 0 {
				events[i].exclusions = append(events[i].exclusions, x)
			}
		}
		events[i].barred = anyOrder && random.IntN(3) == 0
	}
	return events
}
