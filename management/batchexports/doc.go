// Package batchexports exports the events, persons and sessions of a project to other systems at
// fixed intervals: exports, their runs and backfills (spec/management.md §4.3, decision 23).
//
// A Service manages exports for the API, and Service.RunExports runs them. It reads the data of a
// run through the interface Rows, which the store implements, and passes them to a Runner, which
// implements the destinations: S3, PostgreSQL, HTTP and files.
//
// Each export has a task in the store: the position that its schedule has reached, the current run,
// waiting backfills, and the lease of the server that works on it. A run is stored before it
// begins, and its id and its data depend only on what it covers. Several servers can therefore
// share the work, and a server that finds a run of a crashed one repeats exactly that run.
//
// Positions are sequence numbers of the ledger, the store's list of ingested events and of changes
// of persons. A run covers a range of positions together with an interval of ingestion time, since
// events can be committed later than they arrive; see Span and exportPosition.
package batchexports
