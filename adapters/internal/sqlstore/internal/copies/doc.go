// Package copies copies and examines databases as a whole.
//
// [Backup] writes a consistent copy of a SQLite file that is in use, from a [Snapshot],
// which is a reading transaction; [Restore] replaces a file by a backup. [Move] copies
// all tables from one database to another, of the same or the other kind, in batches
// after which an interrupted move continues, and compares checksums at the end. The
// tables are those of an empty database (tables.go), so a new table is moved without a
// change. [Examine] inspects a database without changing it.
//
// Segment files are not in the database. A backup contains them as rows of a table of its
// own (segments.go), and a restore writes them into their folder. A move leaves them where
// they are. [ClaimFolder] keeps two databases from using one folder.
package copies
