package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/bunting-flags/bunting/capture"
)

// failureStates are the prefixes of SQLSTATEs for problems of the database as opposed
// to problems of the written data: connections, permissions, conflicts with other
// transactions, resources, and interventions of an operator or the system.
var failureStates = []string{"08", "25006", "28", "3D", "40", "42501", "53", "55", "57", "58", "XX001", "XX002"}

// isDatabaseFailure reports whether an error means that the database fails regardless
// of the data that is written. Such a write may be repeated unchanged.
func isDatabaseFailure(err error) bool {
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

// failure marks an error of the database as capture.ErrStore without changing its
// message.
type failure struct{ error }

func (f failure) Unwrap() []error { return []error{f.error, capture.ErrStore} }
