// Package insights answers questions about events: trends, funnels, retention,
// lifecycle, stickiness, lists of events and of people, and a subset of PostHog's
// SQL. Answers are exact or an [Error] that says why there is none.
//
//	JSON of a query -> decode.go -> a query kind's file -> Reader.Scan -> Result
//
// The package is pure: it does no I/O and reads no clock. Events come from a
// [Reader] as batches of columns (port.go), so that rows of a table and sealed
// columns serve alike; what a project has decided (time zone, actions, cohorts)
// comes as a [Project].
//
//	port.go, memory.go        what a store offers, and one in memory
//	errors.go, decode.go      errors with a place, reading a query           §1.7
//	dates.go, buckets.go      dates, periods, buckets and their labels       §3.1
//	row.go, extract.go        one event and its properties                   §3.2.2
//	filter.go, operators.go   property filters                               §3.2
//	series.go                 nodes: events, actions and their conditions    §2.2, §2.3
//	funnel*.go, chains.go     funnels: what actors did, walked step by step   §2.5
//	retention*.go             retention: rows, columns and cells              §2.6
//	split.go, grouped.go      the breakdowns of these two                     §2.5.3
//	actors*.go                lists of people and groups                      §2.9.2
//	fromfilters.go            queries of older insights' filters              §2.10
//
// Section numbers in comments are those of the specification of insights.
//
// Bounds: the memory of a query is counted ([Limits]) and ends it with an error
// when it is spent; buckets, breakdown values, cells and rows are bounded (§5.4);
// the number of events that are read is not.
package insights
