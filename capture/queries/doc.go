// Package queries runs questions about events for many at once: it says who may
// compute now, remembers answers while they hold, and lets long ones go on behind the
// request that began them.
//
//	Ask -> fresh answer that is remembered (cache.go, fresh.go)
//	    -> a computation, shared by all who ask the same (computation.go)
//	       -> its turn among the projects (turns.go) -> insights.Query.Run
//	    -> a run that can be looked at and cancelled (runs.go), also through other
//	       servers of the database (board.go)
//
// The package does no I/O. Section numbers in comments are those of the
// specification of insights.
//
// Bounds: what is remembered is 64 MiB, 16 MiB of a project (§5.2); computations at
// once and those that wait for their turn, runs behind requests, and the time that each
// may take (§5.4); what is kept of runs that have ended is 64 MiB for 20 minutes.
package queries
