package funnels

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

const anHour = int64(3600e6)

// acts parses the events of an actor: steps a, b, c, … and exclusions x, y with their hours, such
// as "a1 x2 b3.5". "ab1" is one event that matches two steps.
func acts(t testing.TB, text string) (events []occurrence) {
	t.Helper()
	for i, word := range strings.Fields(text) {
		split := strings.IndexAny(word, "0123456789")
		at := parseHours(t, word[split:])
		e := occurrence{time: at, id: int64(i)}
		for _, letter := range word[:split] {
			switch {
			case letter >= 'x':
				e.match |= 1 << (firstExclusion + letter - 'x')
			case letter != '-':
				e.match |= 1 << (letter - 'a')
			}
		}
		events = append(events, e)
	}
	return events
}

func parseHours(t testing.TB, text string) int64 {
	t.Helper()
	hours, part, _ := strings.Cut(text, ".")
	n := int64(0)
	for _, digit := range hours {
		n = n*10 + int64(digit-'0')
	}
	n *= anHour
	if part != "" {
		n += int64(part[0]-'0') * anHour / 10
	}
	return n
}

// TestWalkers tests the sequences of insights_vectors.json and the rules of §2.5.2.
func TestWalkers(t *testing.T) {
	between := []exclusion{{0, 1}}
	for _, c := range []struct {
		name       string
		steps      int
		hours      int64
		kind       string
		exclusions []exclusion
		acts       string
		want       []float64 // hours
	}{
		{"funnel-01: what comes too early does not count", 3, 336, "ordered", nil, "b12 a13 c14", []float64{13}},
		{"funnel-05: the window spans the whole funnel", 3, 2, "ordered", nil, "a0 b1 c2.5", []float64{0, 1}},
		{"funnel-05: its end belongs to it", 3, 3, "ordered", nil, "a0 b1 c3", []float64{0, 1, 3}},
		{"funnel-07: clean", 2, 336, "ordered", between, "a1 b3", []float64{1, 3}},
		{"funnel-07: hit", 2, 336, "ordered", between, "a1 x2 b3", nil},
		{"funnel-07: dropped", 2, 336, "ordered", between, "a1 x2", nil},
		{"funnel-07: before", 2, 336, "ordered", between, "x0 a1 b2", []float64{1, 2}},
		{"funnel-07: second try", 2, 336, "ordered", between, "a1 x2 a3 b4", []float64{3, 4}},
		{"an exclusion beyond the window spoils nothing", 2, 2, "ordered", between, "a1 x4", []float64{1}},
		{"an exclusion outside its steps spoils nothing", 3, 336, "ordered", between, "a1 b2 x3 c4", []float64{1, 2, 4}},
		{"funnel-13: a and b at one instant", 2, 336, "ordered", nil, "a1 b1", []float64{1, 1}},
		{"funnel-13: in either order of arrival", 2, 336, "ordered", nil, "b1 a1", []float64{1, 1}},
		{"at one instant exclusions are left out", 2, 336, "ordered", between, "a1 x1 b1", []float64{1, 1}},
		{"an event is one step of an attempt", 2, 336, "ordered", nil, "ab1", []float64{1}},
		{"funnel-15: p, the attempt that got further", 3, 336, "ordered", nil, "a1 b2 a3 c5", []float64{1, 2, 5}},
		{"funnel-15: q, the later attempt", 3, 336, "ordered", nil, "a1 b2 a3 b4 c5", []float64{3, 4, 5}},
		{"funnel-15: r, the latest first step", 3, 336, "ordered", nil, "a1 a2 b4", []float64{2, 4}},
		{"another event breaks a strict attempt", 2, 336, "strict", nil, "a1 -2 b3", []float64{1}},
		{"what comes before and after does not", 2, 336, "strict", nil, "-1 a2 b3 -4", []float64{2, 3}},
		{"funnel-21: p1", 3, 24, "unordered", nil, "b1 c2 a4", []float64{1, 2, 4}},
		{"funnel-21: p2", 3, 24, "unordered", nil, "c1 a49 b50", []float64{49, 50}},
		{"funnel-21: p3", 3, 24, "unordered", nil, "a1 a2", []float64{1}},
		{"an exclusion empties what is queued", 2, 336, "unordered", between, "a1 x2 b3", []float64{3}},
	} {
		var w walker = newAttempts(c.steps, c.hours*anHour, c.kind == "strict", c.exclusions)
		if c.kind == "unordered" {
			w = newUnorderedWalker(c.steps, c.hours*anHour)
		}
		reached, times := w.walk(acts(t, c.acts))
		var got []float64
		for _, at := range times {
			got = append(got, float64(at)/float64(anHour))
		}
		if reached != len(c.want) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %s reaches %d at %v, want %v", c.name, c.acts, reached, got, c.want)
		}
	}
}

