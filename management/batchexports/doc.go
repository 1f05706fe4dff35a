// Package batchexports copies events and persons to other places at fixed times:
// exports, their runs and backfills (spec/management.md §4.3, decision 23).
//
// What is to be done stands in the store before it is begun, under a lease. Service.RunExports
// does it: it asks Rows for what a run is about, and hands it to the Runner,
// which knows S3, PostgreSQL, HTTP and files.
package batchexports
