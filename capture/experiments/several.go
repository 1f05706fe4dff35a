package experiments

import (
	"math"
	"slices"
)

// Mismatch returns the probability of counts that differ at least this much from the shares of the
// variants (§2.10), and the expected counts. It returns false for fewer than two variants with a
// share, or fewer than 100 entities.
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

// Holm adjusts p-values so that the probability of any false positive among them is that of one
// test (§2.11).
func Holm(p []float64) []float64 {
	out, order := make([]float64, len(p)), ascendingOrder(p)
	highest := 0.0
	for rank, i := range order {
		highest = max(highest, float64(len(p)-rank)*p[i])
		out[i] = min(1, highest)
	}
	return out
}

// BenjaminiHochberg adjusts p-values so that the share of false positives among the positives is
// that of one test (§2.11).
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

// ascendingOrder returns the indexes of p in ascending order of its values.
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

// AdjustedInterval returns the interval that corresponds to an adjusted p-value (§2.11). It returns
// false for a p-value near 1, to which no interval corresponds.
func AdjustedInterval(effect, p, alpha float64) (interval, bool) {
	if p > 0.999 {
		return interval{}, false
	}
	half := z(1-alpha/2) * math.Abs(effect/z(1-p/2))
	return interval{effect - half, effect + half}, true
}
