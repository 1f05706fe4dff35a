// Package events owns the stored events: their ids, their blocks, and all statements that
// read or delete them.
//
// A [Log] assigns ids, which one sequence counts. [Log.Index] builds blocks after the commit
// (index.go), if possible from events in memory (pending.go), and merges small blocks
// (blocks.go): a block has the short columns of the events of a project in a range of ids, in
// the encoding of package block. Bounds and filters tell which blocks may contain certain
// events (search.go); the long columns are in the rows of the events.
//
// A [Reader] finds pages of events (page.go) and opens snapshots for questions
// (snapshot.go): scan.go divides a scan into units, which are blocks and ranges of events
// without a block, unit.go reads a unit, and columns.go has the buffers. ahead.go reads units
// with a second goroutine, and owner.go attributes events to persons.
package events
