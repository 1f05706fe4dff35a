package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

// LockFile locks a SQLite file until unlock is called. It returns an error if another
// process has the lock. The operating system releases it when the process ends, however
// it ends.
func LockFile(path string) (unlock func() error, err error) {
	name := path + ".lock"
	l := flock.New(name, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("database: the lock file %s cannot be used: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("database: %s is in use by another server, which holds %s: stop that one, or choose another file (several servers need PostgreSQL)", path, name)
	}
	return l.Close, nil
}

// unlockTime limits releasing a lock.
const unlockTime = 5 * time.Second

// unlockSession releases an advisory lock of a session and returns its connection to the pool, or
// ends the connection if the database does not respond.
func unlockSession(ctx context.Context, conn *sql.Conn, key int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
	defer cancel()
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_unlock($1)`, key); err != nil {
		closeConn(conn)
		return
	}
	_ = conn.Close()
}

// closeConn ends a connection instead of returning it to the pool.
func closeConn(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}
