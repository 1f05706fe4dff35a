// Package pgtest has databases for the tests of this module: PostgreSQL servers, which
// it starts from the programs of PostgreSQL on this machine, and databases that have the
// tables of a store already.
//
// [Postgres] creates an empty database on one server for all tests of a package, and
// [StartPostgres] starts a server that a test can stop. [PostgresMigrated] and
// [SQLiteMigrated] return databases with tables. They are much faster than the
// migrations.
package pgtest
