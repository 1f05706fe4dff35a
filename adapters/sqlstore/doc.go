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
// because they are told (LISTEN and NOTIFY, changes.go), everything else because
// nothing is remembered for longer. Requests for flags are counted exactly over all
// servers, in lots; events with what the others have taken in the last ten seconds
// left out (capture/quota.go). Work that is to be done once is done in a transaction that holds an
// advisory lock: the management lock for what people and timers change, files and
// the first project among it; one for old events; one for the schema. Locks are
// taken in that order, those of projects last. Work that reaches outside, as mails
// and exports do, is done under a lease by the clock of the server that takes it:
// clocks may differ by half a minute. A newer schema disturbs no server that runs
// already, as long as migrations only add.
//
// A server whose process or network stands still in the middle of a transaction
// loses it after a minute (idle_in_transaction_session_timeout), so that its locks
// do not stop the others.
//
// A server has at most thirteen connections: six for what requests look up, which
// nothing that takes long can use up, six for everything else, and one that listens.
//
// # A database that does not answer
//
// Look-ups for requests wait two seconds at most. After one that was not answered the
// next ones fail at once, and the database is tried every second behind them
// (breaker.go): those who answer flags go on with what they know.
//
// # Poolers
//
// Connections are sessions: LISTEN, the lock of the schema, which several
// transactions share, and prepared statements belong to them. PgBouncer in session
// mode will do, with enable_seqscan, jit and idle_in_transaction_session_timeout
// among its ignore_startup_parameters; they are to be set for the user then (ALTER
// ROLE ... SET, the first two off). In transaction mode nothing is heard of other
// servers (changes are still seen within a second), and the lock of the schema may
// stay behind, which stops the next start: it is not supported.
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
