package charts

import "math"

// axis is the scale of the numbers from lo to hi, which includes 0. step is the distance of its
// ticks.
type axis struct{ lo, hi, step float64 }

// newAxis returns an axis that includes low and high. If integer is true, all numbers are
// integers, and so is its step.
func newAxis(low, high float64, integer bool) axis {
	low, high = min(low, 0), max(high, 0)
	if high-low < 1e-300 {
		return axis{0, 1, 1}
	}
	step := niceStep((high - low) / 4)
	if integer {
		step = max(step, 1)
	}
	return axis{math.Floor(low/step) * step, math.Ceil(high/step) * step, step}
}

// niceStep returns the smallest number of the form 1, 2 or 5 times a power of ten that is not
// less than f.
func niceStep(f float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(f)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= f*(1-1e-9) {
			return n * power
		}
	}
	return 10 * power
}

// ticks returns the labeled numbers, at most six.
func (a axis) ticks() (out []float64) {
	n := int(math.Round((a.hi - a.lo) / a.step))
	for i := range n + 1 {
		out = append(out, a.lo+float64(i)*a.step)
	}
	return out
}

// position maps a number to a coordinate: lo to from and hi to to.
func (a axis) position(v, from, to float64) float64 {
	return from + (v-a.lo)/(a.hi-a.lo)*(to-from)
}
