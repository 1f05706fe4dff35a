package experiments

import "math"

// rhoSquared returns the tuning parameter with which the interval of a sequential test is the
// narrowest at tuning entities (§2.6).
func rhoSquared(alpha, tuning float64) float64 {
	l := -2 * math.Log(alpha)
	return (l + math.Log1p(l)) / tuning
}

// sequential computes the confidence sequence, which is valid however often it is computed. n is
// the number of entities of both variants.
func (t *Test) sequential(c *Comparison, n float64) {
	alpha := t.alpha()
	r := n * rhoSquared(alpha, t.Tuning)
	c.setInterval(c.Error * math.Sqrt(2*(r+1)/r*(math.Log1p(r)/2-math.Log(alpha))))
	at := c.Effect / c.Error
	evidence := r/(2*(r+1))*at*at - math.Log1p(r)/2
	c.P = min(1, math.Exp(-evidence))
	c.Significant = c.P < alpha
}

// LowerBound returns a bound that is below the effect at all times with probability 1 − alpha, for
// alpha < ½, from the effect and its standard error with n entities (§2.7). tuning is as in Test.
func LowerBound(effect, standardError float64, n int64, alpha, tuning float64) float64 {
	r := float64(n) * rhoSquared(2*alpha, tuning)
	return effect - standardError*math.Sqrt(2*(r+1)/r*math.Log1p(math.Sqrt(r+1)/(2*alpha)))
}
