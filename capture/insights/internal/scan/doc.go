// Package scan runs a query over the events of a store. A [Plan] is a parsed query. A [Run] counts
// the memory and the events of one run. Before the scan, a [Binder] collects the columns and
// properties that the query needs, and returns functions that read values of the current [Row].
//
//	run.go                                   kinds of queries, and one run          §1, §5.4
//	binder.go, row.go                        the needs of a query, one event        §3.2.2
//	extract.go                               properties in JSON objects             §3.2.2
//	people.go, session.go, sessions.go       persons, groups and sessions of events §3.3
//	period.go                                the range of a query, and the previous §3.1
//	actors.go, sets.go, chains.go            actors, and the values stored for them
//	answer.go                                numbers and options of results
package scan
