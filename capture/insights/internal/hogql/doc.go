// Package hogql is the subset of PostHog's SQL that insights answer: a language
// over rows, which knows nothing of events or stores.
//
//	text -> lex.go -> parse*.go -> compile*.go -> closures over Row -> query.go
//
//	lex.go, parse.go, parseexpr.go   words, statements, expressions     §2.9.6
//	value.go, compare.go, output.go  values, their order, their texts   §2.9.7
//	scope.go, compile*.go            names become slots, calls closures
//	fn*.go                           the table of functions             §2.9.8
//	aggregate*.go                    the table of aggregates            §2.9.8
//	query.go, grouped.go, rows.go    SELECT over rows that are pushed
//
// A caller parses a text, gives a [Scope] that says which fields there are, and
// compiles. [Scope.Fields] are then the slots of [Row.Fields] in their order; the
// caller fills them for each row and pushes it. What is compiled is used by one
// goroutine at a time.
//
// Every [Error] of a text has its place there. Bounds: nesting, tokens, groups,
// memory that is reserved, the size of texts and lists that a row makes.
//
// Section numbers in comments are those of the specification of insights.
package hogql
