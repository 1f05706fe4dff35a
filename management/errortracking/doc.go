// Package errortracking makes issues of captured exceptions and assigns them:
// assignment rules (spec/management.md §4.2) and issues (decision 24).
//
// People see and change both through a Service's methods; Service.Follow reads the
// log of events from a place of its own and makes the issues.
package errortracking
