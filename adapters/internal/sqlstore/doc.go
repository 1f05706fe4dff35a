// Package sqlstore stores all data of the server in one SQL database: a SQLite file,
// which is the default, or PostgreSQL. It implements the storage interfaces of flags,
// capture and management; package storetest has their common tests.
//
// [Open] returns a [Store] for a database URL and migrates the schema. [Examine]
// inspects a database, [Backup] and [Restore] copy SQLite files, and [Move] copies the
// data of one database into another.
//
// This package has the ledger, which stores accepted events and their effects on
// persons, and the objects of management. The packages below internal have the rest:
// database runs statements, people reads persons, events owns stored events, and copies
// copies databases. A Store embeds the readers of people and events.
//
// # One text, two dialects
//
// Each statement is written for both databases, with $1 placeholders. Times are
// microseconds since 1970 in UTC, UUIDs are their 16 bytes, and JSON is text. The
// remaining differences are in internal/database/dialect.go. The schema is in the folder
// internal/database/migrations, with words in double braces that the dialect replaces.
//
// # Durability
//
// A committed transaction survives a killed process and a power cut (decision 13):
// SQLite runs in WAL mode with synchronous=FULL, PostgreSQL with synchronous_commit on.
// Only one process may have a SQLite file open, which is enforced by a lock on a second
// file with the suffix .lock. On PostgreSQL any number of servers may write: each
// transaction acquires an advisory lock for every project that it touches, so that the
// requests of one project are carried out one after the other (spec/capture.md §13.2).
//
// # Several servers
//
// A change made by one server is visible to all servers within a second: changes of
// definitions immediately, because servers notify each other (LISTEN and NOTIFY,
// changes.go), all other changes because no cache entry is used for longer. Requests
// for flags are counted exactly over all servers, in lots; counts of events do not
// include the events that other servers accepted in the last ten seconds
// (capture/quota.go).
//
// Work that must not run twice runs in a transaction that holds an advisory lock: the management
// lock for changes by users and timers, including definition files and the first project; one lock
// for the deletion of old events; one for the schema. Locks are acquired in that order, the locks of
// projects last. Sealing takes longer: the server that seals holds the lock of a session
// (database.Session), and lists files in transactions of that session. Work with effects outside the
// database, such as mails and exports, runs under a lease that is timed by the clock of the server
// that acquires it, so clocks may differ by up to half a minute. A newer schema does not disturb
// servers that are already running, as long as migrations only add to it. Schemas 14 to 17 change
// how events are stored: all servers must be stopped before one migrates.
//
// A server whose process or network hangs in the middle of a transaction loses the
// transaction after a minute (idle_in_transaction_session_timeout), so that its locks
// do not stop other servers. If it hangs while it seals, PostgreSQL 14 and newer versions
// end its session after a quarter of an hour.
//
// A server has at most thirteen connections to PostgreSQL: six for lookups of requests,
// which slow operations cannot use up, six for everything else, and one that listens.
//
// # A database that does not respond
//
// Lookups for requests wait at most two seconds. After a lookup without a response,
// further lookups fail immediately, and the database is pinged every second in the
// background (internal/database/breaker.go). Meanwhile flags are evaluated with the data
// in memory.
//
// # Connection poolers
//
// The store needs database sessions: LISTEN, the lock of the schema, which spans
// several transactions, and prepared statements belong to them. PgBouncer in session
// mode works, with enable_seqscan, jit and idle_in_transaction_session_timeout among
// its ignore_startup_parameters; they must then be set for the database user (ALTER
// ROLE ... SET, the first two off). Transaction mode is not supported: notifications of
// other servers do not arrive (changes are still visible within a second), and the lock
// of the schema may stay behind, which blocks the next start.
//
// # Events
//
// An event gets its id from one growing sequence. A commit writes its events as chunks, one
// for each project or more if they are long. A chunk has all columns of its events. After the
// commit, [Store.Index] adds the events to a block of their project, which has the short columns of the events of a range of ids, with bounds and a
// filter that exclude other times, names and distinct ids. There are no other indexes by time,
// name or distinct id. The table event_new_chunks lists the chunks whose
// events are in no block yet; readers decode these chunks. Small blocks and small chunks are
// merged. With several servers, one of them at a time builds and merges blocks. A block or chunk
// that is damaged is an error for everything that reads it, and [Examine] names it.
//
// An event is stored one time (§13.3). The duplicate keys of the newest events, some 16,000 of each
// project, are in memory only, and are read from the chunks after a start. The keys of older events,
// and of all in segments, are hashes in sorted lists, 8 bytes an event, in the tables event_key_runs and
// event_key_pages. Eight or more lists are merged into one, in short transactions; long ones only if most of
// their keys are of other versions than 7 or of events that were sent late. A key is searched
// in the lists that may have the time in its UUID, if it is of version 7, and that a filter does not
// exclude: of a list without a filter, or with a short one, a page is read. An event with an equal hash is read and
// compared; if there are many, before the transaction. With several servers, each reads the keys of the events that other servers have
// stored, in the transaction that has the lock of the project.
//
// A store of an earlier schema has rows of events, or duplicate keys in the table event_keys. Open starts
// to convert them in the background; until they are converted, readers and claims use both forms, and events are not
// erased, deleted by age, or sealed. With several servers, one of them at a time converts.
//
// With Config.Segments, full blocks are sealed: the events of eight or more of a project, or all events of
// a project of which one is old, are written into a Parquet file (internal/segment), and their columns,
// chunks and hashes are deleted from the database in short transactions. Small files are merged. The
// bounds and filters of the blocks remain, and the table event_segments lists the files.
// Readers find events in the same blocks, and read the columns of sealed blocks from the files. Erased
// events are in the table event_erased until their files are rewritten.
//
// The servers of a PostgreSQL database need the same folder or bucket, and one of them at a time
// seals. Replaced files are removed a minute later; a reader that finds its file removed looks for
// the one that has replaced it. Files that are not listed belong to a server that was killed: the
// server that seals removes them at its start and every hour. Files have random names, so that a
// server that lost its session does not write the file of another one.
package sqlstore
