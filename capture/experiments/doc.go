// Package experiments computes the statistics of experiments: effects with their intervals, whether
// the variants received their shares of the entities, and sample sizes. It computes from sufficient
// statistics, which are sums, and does no I/O. An entity is a person, or a group for flags about
// groups. The § in its comments are those of spec/experiments.md, copied in testdata/spec.
//
// The main types are Sample, the sums of a variant, and Test, which compares two samples. Plan
// computes sample sizes, Mismatch tests the sizes of samples, Holm and BenjaminiHochberg correct
// for several metrics.
//
// A value that cannot be computed is absent, with a reason: it is never 0 or NaN instead. All
// functions may be called concurrently.
package experiments
