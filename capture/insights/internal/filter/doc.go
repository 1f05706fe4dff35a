// Package filter has the conditions on events. A filter is parsed to a [Condition], and bound for
// each run to a function of the current event.
//
//	condition.go, filters.go             conditions, and lists and trees of filters   §3.2
//	operators.go                         comparisons, with the operators of flags     §3.2.3
//	elements.go                          elements of autocaptured events              §3.2.6
//	people.go, cohorts.go, persons.go    persons and cohorts                          §3.3
//	actions.go, series.go                actions and the series of queries            §2.2, §2.3
//	expressions.go, fields.go, tables.go, actorrow.go   HogQL, its fields and tables  §2.9.5
//
// Section numbers refer to testdata/spec/insights.md.
package filter
