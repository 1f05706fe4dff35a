// Package featureflags keeps flags and what stands upon them: cohorts, scheduled changes,
// surveys, experiments and early access (spec/management.md §5.1 to §5.3, §5.5 to
// §5.7), and flags as code (decision 27).
//
// A flag is checked as a whole before it is stored (flagchecks*.go), against the
// other definitions of its project; Service.ScheduledChanges makes what is due.
package featureflags
