// Package breakdown splits a result by the values of up to three properties, or by cohorts.
//
//	breakdown.go   the breakdown of trends: values, their order, and bins of numbers   §2.4.4
//	split.go       the breakdown of funnels and retention: one value per actor       §2.5.3
//	grouped.go     sums by value, of which the largest have rows of their own          §2.5.3
//
// Values are strings. [NullValue] is the missing value, and [OtherValue] is the sum of all values
// that have no row of their own. Section numbers refer to testdata/spec/insights.md.
package breakdown
