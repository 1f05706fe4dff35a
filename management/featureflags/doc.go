// Package featureflags manages flags and the resources that are based on them: cohorts, scheduled
// changes, change requests, surveys, experiments, guarded rollouts and early access features
// (spec/management.md §5.1 to §5.3, §5.5 to §5.7), and flags as code (decision 27).
//
// New returns a Service, whose fields are the operations on each kind of resource; the operations
// on flags are methods of the Service itself. It does no I/O: the store, the persons and
// everything else outside of the package are interfaces and functions in Config.
//
// A flag is validated as a whole before it is stored (flagchecks*.go), against the other
// definitions of its project. Changes with a schedule are applied by Service.ScheduledChanges.
package featureflags
