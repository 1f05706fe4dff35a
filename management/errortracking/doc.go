// Package errortracking groups captured exceptions into issues and assigns these to users or roles:
// issues (decision 24) and assignment rules (spec/management.md §4.2).
//
// The methods of a Service read and change issues and rules for the API. Service.Follow must be
// called regularly. It reads new exceptions from the EventLog, from the position that it stored
// last, creates or updates their issues, and applies the assignment rules to new and reopened
// issues.
package errortracking
