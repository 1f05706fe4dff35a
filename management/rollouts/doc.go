// Package rollouts manages guarded rollouts (spec/experiments.md §4): a rollout raises the share of a
// flag in steps, compares the metrics of treatment and control before each step, and goes back if
// one of them got worse.
//
// New returns a Service with the operations of the API. EvaluateDue evaluates the rollouts that are
// due; the server must call it regularly. It takes a snapshot, measures outside of a transaction, and
// applies the decision in a second one. Simulate computes in advance how a plan would respond to harm.
package rollouts
