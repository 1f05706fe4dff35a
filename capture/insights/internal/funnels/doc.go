// Package funnels answers FunnelsQuery: how many actors reach each step in time.
//
//	funnel.go                      parsing                                      §2.5
//	run.go                         collects the events of each actor
//	steps.go, unordered.go         walks over the events of an actor            §2.5.2
//	tally.go, trends.go, views.go  conversions: totals, by entrance, durations  §2.5.3 to §2.5.5
//	result.go                      the rows of the result
//	actors.go                      the actors behind a number                   §2.9.3
//
// Section numbers refer to testdata/spec/insights.md.
package funnels
