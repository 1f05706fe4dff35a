package definitions

import "math"

// Extrapolate returns how many of total subjects meet a condition, if matched of the evaluated seen
// subjects do. It is exact if all were evaluated.
func Extrapolate(seen, matched, total int) (n int, exact bool) {
	if seen == total || seen == 0 {
		return matched, seen == total
	}
	return int(math.Round(float64(matched) / float64(seen) * float64(total))), false
}
