// Package events owns the stored events: their ids, their blocks, and all statements that
// read or delete them.
//
// A [Log] assigns ids, which one sequence counts. [Save] stores the events of a commit as
// chunks (chunks.go), each of which has all columns of some events of a project. [Log.Index] builds blocks of new
// chunks after the commit and merges small chunks (index.go) and small blocks (blocks.go): a
// block has the short columns of the events of a project in a range of ids, in the encoding of
// package block. Bounds and filters tell which blocks may contain certain events (search.go).
// New chunks are read like a block.
//
// A [Reader] finds pages of events (page.go) and opens snapshots for questions
// (snapshot.go): scan.go divides a scan into units, which are blocks and ranges of new chunks,
// unit.go reads a unit, and columns.go has the buffers. ahead.go reads units
// with a second goroutine, and owner.go attributes events to persons. [Chunks] reads complete
// events (reading.go).
//
// [Log.Seal] writes the events of full blocks, and of old ones, into the files of package segment
// (seal.go, segmentwriter.go), deletes their columns and chunks (sealedrest.go) and merges small files
// (mergesegments.go). source.go reads blocks of files, sealedchunks.go complete events and
// sealedsearch.go the events of a distinct id.
//
// [Log.Claim] recognizes events that are stored already by their duplicate keys (keyclaim.go), which
// are in memory (keyindex.go, keyfilters.go) and in stored lists (keys.go, keyruns.go). The keys of
// events in segments are in lists. Only events with equal hashes are read and compared (keymatch.go),
// many of them before the transaction (keycompare.go).
//
// convert.go converts events of earlier schemas, in the background if they are in blocks. Until then [Chunks] reads
// their rows (olderchunks.go). convertkeys.go does the same with duplicate keys.
package events
