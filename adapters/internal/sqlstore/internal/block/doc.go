// Package block encodes stored events in columns.
//
// A block has the short columns of the events of one project in a range of ids, in the order of
// their ids. They are in four strings of bytes, so that a query decodes only the columns that it
// needs:
//
//	names    ids, times and names
//	people   distinct ids, and persons as they were when the events were stored
//	origins  uuids, times of arrival, and how the events were attributed to persons
//	hashes   hashes of the distinct ids, which find the events of some of them
//
// Chunks have about a hundred events each, so that one event can be read without decoding thousands:
// one string with the long columns, which are properties and elements, and one with all short
// columns. Chunks need not begin and end with blocks.
//
// A [Writer] encodes short columns and [Columns] decodes them, or [Run] those of several chunks; a
// [ChunkWriter] encodes long columns and [Chunk] decodes them. [Bounds] and [Filter] exclude blocks that cannot contain certain
// events. seal.go has the form that all strings of bytes share: version, checksum, compression.
package block
