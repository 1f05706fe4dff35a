// Package experiments says what the numbers of an experiment mean: effects with their
// intervals, whether the variants got the shares that they should have, and how long it
// will take to see an effect. It computes from sufficient statistics, which are sums,
// and does no I/O. The § in its comments are those of spec/experiments.md, copied in
// testdata/spec.
//
// What cannot be computed is absent, with a reason: never 0, never NaN.
package experiments
