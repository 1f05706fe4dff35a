// Package sqlquery answers queries that return rows: HogQL, lists of events, lists of persons
// and groups, and the actors behind one number of another query.
//
//	hogql.go, rows.go, tables.go        the kinds, and HogQL over events, persons and groups   §2.9.5
//	events.go, eventcolumns.go          lists of events                         §2.9.1
//	source.go                           queries inside of other queries         §2.9.3, §2.9.4
//	actors.go, actorsrun.go             lists of persons and groups             §2.9.2
//
// Section numbers refer to testdata/spec/insights.md.
package sqlquery
