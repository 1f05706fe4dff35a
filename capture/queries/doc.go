// Package queries executes queries about events for many concurrent callers. It schedules
// computations, caches results while they are valid, and lets long queries continue in the
// background after the request that started them.
//
//	Service.Execute (execute.go)
//	    -> a fresh result in the cache (cache.go, fresh.go)
//	    -> a computation, shared by all callers with the same query (compute.go)
//	       -> scheduled fairly between projects (turns.go) -> insights.Query.Run
//	          -> what earlier queries have computed (states.go)
//	    -> a run whose status can be read and that can be canceled (runs.go), also
//	       through other servers of the database (board.go)
//
// The package does no I/O. Section numbers in comments refer to the specification of
// insights.
//
// These are bounded: the cache, to 64 MiB and 16 MiB for each project (§5.2); what is kept for
// later queries, to 192 MiB and 96 MiB for each experiment; the numbers of
// concurrent and waiting computations and of background runs, and the duration of each
// (§5.4); and the ended runs, to 64 MiB of results and 20 minutes.
package queries
