package funnels

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/plaintest"
)

// TestWalkersFollowTheText compares walkers with the naive evaluator on random sequences with ties,
// exclusions, short windows and events that match several steps.
func TestWalkersFollowTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 25))
	full, spoiled := 0, 0
	for n := range 30_000 {
		f := plaintest.Funnel{Steps: 1 + random.IntN(5), Window: 1 + random.IntN(12), Strict: n%3 == 1}
		if n%3 != 1 && f.Steps > 1 {
			for range random.IntN(3) {
				from := random.IntN(f.Steps - 1)
				f.Exclusions = append(f.Exclusions, plaintest.Exclusion{From: from, To: from + 1 + random.IntN(f.Steps-1-from)})
			}
		}
		events := randomWalk(random, &f, n%3 == 2)
		occurrences := make([]occurrence, len(events))
		for i, e := range events {
			occurrences[i] = occurrenceOf(e, int64(i))
		}
		var exclusions []exclusion
		for _, x := range f.Exclusions {
			exclusions = append(exclusions, exclusion{from: x.From, to: x.To})
		}
		var w walker = newAttempts(f.Steps, int64(f.Window), f.Strict, exclusions)
		reached, times := f.Walk(events)
		if n%3 == 2 {
			w = newUnorderedWalker(f.Steps, int64(f.Window))
			reached, times = plaintest.Unordered(f.Steps, f.Window, events)
		}
		w.walk(occurrences[:len(occurrences)/2]) // a walker is reused
		got, gotTimes := w.walk(occurrences)
		if got != reached || !slices.Equal(gotTimes, times) {
			t.Fatalf("%+v of %+v\nreached %d at %v, want %d at %v", f, events, got, gotTimes, reached, times)
		}
		if reached == f.Steps && reached > 2 {
			full++
		}
		if reached == 0 && len(f.Exclusions) > 0 {
			spoiled++
		}
	}
	if full < 1000 || spoiled < 500 {
		t.Errorf("the sequences say little: %d whole funnels, %d spoiled", full, spoiled)
	}
}

func occurrenceOf(e plaintest.Event, id int64) occurrence {
	o := occurrence{time: e.At, id: id}
	for _, k := range e.Steps {
		o.match |= 1 << (k - 1)
	}
	for _, x := range e.Exclusions {
		o.match |= 1 << (firstExclusion + x)
	}
	if e.Barred {
		o.match |= cannotBegin
	}
	return o
}

func randomWalk(random *rand.Rand, f *plaintest.Funnel, anyOrder bool) []plaintest.Event {
	events := make([]plaintest.Event, random.IntN(14))
	now := int64(0)
	for i := range events {
		now += int64(random.IntN(4)) * int64(random.IntN(2))
		events[i].At = now
		for k := 1; k <= f.Steps; k++ {
			if random.IntN(f.Steps+1) == 0 {
				events[i].Steps = append(events[i].Steps, k)
			}
		}
		for x := range f.Exclusions {
			if random.IntN(6) == 0 {
				events[i].Exclusions = append(events[i].Exclusions, x)
			}
		}
		events[i].Barred = anyOrder && random.IntN(3) == 0
	}
	return events
}
