package database

import (
	"context"
	"database/sql"
)

// Session is a connection to PostgreSQL that holds an advisory lock until Close, for work that one
// server does at a time and that takes longer than a transaction. Transactions of the session fail
// after its connection is lost, so a commit proves that no other server had the lock meanwhile. On
// SQLite there is no other server, and the session has no connection and no lock.
type Session struct {
	db   *DB
	conn *sql.Conn
	key  int64
}

// After setIdleTimeout, PostgreSQL ends a session that is idle for a quarter of an hour: the lock of
// a server that hangs must not block the others forever. Versions before 14 do not have this setting.
const (
	setIdleTimeout   = `SELECT set_config(name, '900000', false) FROM pg_settings WHERE name = 'idle_session_timeout'`
	resetIdleTimeout = `SELECT set_config(name, reset_val, false) FROM pg_settings WHERE name = 'idle_session_timeout'`
)

// TrySession acquires an advisory lock. It returns nil if another session has the lock.
func (db *DB) TrySession(ctx context.Context, key int64) (*Session, error) {
	if db.Dialect.SingleWriter {
		return &Session{db: db}, nil
	}
	conn, err := db.Write.Conn(ctx)
	if err != nil {
		return nil, db.Dialect.Explain(err)
	}
	var locked bool
	if err := conn.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, key).Scan(&locked); err != nil {
		closeConn(conn)
		return nil, db.Dialect.Explain(err)
	}
	if !locked {
		return nil, conn.Close()
	}
	s := &Session{db, conn, key}
	if _, err := conn.ExecContext(ctx, setIdleTimeout); err != nil {
		s.Close()
		return nil, db.Dialect.Explain(err)
	}
	return s, nil
}

// InWrite is like DB.InWrite, in the session.
func (s *Session) InWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	if s.conn == nil {
		return s.db.InWrite(ctx, work)
	}
	return s.db.inTx(ctx, s.conn, work)
}

// Close releases the lock. If the database does not respond, it ends the connection, and with it the
// lock.
func (s *Session) Close() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), ConnectTime)
	defer cancel()
	if _, err := s.conn.ExecContext(ctx, resetIdleTimeout); err != nil {
		closeConn(s.conn)
		return
	}
	unlockSession(ctx, s.conn, s.key)
}
