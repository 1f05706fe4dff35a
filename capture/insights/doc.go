// Package insights answers queries about events: trends, funnels, retention, lifecycle, stickiness,
// experiments, surveys, lists of events and of persons, and a subset of PostHog's SQL (HogQL). A
// result is exact; if it cannot be, the query fails with a [port.Error] that describes the reason.
//
//	JSON of a query -> Parse -> Query.Run -> port.Reader.Scan -> port.Result
//
// [Parse] reads the JSON of a query for a [port.Project] and returns a [Query], which can be run
// repeatedly:
//
//	query, err := insights.Parse(document, project)
//	if err != nil {
//		return err // a *port.Error describes the fault of the query
//	}
//	result, err := query.Run(ctx, source, port.Options{Now: time.Now()})
//
// The packages do no I/O and do not read a clock. Events come from a [port.Reader] as batches of
// columns, a form that suits tables with rows and files with columns. The settings of a project
// that affect results (time zone, actions, cohorts) are in a [port.Project].
//
// Each kind of query has a plan type in a package of its subject, whose table kinds.go collects.
// Parsing builds the plan and finds members that are not valid. A run binds the conditions and
// values of the plan with a binder: this collects the columns and properties that the query needs,
// and returns functions that are called for each event. The terms in comments are those of PostHog:
// an actor is a person or a group, math is what is computed from the events of a series, a breakdown
// splits a series by the values of a property. From the highest package to the lowest:
//
//	query.go, kinds.go               parsing, running and the table of kinds    §1, §2.1
//	fromfilters.go                   queries from the older form of insights    §2.10
//	unknown.go                       members of a query that no parser reads
//	lifecycle                        lifecycle and stickiness                   §2.7, §2.8
//	trends, funnels, retention       the other insights                         §2.4 to §2.6
//	trials                           experiments and rollouts                   experiments.md
//	stats                            surveys and issues
//	sqlquery                         HogQL, lists of events and of actors       §2.9
//	breakdown                        splits results by values                   §2.4.4, §2.5.3
//	filter                           conditions, series, expressions            §2.2, §2.3, §3.2, §3.3
//	scan                             one run over the events                    §5.4
//	calendar                         dates, intervals and buckets               §3.1
//	document                         the JSON of queries                        §1.7
//	port                             the interface of stores and servers
//
// Section numbers in comments refer to the specification of insights (testdata/spec/insights.md)
// unless they name another document.
//
// The memory of a query is counted, and a query that exceeds the limit of [port.Options] fails. The
// numbers of buckets, breakdown values, cells and rows are limited (§5.4). The number of events
// that a query may read is not.
package insights
