// Package manage has the endpoints of the management API for the objects that package results does
// not have: flags, cohorts, surveys, exports, organizations and others.
//
// [Endpoints] puts the tables together (endpoints.go). There is one file for each resource, with
// its table and its handlers; the rules are in the packages of management. explain.go, exposures.go,
// flagcalls.go and personflags.go show how flags are evaluated, changefeed.go sends changes while
// they happen, and backup.go, health.go and activity.go are for operators.
package manage
