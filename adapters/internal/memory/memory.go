// Package memory divides the memory of a server among its parts.
package memory

import "fmt"

// Default is the memory of a server in bytes unless it is set, and the least that it can be set to.
const Default = 256 << 20

// Shares are the limits of the parts of a server, in bytes. Caches are rarely full at the same time, so their sum may
// exceed Heap.
type Shares struct {
	// Heap is the limit of Go's heap. The rest is for pages of the program's file, for SQLite's page caches, which
	// take twice their sizes, and for the heap before it is collected.
	Heap int64
	// Query limits one query, and Queries all that run at the same time. They are estimates of what queries
	// need at most, and few queries need a good part of it.
	Query, Queries int64
	// Owners is for the cache of the owners of distinct ids.
	Owners int64
	// TimelyKeys and LateKeys are for the filters of duplicate keys.
	TimelyKeys, LateKeys int64
	// BlockFilters is for the filters of blocks of events.
	BlockFilters int64
	// Metadata is for the metadata of segment files, and Parts for parts of segment files in a bucket.
	Metadata, Parts int64
	// People is for the cache of persons and groups for flags.
	People int64
	// WriterPages and ReaderPages are for the page caches of a connection of SQLite.
	WriterPages, ReaderPages int64
}

// ofDefault are the shares of Default.
var ofDefault = Shares{
	Heap:  160 << 20,
	Query: 256 << 20, Queries: 512 << 20,
	Owners:     48 << 20,
	TimelyKeys: 8 << 20, LateKeys: 24 << 20,
	BlockFilters: 24 << 20,
	Metadata:     40 << 20, Parts: 48 << 20,
	People:      24 << 20,
	WriterPages: 8 << 20, ReaderPages: 3 << 20,
}

// Of returns the shares of a memory in bytes, zero for Default. They are in proportion to it.
func Of(bytes int64) Shares {
	s := ofDefault
	if bytes == 0 {
		return s
	}
	for _, share := range []*int64{
		&s.Heap, &s.Query, &s.Queries, &s.Owners, &s.TimelyKeys, &s.LateKeys, &s.BlockFilters, &s.Metadata, &s.Parts, &s.People, &s.WriterPages, &s.ReaderPages,
	} {
		*share = *share >> 20 * (bytes >> 10) / (Default >> 20) << 10
	}
	return s
}

// Check returns an error if a server cannot have a memory in bytes: if it is less than Default, or more than the
// machine has, or than the process may have. Zero and Default are always valid.
func Check(bytes int64) error { return check(bytes, machine()) }

// check implements Check for a machine with a memory in bytes, zero if it is not found out.
func check(bytes, machine int64) error {
	switch {
	case bytes == 0 || bytes == Default:
		return nil
	case bytes < Default:
		return fmt.Errorf("%d bytes are not enough: choose 256 MB (%d) or more", bytes, Default)
	case machine > 0 && bytes > machine:
		return fmt.Errorf("%d MB are more than this process can have: choose at most %d MB", bytes>>20, machine>>20)
	}
	return nil
}
