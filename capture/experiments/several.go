package experiments

import (
	"math"
	"slices"
)

// Mismatch is the probability of counts as far as these from the shares that variants
// should have (§2.10), with the counts that were expected. It is false where there are
// fewer than two variants with a share, or fewer than 100 entities.
func Mismatch(observed []int64, shares []float64) (p float64, expected []float64, ok bool) {
	var total, shareSum float64
	variants := 0
	for i, share := range shares {
		if share > 0 {
			variants++
			shareSum += share
			total += float64(observed[i])
		}
	}
	if variants < 2 || total < 100 {
		return 0, nil, false
	}
	expected = make([]float64, len(shares))
	square := 0.0
	for i, share := range shares {
		if share > 0 {
			expected[i] = total * share / shareSum
			off := float64(observed[i]) - expected[i]
			square += off * off / expected[i]
		}
	}
	return chiSquaredTail(square, float64(variants-1)), expected, true
}

// Holm raises p-values so that the chance of any false alarm among them is that of one
// (§2.11).
func Holm(p []float64) []float64 {
	out, order := make([]float64, len(p)), ascendingOrder(p)
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, float64(len(p)-rank)*p[i])
		out[i] = min(1, highest)
	}
	return out
}

// BenjaminiHochberg raises p-values so that the share of false alarms among alarms is
// that of one (§2.11).
func BenjaminiHochberg(p []float64) []float64 {
	out, order := make([]float64, len(p)), ascendingOrder(p)
	lowest := 1.0
	for rank := len(order) - 1; rank >= 0; rank-- {
		i := order[rank]
		lowest = min(lowest, float64(len(p))*p[i]/float64(rank+1))
		out[i] = lowest
	}
	return out
}

func ascendingOrder(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	return order
}

// AdjustedInterval is the interval that goes with a raised p-value (§2.11). It is false for one
// that says nothing.
func AdjustedInterval(effect, p, alpha float64) (Interval, bool) {
	if p > 0.999 {
		return Interval{}, false
	}
	half := z(1-alpha/2) * math.Abs(effect/z(1-p/2))
	return Interval{effect - half, effect + half}, true
}
