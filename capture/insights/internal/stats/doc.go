// Package stats answers queries about the events of other resources.
//
//	issues.go    how often the issues of error tracking occurred    clients.md §14.1
//	surveys.go   how often surveys were shown, dismissed and sent
//
// The issues are those of the project's [port.Issues]; this package counts their events.
package stats
