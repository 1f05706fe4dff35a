// Package guarded decides whether a guarded rollout takes its next step (§4.4 to §4.10): whether a
// metric is harmed, whether the arms have their shares, and which decision follows. It does no I/O.
//
// A query of capture/insights collects the [Evidence] of a step. Rollout.Evaluate tests it, in
// guarded.go, and Rollout.Decide applies the table of decisions to the result and to the
// [Situation], in decide.go. Simulation, in simulate.go, computes how often a rollout would roll
// back. Package management/rollouts carries out the decisions. The § are those of
// spec/experiments.md.
package guarded
