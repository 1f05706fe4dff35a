package sqlstore

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
)

// A batch of a move is at most so many rows and so many bytes, and one transaction.
const (
	moveRows  = 2000
	moveBytes = 8 << 20
)

// MoveResult is what a move has done.
type MoveResult struct {
	Tables  int
	Rows    int64
	Resumed bool
}

// Move copies everything from one database into another, empty one, by their URLs,
// with all keys and ids; SQLite and PostgreSQL may stand on either side. No server may
// be using either. It goes in batches, each with a note in the target of how far it
// is, and goes on there when it was interrupted; until it has ended no server starts
// on the target. At last counts and checksums of all tables are compared. The source is
// brought to this version's schema, and nothing else of it changes.
func Move(ctx context.Context, from, to string, progress progress) (out MoveResult, err error) {
	m := &mover{progress: progress}
	if m.tables, err = readMoveTables(ctx); err != nil {
		return out, err
	}
	if m.from, err = openQuiet(ctx, from); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.from.Close()) }()
	if m.to, err = openQuiet(ctx, to); err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, m.to.Close()) }()
	for _, s := range []*Store{m.from, m.to} {
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
			return m.result, fmt.Errorf("table %s: %w; the same command goes on from there", m.tables[i].name, err)
		}
	}
	if err := m.numbers(ctx); err != nil {
		return m.result, err
	}
	if err := m.compare(ctx); err != nil {
		return m.result, err
	}
	return m.result, m.to.inWrite(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM moving`)
		return err
	})
}

// ErrMoving is for databases that a move has not ended for.
var ErrMoving = errors.New("a move into it has not ended: run bunting move again, with the same --from and --to")

// checkNotMoving fails where a move has not ended.
func (s *Store) checkNotMoving(ctx context.Context) error {
	var n int
	if err := s.write.QueryRowContext(ctx, `SELECT COUNT(*) FROM moving`).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return ErrMoving
	}
	return nil
}

// moverName is what PostgreSQL calls the connections of a move; those of servers are
// called bunting.
const moverName = "bunting move"

// openQuiet opens a store for a move: without what listens to other servers.
func openQuiet(ctx context.Context, address string) (*Store, error) {
	if u, err := url.Parse(address); err == nil && strings.HasPrefix(u.Scheme, "postgres") {
		q := u.Query()
		q.Set("application_name", moverName)
		u.RawQuery = q.Encode()
		address = u.String()
	}
	o, err := openURL(ctx, address)
	if err != nil {
		return nil, err
	}
	s := newStore(&o, Config{Logger: slog.New(slog.DiscardHandler), Now: time.Now, Changed: func(int64) {}})
	if o.checkpoints != nil {
		s.checkpoints = startCheckpointer(o.checkpoints, o.write, s.logger)
	}
	if err = s.migrate(ctx); err == nil {
		err = s.startLedger(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", o.displayURL, s.dialect.explain(err)), s.Close())
	}
	return s, nil
}

// excludeServers makes servers that start wait, and refuses where one runs. A SQLite
// file is locked already.
func (s *Store) excludeServers(ctx context.Context) (unlock func(), err error) {
	if s.dialect.singleWriter {
		return func() {}, nil
	}
	if unlock, err = s.dialect.lockSchema(ctx, s.write); err != nil {
		return nil, err
	}
	var n int
	err = s.write.QueryRowContext(ctx, `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'bunting'`).Scan(&n)
	if err == nil && n > 0 {
		err = fmt.Errorf("database %s: a server uses it: stop all servers first", s.displayURL)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// mover is one move.
type mover struct {
	from, to    *Store
	tables      []moveTable
	progress    progress
	done, total int64 // rows
	result      MoveResult
}

// begin looks whether the target is empty, or half moved from the same source.
func (m *mover) begin(ctx context.Context) error {
	if err := m.from.checkNotMoving(ctx); err != nil {
		return fmt.Errorf("database %s: %w", m.from.displayURL, err)
	}
	// What SQLite indexes behind the commit is indexed now.
	for more := true; more; {
		var err error
		if more, err = m.from.Index(ctx, true); err != nil {
			return err
		}
	}
	m.result.Tables = len(m.tables)
	for i := range m.tables {
		t := &m.tables[i]
		var n int64
		if err := m.from.write.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+t.name+`"`+whereClause(t.exclude)).Scan(&n); err != nil {
			return err
		}
		m.total += n
	}
	m.result.Rows = m.total
	var source string
	err := m.to.write.QueryRowContext(ctx, `SELECT place FROM moving WHERE name = ''`).Scan(&source)
	switch {
	case err == nil && source != m.from.displayURL:
		return fmt.Errorf("database %s: a move out of %s has begun: go on with that one, or begin with an empty database", m.to.displayURL, source)
	case err == nil:
		m.result.Resumed = true
		return nil
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	return m.to.inWrite(ctx, func(tx *sql.Tx) error {
		for i := range m.tables {
			if err := m.tables[i].deleteInitialRows(ctx, tx, m.to.displayURL); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO moving (name, place, n, done) VALUES ('', $1, 0, 0)`, m.from.displayURL)
		return err
	})
}

// deleteInitialRows takes away what every new database has; more than that is refused.
func (t *moveTable) deleteInitialRows(ctx context.Context, tx *sql.Tx, displayURL string) error {
	var n int
	text := `SELECT COUNT(*) FROM (SELECT 1 FROM "` + t.name + `"` + whereClause(t.exclude) + ` LIMIT ` + strconv.Itoa(t.initialRows+1) + `) AS few`
	if err := tx.QueryRowContext(ctx, text).Scan(&n); err != nil {
		return err
	}
	if n > t.initialRows {
		return fmt.Errorf("database %s has data of its own, in the table %s: move into an empty one", displayURL, t.name)
	}
	if t.initialRows == 0 {
		return nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM "`+t.name+`"`+whereClause(t.exclude))
	return err
}

// copyTable moves the rest of a table.
func (m *mover) copyTable(ctx context.Context, t *moveTable) error {
	var after string
	var n int64
	var done bool
	err := m.to.write.QueryRowContext(ctx, `SELECT place, n, done FROM moving WHERE name = $1`, t.name).Scan(&after, &n, &done)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	m.done += n
	insert := newInsert(`INSERT INTO "`+t.name+`" (`+quoteNames(t.columns)+`)`, len(t.columns), "")
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
		m.progress("moving "+t.name, m.done, m.total)
	}
	return nil
}

// batch reads the rows after a place, empty for the beginning.
func (t *moveTable) batch(ctx context.Context, s *Store, after string) (out [][]any, err error) {
	args, err := t.parseKey(after)
	if err != nil {
		return nil, err
	}
	rows, err := s.write.QueryContext(ctx, t.selectQuery(after != "", moveRows), args...)
	if err != nil {
		return nil, s.dialect.explain(err)
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
	return out, s.dialect.explain(rows.Err())
}

// save puts rows into the target, and with them how far the table is.
func (m *mover) save(ctx context.Context, t *moveTable, insert *bulk, rows [][]any, after string, n int64, done bool) error {
	conn, err := m.to.write.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return m.to.dialect.explain(err)
	}
	defer func() { _ = tx.Rollback() }()
	switch {
	case len(rows) == 0:
	case m.to.dialect.singleWriter:
		appendRow := func(args []any, i int) []any { return append(args, rows[i]...) }
		err = insert.run(&m.to.dialect, nil, len(rows), appendRow, func(text string, args ...any) error {
			_, err := tx.ExecContext(ctx, text, args...)
			return err
		})
	default:
		err = conn.Raw(func(driver any) error {
			_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(rows))
			return err
		})
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO moving (name, place, n, done) VALUES ($1, $2, $3, $4)
			ON CONFLICT (name) DO UPDATE SET place = excluded.place, n = excluded.n, done = excluded.done`, t.name, after, n, boolToInt(done))
	}
	if err == nil {
		err = tx.Commit()
	}
	m.to.checkpoints.wakeUp()
	return m.to.dialect.explain(err)
}
