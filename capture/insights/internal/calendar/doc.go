// Package calendar computes with dates in the time zone of a project: the dates that queries
// contain, intervals, and the buckets into which a series is divided.
//
//	calendar.go   a time zone, the first day of the week, and units between two times
//	dates.go      absolute and relative dates, and their ranges    §3.1.1, §3.1.2
//	buckets.go    buckets, and their labels                        §3.1.3, §3.1.5
//
// A day begins at the first instant of its local date, also if clocks skip or repeat midnight.
// Section numbers refer to testdata/spec/insights.md.
package calendar
