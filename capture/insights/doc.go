// Package insights answers queries about events: trends, funnels, retention, lifecycle, stickiness,
// experiments, surveys, lists of events and of persons, and a subset of PostHog's SQL (HogQL). A
// result is exact; if it cannot be, the query fails with an [port.Error] that describes the reason.
//
//	JSON of a query -> Parse -> Query.Run -> Reader.Scan -> Result
//
// [Parse] reads the JSON of a query for a [port.Project] and returns a [Query], which can be run
// repeatedly:
//
//	query, err := insights.Parse(document, project)
//	if err != nil {
//		return err // an *insights.Error describes what is wrong with the query
//	}
//	result, err := query.Run(ctx, source, insights.Options{Now: time.Now()})
//
// The package does no I/O and does not read a clock. Events come from a [port.Reader] as batches of
// columns (port.go), a form that suits tables with rows and files with columns. The settings of a
// project that affect results (time zone, actions, cohorts) are in a [port.Project].
//
// Each kind of query has a plan type in a file of its own and a row in the table of its subject,
// which kinds.go collects. Parsing builds the plan and finds members that are not valid. A run
// binds the conditions and values of the plan with a binder: this collects the columns and
// properties that the query needs, and returns functions that are called for each event. The terms
// in comments are those of PostHog: an actor is a person or a group, math is what is computed from
// the events of a series, a breakdown splits a series by the values of a property.
//
//	run.go, execute.go        the exported types, parsing and running        §1
//	port.go                   the interface of a store
//	kinds.go                  the table of kinds                             §2.1
//	errors.go, decode.go      errors with a place, reading JSON              §1.7
//	dates.go, buckets.go      dates, periods, buckets and their labels       §3.1
//	row.go, extract.go        one event and its properties                   §3.2.2
//	filter.go, operators.go   property filters                               §3.2
//	people.go, sessions.go    persons, cohorts and sessions of events        §3.3
//	series.go                 nodes: events, actions and their conditions    §2.2, §2.3
//	trends*.go, tally.go      trends and their math                          §2.4
//	funnel*.go, chains.go     funnels: the events of an actor, step by step  §2.5
//	retention*.go             retention: rows, columns and cells             §2.6
//	split.go, grouped.go      the breakdowns of funnels and retention        §2.5.3
//	actor*.go                 lists of persons and groups                    §2.9.2, §2.9.3
//	hogql*.go                 HogQL over events, persons and groups          §2.9.5
//	experiment*.go            experiments                                    experiments.md
//	fromfilters.go            queries from the older form of insights        §2.10
//	unread*.go                members of a query that no parser reads
//
// Section numbers in comments refer to the specification of insights (testdata/spec/insights.md)
// unless they name another document.
//
// The memory of a query is counted, and a query that exceeds the limit of [port.Limits] fails. The
// numbers of buckets, breakdown values, cells and rows are limited (§5.4). The number of events
// that a query may read is not.
package insights
