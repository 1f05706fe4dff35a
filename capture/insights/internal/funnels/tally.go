package funnels

import (
	"math"
	"slices"
)

// funnelTally counts the actors of one breakdown value in a funnel.
type funnelTally struct {
	// counts is, by step, the number of actors that reached at least this step.
	counts []int64
	// gaps are, by step from the second on, the times since the previous step in microseconds. Zero
	// times are not included (§2.5.3).
	gaps [][]int64
}

// newFunnelTally returns an empty tally.
func newFunnelTally(steps int) *funnelTally {
	return &funnelTally{counts: make([]int64, steps), gaps: make([][]int64, steps-1)}
}

// add counts an actor by the times of its steps. It returns how many times were added to gaps, for
// which the caller reserves memory.
func (t *funnelTally) add(times []int64) (added int) {
	for k := range times {
		t.counts[k]++
		if k > 0 && times[k] > times[k-1] {
			t.gaps[k-1] = append(t.gaps[k-1], times[k]-times[k-1])
			added++
		}
	}
	return added
}

// merge adds the counts of o to t. o must not be used afterwards.
func (t *funnelTally) merge(o *funnelTally) {
	for k := range o.counts {
		t.counts[k] += o.counts[k]
	}
	for k := range o.gaps {
		t.gaps[k] = append(t.gaps[k], o.gaps[k]...)
	}
}

// times returns the mean and the median of the times before step k in seconds; nil if there are
// none.
func (t *funnelTally) times(k int) (mean, median *float64) {
	if k == 0 || len(t.gaps[k-1]) == 0 {
		return nil, nil
	}
	gaps := t.gaps[k-1]
	slices.Sort(gaps)
	m, q := meanSeconds(gaps), middle(gaps)/1e6
	return &m, &q
}

// meanSeconds returns the mean in seconds of times in microseconds.
func meanSeconds(micros []int64) float64 {
	sum := 0.0
	for _, v := range micros {
		sum += float64(v)
	}
	return sum / float64(len(micros)) / 1e6
}

// middle returns the median of sorted numbers, which is the mean of the two middle numbers if their
// count is even.
func middle(sorted []int64) float64 {
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return float64(low) + float64(high-low)/2
}

// moreConverted orders tallies by the count of the last step, descending, then by the count of the
// step before it, and so on.
func moreConverted(a, b *funnelTally) int {
	for k := len(a.counts) - 1; k >= 0; k-- {
		if a.counts[k] != b.counts[k] {
			return int(max(-1, min(1, b.counts[k]-a.counts[k])))
		}
	}
	return 0
}

// histogram returns the bins of conversion times in microseconds (§2.5.4): the start of each bin in
// seconds, and its count. If bins is 0, the number of bins depends on the number of times.
func histogram(times []int64, bins int) [][2]int64 {
	if len(times) == 0 {
		return [][2]int64{{0, 0}, {60, 0}}
	}
	if bins == 0 {
		bins = max(1, min(60, ceilCubeRoot(len(times))))
	}
	const second = 1_000_000
	low := slices.Min(times) / second
	high := (slices.Max(times) + second - 1) / second
	width := (high - low + int64(bins) - 1) / int64(bins)
	if width == 0 {
		width = 60
	}
	out := make([][2]int64, bins+1)
	for i := range out {
		out[i][0] = low + int64(i)*width
	}
	for _, t := range times {
		out[(t-low*second)/(width*second)][1]++
	}
	return out
}

// ceilCubeRoot returns the cube root of n, rounded up. It corrects the rounding of math.Cbrt.
func ceilCubeRoot(n int) int {
	r := int(math.Cbrt(float64(n)))
	for r*r*r < n {
		r++
	}
	return r
}
