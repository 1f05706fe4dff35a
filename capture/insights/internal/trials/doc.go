// Package trials answers queries about experiments and guarded rollouts. It finds the exposed
// actors of each variant and measures metrics; the statistics are in capture/experiments.
//
//	trial.go, exposure.go         the experiment of a query, and exposed actors
//	metric.go, measure.go, walk.go   metrics, and their values for each actor
//	experiment.go, result.go      one metric, compared by variant
//	results.go, timeseries.go     all metrics of an experiment, and by day
//	daily.go                      the state of an experiment that is stored between runs
//	dailyrun.go, days.go          continues from the stored state, day by day
//	dailyentities.go              one scan of the events of some days for all metrics
//	moments.go, dailymetrics.go, dailyfunnel.go, dailydistinct.go   metrics whose state can be continued
//	exposures.go                  the numbers of exposures
//	rollout.go                    one step of a guarded rollout
//
// Sections are those of testdata/spec/experiments.md if a comment names that page.
package trials
