// Package events owns the stored events: their ids, indexes and blocks of columns, and
// all statements that read or delete them.
//
// A [Log] assigns ids, which one sequence counts, and maintains the indexes by time, name
// and distinct id. They are tables clustered by epoch, a range of 16,384 ids. On SQLite
// [Log.Index] fills them after the commit, and then builds a block of each complete epoch
// (blocks.go), which has its short columns in the encoding of package block. A [Reader] finds pages of events
// (page.go) and opens snapshots for questions (snapshot.go): scan.go divides a scan into
// units, unit.go selects the cheapest source of a unit, a block, an index or rows, and
// columns.go has the buffers. ahead.go reads units with a second goroutine, and owner.go
// attributes events to persons.
package events
