// Package database opens the SQL database of a store, SQLite or PostgreSQL, and runs
// statements on it.
//
// [Open] prepares the pools of connections of a [DB] for a URL; [DB.Migrate] brings the
// schema, which is in the folder migrations, to the newest version. [Dialect] has the
// differences between the databases. Statements are written for both and run with
// [Query], [List] and [Column] or, for many rows, as a [Bulk]; destinations such as
// [ScanTime] convert stored values. Each connection keeps its latest statements prepared.
// [DB.InWrite] runs a transaction, and [DB.LookUp] a lookup for a request, which fails at
// once while the database does not respond. Errors contain hints for the operator.
package database
