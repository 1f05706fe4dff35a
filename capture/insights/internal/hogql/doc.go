// Package hogql implements the subset of PostHog's SQL that insights support. It executes
// queries over rows of any source, and is independent of events and stores.
//
//	text -> lex.go -> parse*.go -> compile*.go -> closures over Row -> query.go
//
//	lex.go, parse*.go, node.go       tokens, statements, expressions    §2.9.6
//	value.go, compare.go, output.go  values, their order, their text    §2.9.7
//	scope.go, compile*.go            names become slots, calls closures
//	env.go, site.go                  the state of a query and of a call
//	functions.go, fn*.go             the table of functions             §2.9.8
//	aggregate*.go                    the table of aggregates            §2.9.8
//	query.go, grouped.go             SELECT over rows that are pushed
//
// A caller parses a query, passes a [Scope] that defines the fields, and compiles the query.
// [Scope.Fields] then lists the fields that the query uses. For each row the caller sets
// [Row.Fields] in the same order and calls [Query.Add]. Compiled queries and expressions must
// not be used concurrently.
//
// Each [Error] has its position in the text. These are bounded: nesting, tokens, groups,
// reserved memory, and the size of the strings and lists of one row.
//
// Section numbers in comments refer to the specification of insights.
package hogql
