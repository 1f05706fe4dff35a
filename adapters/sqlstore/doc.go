// Package sqlstore keeps everything that the server knows in one SQL database:
// a SQLite file, which is the default, or PostgreSQL.
//
// # One text, two dialects
//
// Statements are written once, with $1 placeholders. Times are microseconds since
// 1970 in UTC, uuids their 16 bytes, JSON is text. What is left to differ stands
// in dialect.go; the schema is in migrations, with words in double braces that
// the dialect fills in.
//
// # Durable
//
// A transaction that has committed survives a kill and a power cut (decision 13):
// SQLite runs in WAL mode with synchronous=FULL, PostgreSQL with its
// synchronous_commit on. Only one process may have a SQLite file open; the file
// beside it whose name ends in .lock sees to that. On PostgreSQL any number of
// servers may write: each transaction takes an advisory lock for every project
// that it touches, so that the requests of one project are carried out one after
// the other (spec/capture.md §13.2).
//
// # Several servers
//
// What one of them changes the others see within a second: definitions at once,
// because they are told (changes.go), everything else because nothing is remembered
// for longer. Work that is to be done once is done in a transaction that holds an
// advisory lock: the management lock for what people and timers change, files and
// the first project among it; one for old events; one for the schema. Locks are
// taken in that order, those of projects last. A newer schema disturbs no server
// that runs already, as long as migrations only add.
//
// # Events
//
// An event gets an id from one growing sequence. Inside the commit only its row
// and its duplicate key are written (decision 14). The indexes by time, name and
// distinct id are tables clustered by epoch, a stretch of 16,384 ids: whatever
// the order of the keys, new entries go to the end of the table, and the cost of
// an event does not grow with their number. On SQLite they are filled behind the
// commit by Index, up to the mark 'event_index' in the table places; readers scan
// the events above it. On PostgreSQL they are filled within the commit.
package sqlstore
