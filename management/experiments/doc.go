// Package experiments manages experiments with their saved metrics and holdouts (spec/management.md
// §5.7, spec/experiments.md §3). The results are computed elsewhere: see capture/experiments.
//
// New returns a Service with the operations of the API. An experiment has a flag with variants; rules
// checks an experiment and changes its flag in the same transaction, through storedflags. Call makes
// the transitions of its life cycle, and AnalysisInput returns what the analysis needs.
package experiments
