// Package segment writes and reads segments: Parquet files with the stored events of a project.
//
// # Files
//
// A [Folder] has the segments of a store. Other programs may read them at any time:
//
//	project=1/received=2026-11-22/00000000000000000001-00000000000000131072-1.parquet
//
// The name has the first and the last id of the events, and the generation: files never change, but
// a file may be replaced by one of the next generation that lacks events that were erased. The day is
// the day in UTC on which the first event arrived. Files that are not complete have names that begin
// with a dot and end with .tmp. The newest events of a project are not in a file yet.
//
// DuckDB and pandas read a folder like this:
//
//	SELECT event, count(*) FROM read_parquet('segments/**/*.parquet', hive_partitioning = true) WHERE project = 1 GROUP BY event;
//
//	pandas.read_parquet("segments/project=1", columns=["timestamp", "event", "distinct_id"])
//
// # Columns
//
// All columns are required, and the rows are in the order of their ids.
//
//	id                 INT64, ascending: the order in which the events of all projects were stored
//	uuid               UUID of the event
//	timestamp          when the event happened, in microseconds, UTC
//	received_at        when it was stored
//	event              the name
//	distinct_id        who sent it
//	person_id          the person of the distinct id when the event was stored, a UUID; persons who
//	                   were merged later keep their ids here
//	person_created_at  when that person was created
//	person_mode        full, propertyless for an event without a person, or force_upgrade for an event
//	                   without a person, with a distinct id that has one
//	historical         whether the event belongs to an import of older events
//	elements_chain     the elements of an autocaptured event, or an empty text
//	properties         a JSON object
//	person_properties  a JSON object: the properties of the person after the event
//
// A row group has at most 16,384 events. Ids, times and names have statistics and a page index.
// Pages have checksums, short columns have pages of some thousand events, and pages of the last
// three columns at most 120 KiB before compression, so that one event is read without decoding
// thousands.
//
// The metadata of a file has bunting.version, which this package writes as 1: a file of a later
// version is refused. bunting.checksum has a checksum of footer and page index, so that any damage is
// found at reading. layout.go has the details.
//
// # Use
//
// A [Writer] writes a file. [Folder.Open] opens one: [File.Names], [File.People] and [File.Origins]
// decode short columns of a group, and [Rows] reads some of its events. The files are written and
// read with the encodings of parquet-go, but not with its readers and writers of rows: these decode
// whole groups row by row, do not limit their memory when a file is damaged, and do not know where
// pages should end.
package segment
