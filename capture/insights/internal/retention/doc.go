// Package retention answers RetentionQuery: how many actors return after how many intervals. Actors
// enter a row by the target event, and return in a column by the returning event.
//
//	retention.go   parsing, the scan, and the rows of the result     §2.6
//	cells.go       the rows and columns of one actor
//	amounts.go     sums and averages of a property in each cell
//	actors.go      the actors in a row                               §2.9.3
//
// Section numbers refer to testdata/spec/insights.md.
package retention
