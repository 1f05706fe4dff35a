// Package trends answers TrendsQuery: the numbers of each series, by bucket and breakdown value.
//
//	measure.go, trends.go        the math of a series, and parsing   §2.4.1, §2.4.2
//	tally.go, distinct.go, firsttime.go, hogqltally.go   the tallies of maths
//	counting.go, begin.go        one series while it is counted
//	run.go                       one scan for all series
//	formula.go, formulas.go      formulas of series                           §2.4.5
//	answer.go                    the rows of the result                       §2.4.6
//	collect.go, actors.go        the actors behind a number            §2.9.3, §2.9.4
//
// Section numbers refer to testdata/spec/insights.md.
package trends
