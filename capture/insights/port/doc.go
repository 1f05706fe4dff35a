// Package port is the interface between queries, the stores of events, and servers. A store
// implements [Source] and [Reader]. A server runs a query with a [Project] and [Options], which
// returns a [Result] or an [Error].
//
//	port.go      the interface of a store: events as batches of columns
//	project.go   the settings of a project, options and limits of a run, results   §1
//	errors.go    the error of a query, with its place                              §1.7
//
// The package capture/insights parses and runs queries. Section numbers in comments refer to the
// specification of insights (testdata/spec/insights.md).
package port
