package trials

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The element at an index is that of the sorted values (experiments.md §1.8), also of equal values and of
// orders for which the pivots are bad.
func TestNth(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 8))
	orders := map[string]func(i, count int) float64{
		"random":     func(int, int) float64 { return random.NormFloat64() },
		"few":        func(int, int) float64 { return float64(random.IntN(3)) },
		"equal":      func(int, int) float64 { return 7 },
		"ascending":  func(i, _ int) float64 { return float64(i) },
		"descending": func(i, count int) float64 { return float64(count - i) },
		"pipes":      func(i, count int) float64 { return float64(min(i, count-i)) },
		"middle":     func(i, count int) float64 { return float64((i + count/2) % count) },
	}
	for name, order := range orders {
		for _, count := range []int{1, 2, 3, 16, 17, 40, 1000} {
			values := make([]float64, count)
			for i := range values {
				values[i] = order(i, count)
			}
			sorted := slices.Sorted(slices.Values(values))
			for _, n := range []int{0, count / 3, count / 2, count * 99 / 100, count - 1} {
				if got := nth(slices.Clone(values), n); got != sorted[n] {
					t.Errorf("%s, element %d of %d: %g, want %g", name, n, count, got, sorted[n])
				}
			}
		}
	}
}
