// Package document reads the JSON of a query. A [Node] is a value in the document with its place;
// its methods return members and values, and record the first fault of the document, so that
// parsers need no error handling.
//
//	node.go       values, members and their types, and faults       §1.3, §1.7
//	numbers.go    numbers and missing values in JSON text           §3.2.2
//	unread.go     members that no parser reads, and misspelled ones
//	names.go      the names of members, to find misspelled ones
package document
