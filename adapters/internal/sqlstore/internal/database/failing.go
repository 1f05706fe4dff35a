package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// failureStates are the prefixes of SQLSTATEs for problems of the database as opposed
// to problems of the written data: connections, permissions, conflicts with other
// transactions, resources, and interventions of an operator or the system.
var failureStates = []string{"08", "25006", "28", "3D", "40", "42501", "53", "55", "57", "58", "XX001", "XX002"}

// IsDatabaseFailure reports whether an error means that the database fails regardless
// of the data that is written. Such a write may be repeated unchanged.
func IsDatabaseFailure(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return hasState(answer, failureStates)
	}
	var file *sqlitedriver.Error
	if errors.As(err, &file) {
		code := file.Code() & 0xff
		_, ok := sqliteHints[code] // all of these codes are about the file
		return ok || code == sqlite3.SQLITE_NOMEM || code == sqlite3.SQLITE_INTERRUPT
	}
	return IsUnreachable(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone)
}

// unreachableStates are the prefixes of SQLSTATEs that mean that a PostgreSQL server
// cannot be used at present: failed connections, too many connections, starting or
// stopping.
var unreachableStates = []string{"08", "53300", "57P"}

// hasState reports whether the SQLSTATE of an error has one of the prefixes in states.
func hasState(answer *pgconn.PgError, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(answer.Code, state) })
}

// IsUnreachable reports whether an error of this package means that the database could
// not be reached, as opposed to an error that the database returned. Such an operation
// may succeed later.
func IsUnreachable(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return hasState(answer, unreachableStates)
	}
	var connect *pgconn.ConnectError
	var broken *net.OpError
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrBreakerOpen) || pgconn.Timeout(err)
}

// ErrBreakerOpen is the error of lookups that are not attempted because the breaker is
// open.
var ErrBreakerOpen = errors.New("the database has not answered a moment ago; it is tried again every second")