// TestTallyTimes is funnel-03: conversion times of 3600, 10800, 1800 and 1800, 12600 seconds.
func TestTallyTimes(t *testing.T) {
	sum := newFunnelTally(3)
	w := newAttempts(3, 336*anHour, false, nil)
	for _, text := range []string{"a0 b1 c1.5", "a0 b3", "a0 b0.5 c4"} {
		_, times := w.walk(acts(t, text))
		sum.add(times)
	}
	if !slices.Equal(sum.counts, []int64{3, 3, 2}) {
		t.Errorf("counts %v", sum.counts)
	}
	for k, want := range [][]float64{nil, {5400, 3600}, {7200, 7200}} {
		mean, median := sum.times(k)
		if want == nil && (mean != nil || median != nil) || want != nil && (*mean != want[0] || *median != want[1]) {
			t.Errorf("step %d: mean %v, median %v, want %v", k, mean, median, want)
		}
	}
}

// TestHistogram tests the worked example of §4, and funnel-11.
func TestHistogram(t *testing.T) {
	times := []int64{3600e6, 2220e6, 82_800e6}
	for bins, want := range map[int][][2]int64{
		0: {{2220, 2}, {42510, 0}, {82800, 1}},
		7: {{2220, 2}, {13732, 0}, {25244, 0}, {36756, 0}, {48268, 0}, {59780, 0}, {71292, 1}, {82804, 0}},
	} {
		if got := histogram(times, bins); !reflect.DeepEqual(got, want) {
			t.Errorf("%d bins: %v, want %v", bins, got, want)
		}
	}
	if got := histogram(nil, 5); !reflect.DeepEqual(got, [][2]int64{{0, 0}, {60, 0}}) {
		t.Errorf("nobody: %v", got)
	}
	if got := histogram([]int64{60e6, 60e6}, 0); !reflect.DeepEqual(got, [][2]int64{{60, 2}, {120, 0}, {180, 0}}) {
		t.Errorf("one time only: %v", got)
	}
	for n, want := range map[int]int{1: 1, 3: 2, 8: 2, 9: 3, 27: 3, 28: 4, 1_000_000: 100, 1_000_001: 101} {
		if got := ceilCubeRoot(n); got != want {
			t.Errorf("cube root of %d: %d, want %d", n, got, want)
		}
	}
}

// TestViews tests to which values an actor counts (§2.5.3): the actor did a with Chrome (1), b
// without a value (0), a and b with Safari (2).
func TestViews(t *testing.T) {
	events := acts(t, "a1 b2 a3 b4")
	for i, value := range []uint32{1, 0, 2, 2} {
		events[i].value = value
	}
	for _, c := range []struct {
		name  string
		views attributor
		want  map[uint32][]float64
	}{
		{"first touch", attributor{attribution: firstTouch}, map[uint32][]float64{1: {1, 2}}},
		{"last touch", attributor{attribution: lastTouch}, map[uint32][]float64{2: {1, 2}}},
		{"all events", attributor{attribution: allEvents}, map[uint32][]float64{0: {}, 1: {1}, 2: {3, 4}}},
		{"step 0", attributor{attribution: stepTouch}, map[uint32][]float64{1: {1, 2}, 2: {3, 4}}},
		{"step 1", attributor{attribution: stepTouch, step: 1}, map[uint32][]float64{0: {1, 2}, 2: {3, 4}}},
	} {
		got := map[uint32][]float64{}
		w := newAttempts(2, 336*anHour, false, nil)
		err := c.views.each(events, func(value uint32, events []occurrence) error {
			_, times := w.walk(events)
			got[value] = []float64{}
			for _, at := range times {
				got[value] = append(got[value], float64(at)/float64(anHour))
			}
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, got, err, c.want)
		}
	}
}

// TestEntrances tests conversion over time (§2.5.5): an attempt enters in the bucket of its first
// step, an actor at most once in a bucket. The window is 30 hours, and buckets are days.
func TestEntrances(t *testing.T) {
	for _, c := range []struct {
		acts string
		want map[int]int // bucket -> steps
	}{
		{"a1 b2", map[int]int{0: 2}},
		{"b1 a1", map[int]int{0: 2}},
		{"a1 a3 b4", map[int]int{0: 2}},
		{"a1 a25 b26", map[int]int{0: 2, 1: 2}}, // both attempts are within the window
		{"a1 a47 b60", map[int]int{0: 1, 1: 2}}, // the first is not
		{"a1 a25 b26 a49", map[int]int{0: 2, 1: 2, 2: 1}},
		{"a23 b53", map[int]int{0: 2}}, // the end of the window is included, even far after the bucket
		{"b1", map[int]int{}},
	} {
		n := entrances{starts: []int64{0, 24 * anHour, 48 * anHour}, end: 72 * anHour, window: 30 * anHour, walker: newAttempts(2, 30*anHour, false, nil)}
		got := map[int]int{}
		err := n.each(acts(t, c.acts), func(bucket, reached int) error { got[bucket] = reached; return nil })
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", c.acts, got, c.want)
		}
	}
	c := conversion{from: []int64{3, 0, 4}, to: []int64{1, 0, 4}}
	if got := c.percents(); !slices.Equal(got, []float64{33.33, 0, 100}) {
		t.Errorf("percents: %v", got)
	}
}
