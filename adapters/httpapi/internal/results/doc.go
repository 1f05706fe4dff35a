// Package results runs queries, and has the managed objects whose bodies or results are queries:
// insights, dashboards, experiments, holdouts, rollouts, alerts, and shared links.
//
// [Endpoints] and [QueryEndpoints] put the tables together (endpoints.go). A [Service] runs the
// queries of a project (query.go), results.go returns results of insights and dashboards, and
// checks.go checks the queries in bodies of objects. experiments.go, series.go, recalculation.go and
// csv.go are for experiments. shared.go serves dashboards by link, sharedpage.go as pages.
package results
