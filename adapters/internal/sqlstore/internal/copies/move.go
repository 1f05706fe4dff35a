package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
)

// The bounds of a batch of a move, which is one transaction: its number of rows and its
// size in bytes.
const (
	moveRows  = 2000
	moveBytes = 8 << 20
)

// MoveResult is the result of a move.
type MoveResult struct {
	// Tables and Rows are the numbers of tables and rows that the target has.
	Tables int
	Rows   int64
	// Segments is the number of segment files, which the target uses from now on. They are
	// not moved.
	Segments int64
	// Resumed is true if an interrupted move was continued.
	Resumed bool
}

// Move copies all data, with all keys and ids, from the database with the URL from to
// the empty database with the URL to. Each may be SQLite or PostgreSQL, and no server
// may be using them. The schema of the source is migrated to the newest version,
// and its events are converted; otherwise the source is not changed. Segment files stay in their folder, and servers of
// the target need the same folder; the source must not be used with it any more.
//
// The data is copied in batches. Each stores its position in the target in the same
// transaction, so that an interrupted move continues there when Move is called with the
// same URLs. Until the move is complete, no server can open the target. At the end,
// counts and checksums of all tables are compared.
func Move(ctx context.Context, from, to string, progress progress) (out MoveResult, err error) {
	m := &mover{progress: progress}
	if m.tables, err = Tables(ctx); err != nil {
		return out, err
	}
	if m.from, err = openForMove(ctx, from); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.from.Close()) }()
	if m.to, err = openForMove(ctx, to); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.to.Close()) }()
	// The source is locked too: rows that were inserted during the copy would be
	// missing in the target.
	for _, s := range []*endpoint{m.from, m.to} {
		unlock, err := s.excludeServers(ctx)
		if err != nil {
			return out, err
		}
		defer unlock()
	}
	if err := m.begin(ctx); err != nil {
		return out, err
	}
	for i := range m.tables {
		if err := m.copyTable(ctx, &m.tables[i]); err != nil {
			return m.result, fmt.Errorf("table %s: %w; run the same command again to continue from there", m.tables[i].Name, err)
		}
	}
	// Sequences are set after the rows, and everything is compared before the target
	// can be opened.
	if err := m.copySequences(ctx); err != nil {
		return m.result, err
	}
	if err := m.compare(ctx); err != nil {
		return m.result, err
	}
	return m.result, m.to.db.InWrite(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM moving`)
		return err
	})
}

// ErrMoving is the error for opening a database that is the target of an incomplete
// move.
var ErrMoving = errors.New("a move into it is not complete: run bunting move again, with the same --from and --to")

// CheckComplete returns ErrMoving if the database is the target of an incomplete move, and
// an error if it is a backup with segment files, which must be restored first.
func CheckComplete(ctx context.Context, db *database.DB) error {
	var n int
	if err := db.Write.QueryRowContext(ctx, `SELECT COUNT(*) FROM moving`).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return ErrMoving
	}
	if isBackup, err := database.HasTable(ctx, db.Write, db.Dialect.SingleWriter, partsTable); err != nil || !isBackup {
		return err
	}
	return errIsBackup
}

// moverName is the application name of the connections of a move in PostgreSQL. The
// name of servers is bunting.
const moverName = "bunting move"

// endpoint is an open database, the source or the target of a move.
type endpoint struct{ db *database.DB }

// Close closes the database.
func (s *endpoint) Close() error { return s.db.Close() }

// openForMove opens a database, migrates its schema to the newest version and converts its events. It may be
// the target of an incomplete move.
func openForMove(ctx context.Context, address string) (*endpoint, error) {
	if u, err := url.Parse(address); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		q.Set("application_name", moverName)
		u.RawQuery = q.Encode()
		address = u.String()
	}
	db, err := database.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	logger := slog.New(slog.DiscardHandler)
	db.Start(logger)
	s := &endpoint{db}
	if err = events.MigrateAll(ctx, db, logger); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", db.DisplayURL, db.Dialect.Explain(err)), s.Close())
	}
	return s, nil
}

// serverEnd is how long excludeServers waits for a server to end: PostgreSQL lists a session for a
// moment after its client has closed the connection, so a server that has just stopped seems to run.
const serverEnd = 3 * time.Second

// excludeServers makes servers that start wait for the schema's lock, and returns an
// error if a server is running. A SQLite file is locked by opening it.
func (s *endpoint) excludeServers(ctx context.Context) (unlock func(), err error) {
	if s.db.Dialect.SingleWriter {
		return func() {}, nil
	}
	if unlock, err = s.db.Dialect.LockSchema(ctx, s.db.Write); err != nil {
		return nil, err
	}
	if err = s.waitForServers(ctx); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// waitForServers returns an error if there are still sessions of servers after serverEnd.
func (s *endpoint) waitForServers(ctx context.Context) error {
	for end := time.Now().Add(serverEnd); ; {
		var n int
		err := s.db.Write.QueryRowContext(ctx, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'bunting'`).Scan(&n)
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("database %s: it is in use by a server: stop all servers first", s.db.DisplayURL)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mover is the state of one move.
type mover struct {
	from, to    *endpoint
	tables      []Table
	progress    progress
	done, total int64 // numbers of rows copied so far and in total, for progress
	result      MoveResult
}

