// Package experiments computes the statistics of experiments: effects with their intervals, whether
// the variants received their shares of the entities, sample sizes, and the decisions of guarded
// rollouts. It computes from sufficient statistics, which are sums, and does no I/O. An entity is a
// person, or a group for flags about groups. The § in its comments are those of
// spec/experiments.md, copied in testdata/spec.
//
// The main types are Sample, the sums of a variant, and Test, which compares two samples. Plan
// computes sample sizes, Mismatch tests the sizes of samples, Holm and BenjaminiHochberg correct
// for several metrics. Rollout judges the steps of a guarded rollout, and Simulation computes how
// often a rollout would roll back.
//
// A value that cannot be computed is absent, with a reason: it is never 0 or NaN instead. All
// functions may be called concurrently.
package experiments
