package database

import (
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const connectionLost = "the connection was lost: look whether PostgreSQL runs"

// Advice for the operator, by SQLite's primary result code and by the prefix of
// PostgreSQL's SQLSTATE. The first matching prefix applies.
var (
	sqliteHints = map[int]string{
		sqlite3.SQLITE_FULL:     "the disk is full: free some space, nothing has to be restarted",
		sqlite3.SQLITE_IOERR:    "the disk does not read or write as it should: look into the system's log",
		sqlite3.SQLITE_BUSY:     "another program has the file open: close it",
		sqlite3.SQLITE_LOCKED:   "another program has the file open: close it",
		sqlite3.SQLITE_READONLY: "the file and its folder have to be writable for this user",
		sqlite3.SQLITE_PERM:     "the file and its folder have to be writable for this user",
		sqlite3.SQLITE_CANTOPEN: "the file and its folder have to be readable and writable for this user",
		sqlite3.SQLITE_CORRUPT:  "the file is damaged: restore a backup, or save what can be read with sqlite3's .recover",
		sqlite3.SQLITE_NOTADB:   "the file is no SQLite database: choose another name",
	}
	postgresHints = []struct{ state, hint string }{
		{"08P01", "this is what a pooler such as PgBouncer says: connect to PostgreSQL itself, or through sessions of their own (see the documentation of several servers)"},
		{"08", connectionLost},
		{"28", "check user and password, and pg_hba.conf on the server"},
		{"3D000", "make the database first: createdb NAME"},
		{"42501", "the user needs the right to make and change tables in the database"},
		{"53100", "the server's disk is full: free some space"},
		{"53300", "the server has no connection left: raise its max_connections"},
		{"57P", "PostgreSQL is starting or stopping: it will be tried again"},
		{"25006", "the server is read-only: name the primary one"},
	}
)

// sqliteHint implements dialect.hint.
func sqliteHint(err error) string {
	var e *sqlitedriver.Error
	if errors.As(err, &e) {
		return sqliteHints[e.Code()&0xff]
	}
	return ""
}

// postgresHint implements dialect.hint. Errors without a SQLSTATE are failures of the
// connection.
func postgresHint(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		for _, h := range postgresHints {
			if strings.HasPrefix(e.Code, h.state) {
				return h.hint
			}
		}
		return ""
	}
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return "look whether PostgreSQL runs there, and at host and port"
	}
	var broken *net.OpError
	if errors.As(err, &broken) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) {
		return connectionLost
	}
	return ""
}

// hintedError is an error with a hint in its message. An error that wraps one does not
// get a second hint.
type hintedError struct {
	error
	hint string
}

func (e *hintedError) Error() string { return e.error.Error() + " (" + e.hint + ")" }

func (e *hintedError) Unwrap() error { return e.error }