// begin prepares the move: it counts the rows of the source and checks that the target
// is either empty or the target of an interrupted move from the same source.
func (m *mover) begin(ctx context.Context) error {
	if err := CheckComplete(ctx, m.from.db); err != nil {
		return fmt.Errorf("database %s: %w", m.from.db.DisplayURL, err)
	}
	m.result.Tables = len(m.tables)
	for i := range m.tables {
		t := &m.tables[i]
		var n int64
		if err := m.from.db.Write.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+t.Name+`"`+whereClause(t.Exclude)).Scan(&n); err != nil {
			return err
		}
		m.total += n
	}
	m.result.Rows = m.total
	if err := m.from.db.Write.QueryRowContext(ctx, `SELECT COUNT(*) FROM event_segments`).Scan(&m.result.Segments); err != nil {
		return err
	}
	// The row with the empty name contains the URL of the source.
	var source string
	err := m.to.db.Write.QueryRowContext(ctx, `SELECT place FROM moving WHERE name = ''`).Scan(&source)
	switch {
	case err == nil && source != m.from.db.DisplayURL:
		return fmt.Errorf("database %s: a move from %s has begun: continue that move, or start again with an empty database", m.to.db.DisplayURL, source)
	case err == nil:
		m.result.Resumed = true
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return m.to.db.InWrite(ctx, func(tx *sql.Tx) error {
		// A server that was started on the empty database has chosen it.
		if _, err := tx.ExecContext(ctx, `DELETE FROM places WHERE name = $1 AND NOT EXISTS (SELECT 1 FROM event_key_runs)`, database.PositionKeySecret); err != nil {
			return err
		}
		for i := range m.tables {
			if err := m.tables[i].deleteInitialRows(ctx, tx, m.to.db.DisplayURL); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO moving (name, place, n, done) VALUES ('', $1, 0, 0)`, m.from.db.DisplayURL)
		return err
	})
}

// deleteInitialRows deletes the rows that every new database contains. It returns an
// error if there are further rows.
func (t *Table) deleteInitialRows(ctx context.Context, tx *sql.Tx, displayURL string) error {
	var n int
	text := `SELECT COUNT(*) FROM (SELECT 1 FROM "` + t.Name + `"` + whereClause(t.Exclude) + ` LIMIT ` + strconv.Itoa(t.initialRows+1) + `) AS few`
	if err := tx.QueryRowContext(ctx, text).Scan(&n); err != nil {
		return err
	}
	if n > t.initialRows {
		return fmt.Errorf("database %s already contains data, in the table %s: move into an empty database", displayURL, t.Name)
	}
	if t.initialRows == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM "`+t.Name+`"`+whereClause(t.Exclude))
	return err
}

// copyTable copies the rows of a table that are not in the target yet.
func (m *mover) copyTable(ctx context.Context, t *Table) error {
	var after string
	var n int64
	var done bool
	err := m.to.db.Write.QueryRowContext(ctx, `SELECT place, n, done FROM moving WHERE name = $1`, t.Name).Scan(&after, &n, &done)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	m.done += n
	insert := database.NewInsert(`INSERT INTO "`+t.Name+`" (`+QuoteNames(t.Columns)+`)`, len(t.Columns), "")
	// The last batch is empty and marks the table as done.
	for !done {
		rows, err := t.batch(ctx, m.from, after)
		if err != nil {
			return err
		}
		if done = len(rows) == 0; !done {
			after = t.formatKey(rows[len(rows)-1])
		}
		n += int64(len(rows))
		if err := m.save(ctx, t, &insert, rows, after, n, done); err != nil {
			return err
		}
		m.done += int64(len(rows))
		m.progress("moving "+t.Name, m.done, m.total)
	}
	return nil
}

// batch reads the rows after a position, which is a key formatted by formatKey. An
// empty position is the beginning.
func (t *Table) batch(ctx context.Context, s *endpoint, after string) (out [][]any, err error) {
	args, err := t.parseKey(after)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Write.QueryContext(ctx, t.selectQuery(after != "", moveRows), args...)
	if err != nil {
		return nil, s.db.Dialect.Explain(err)
	}
	defer func() { _ = rows.Close() }()
	for size := 0; size < moveBytes && rows.Next(); {
		row, n, err := t.scan(rows)
		if err != nil {
			return nil, err
		}
		size += n
		out = append(out, row)
	}
	return out, s.db.Dialect.Explain(rows.Err())
}

// save inserts rows into the target and stores the position of the table, in one
// transaction. PostgreSQL receives the rows by COPY, for which the transaction must run
// on the driver's connection.
func (m *mover) save(ctx context.Context, t *Table, insert *database.Bulk, rows [][]any, after string, n int64, done bool) error {
	conn, err := m.to.db.Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return m.to.db.Dialect.Explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	switch {
	case len(rows) == 0:
	case m.to.db.Dialect.SingleWriter:
		appendRow := func(args []any, i int) []any { return append(args, rows[i]...) }
		err = insert.Run(&m.to.db.Dialect, nil, len(rows), appendRow, func(text string, args ...any) error {
			_, err := tx.ExecContext(ctx, text, args...)
			return err
		})
	default:
		err = conn.Raw(func(driver any) error {
			_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns, pgx.CopyFromRows(rows))
			return err
		})
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO moving (name, place, n, done) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET place = excluded.place, n = excluded.n, done = excluded.done`, t.Name, after, n, database.BoolToInt(done))
	}
	if err == nil {
		err = tx.Commit()
	}
	m.to.db.Checkpoints.WakeUp()
	return m.to.db.Dialect.Explain(err)
}
