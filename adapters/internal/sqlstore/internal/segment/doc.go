// Package segment writes and reads segments: Parquet files with the stored events of a project.
//
// # Files
//
// A [Folder] has the segments of a store, in a folder or in a bucket of S3. Other programs may read
// them at any time:
//
//	project=1/received=2026-11-22/00000000000000000001-00000000000000131072-1-5be0cd19.parquet
//
// The name has the first and the last id of the events, the generation and a random number: files
// never change, but a file may be replaced by one of the next generation that lacks events that were
// erased. The day is the day in UTC on which the first event arrived. In a folder, files that are
// not complete have names that begin with a dot and end with .tmp. The newest events of a project
// are not in a file yet.
//
// DuckDB and pandas read a folder like this:
//
//	SELECT event, count(*) FROM read_parquet('segments/**/*.parquet', hive_partitioning = true) WHERE project = 1 GROUP BY event;
//
//	pandas.read_parquet("segments/project=1", columns=["timestamp", "event", "distinct_id"])
//
// # Columns
//
// These columns are in all files and required. The rows are in the order of their ids.
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
// Up to 32 further columns have the values of frequent properties, such as properties.$browser, as
// they are in the column properties: as JSON, and NULL if an event does not have the property.
// Queries read them instead of the whole properties. The properties are chosen by the first 2,048
// events of a file, so files have different ones: those that most events have, with values that
// are numbers, booleans or strings of at most 128 bytes, as long as their different values
// have at most 16 bytes for each event with the property, and those of all columns 48 for each event.
// properties.go has the details.
//
// A row group has at most 16,384 events. Ids, times and names have statistics and a page index.
// Pages have checksums, short columns have pages of some thousand events, and pages of the last
// three columns at most 120 KiB before compression, so that one event is read without decoding
// thousands.
//
// Distinct ids, persons and the times of their creation have a dictionary in groups where each of them
// occurs twice or more on average, and plain pages in other groups: to read one event, the whole
// dictionary is decompressed.
//
// The metadata of a file has bunting.version, which this package writes as 2: a file of a later
// version is refused. Version 1 had these dictionaries in all groups, and no columns of properties.
// bunting.checksum has a checksum of footer and page index, so that any damage is
// found at reading. layout.go has the details.
//
// Before the columns of a group is an index of its distinct ids, which is not a part of the Parquet format:
// hashes with the numbers of the rows, in the order of the hashes. The metadata has its places as
// bunting.index; files of earlier builds have none. rowindex.go has the details.
//
// # Buckets
//
// objects.go reads parts of objects, of which 48 MiB stay in memory. An [Ahead] requests further 16 MiB at most
// before scans need them. An object is written to a
// temporary file first, then uploaded with its MD5, and listed afterwards. Every request has a time
// limit, and a bounded number of attempts.
//
// # Use
//
// A [Writer] writes a file. [Folder.Open] opens one: [File.Names], [File.People], [File.Origins] and
// [File.Property] decode columns of a group, and [Rows] reads some of its events. The files are written and
// read with the encodings of parquet-go, but not with its readers and writers of rows: these decode
// whole groups row by row, do not limit their memory when a file is damaged, and do not know where
// pages should end.
package segment
