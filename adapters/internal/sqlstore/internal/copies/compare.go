package copies

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// copySequences copies the last assigned numbers of events and of rows that the database
// numbers, because a number that was assigned before must not be assigned to another
// object.
func (m *mover) copySequences(ctx context.Context) error {
	last, err := m.from.lastEventID(ctx)
	if err != nil {
		return fmt.Errorf("reading the last number of events: %w", m.from.db.Dialect.Explain(err))
	}
	if err := m.to.setLastEventID(ctx, last); err != nil {
		return fmt.Errorf("numbering events: %w", m.to.db.Dialect.Explain(err))
	}
	for i := range m.tables {
		t := &m.tables[i]
		if !t.HasSequence {
			continue
		}
		last, err := m.from.lastRow(ctx, t)
		if err != nil {
			return fmt.Errorf("reading the last number of %s: %w", t.Name, m.from.db.Dialect.Explain(err))
		}
		if err := m.to.setLastRow(ctx, t, last); err != nil {
			return fmt.Errorf("numbering %s: %w", t.Name, m.to.db.Dialect.Explain(err))
		}
	}
	return nil
}

// lastValueQuery selects the last value of a PostgreSQL sequence, 0 if it is unused.
// The name of the sequence must follow.
const lastValueQuery = `SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM `

// lastEventID returns the last id that was assigned to an event.
func (s *endpoint) lastEventID(ctx context.Context) (last int64, err error) {
	text := lastValueQuery + "event_ids"
	if s.db.Dialect.SingleWriter {
		text = `SELECT id FROM places WHERE name = '` + database.PositionEventID + `'`
	}
	return last, s.db.Write.QueryRowContext(ctx, text).Scan(&last)
}

// setLastEventID sets the last assigned id of an event.
func (s *endpoint) setLastEventID(ctx context.Context, last int64) error {
	if s.db.Dialect.SingleWriter {
		_, err := s.db.Write.ExecContext(ctx, `UPDATE places SET id = $1 WHERE name = '`+database.PositionEventID+`'`, last)
		return err
	}
	_, err := s.db.Write.ExecContext(ctx, `SELECT setval('event_ids', $1, $2)`, max(last, 1), last > 0)
	return err
}

// lastRow returns the last number that the database assigned to a row of a table.
func (s *endpoint) lastRow(ctx context.Context, t *Table) (last int64, err error) {
	if s.db.Dialect.SingleWriter {
		err = s.db.Write.QueryRowContext(ctx, `SELECT seq FROM sqlite_sequence WHERE name = $1`, t.Name).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) { // no row was ever inserted
			err = nil
		}
		return last, err
	}
	name, err := s.sequenceOf(ctx, t)
	if err != nil {
		return 0, err
	}
	return last, s.db.Write.QueryRowContext(ctx, lastValueQuery+name).Scan(&last)
}

// setLastRow sets the last assigned number of a table.
func (s *endpoint) setLastRow(ctx context.Context, t *Table, last int64) error {
	if s.db.Dialect.SingleWriter {
		return s.db.InWrite(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, `DELETE FROM sqlite_sequence WHERE name = $1`, t.Name); err != nil || last == 0 {
				return err
			}
			_, err := tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)`, t.Name, last)
			return err
		})
	}
	name, err := s.sequenceOf(ctx, t)
	if err != nil {
		return err
	}
	_, err = s.db.Write.ExecContext(ctx, `SELECT setval($1::text::regclass, $2, $3)`, name, max(last, 1), last > 0)
	return err
}

// sequenceOf returns the quoted name of the PostgreSQL sequence that numbers the rows
// of a table.
func (s *endpoint) sequenceOf(ctx context.Context, t *Table) (name string, err error) {
	return name, s.db.Write.QueryRowContext(ctx, `SELECT pg_get_serial_sequence($1, $2)`, t.Name, t.Columns[t.Key[0]]).Scan(&name)
}

// tableSum is a checksum of a table. Equal tables have equal sums.
type tableSum struct {
	rows int64
	hash string
}

// compare compares the checksums of all tables. Both databases are read concurrently.
func (m *mover) compare(ctx context.Context) error {
	done := int64(0)
	for i := range m.tables {
		t := &m.tables[i]
		var sums [2]tableSum
		var errs [2]error
		var reading sync.WaitGroup
		for i, s := range []*endpoint{m.from, m.to} {
			reading.Go(func() { sums[i], errs[i] = t.sum(ctx, s) })
		}
		reading.Wait()
		if err := errors.Join(errs[:]...); err != nil {
			return fmt.Errorf("comparing %s: %w", t.Name, err)
		}
		if sums[0] != sums[1] {
			return fmt.Errorf("the table %s differs: %d rows with the checksum %s in %s, %d with %s in %s: the source has changed in the meantime; start again with an empty database",
				t.Name, sums[0].rows, sums[0].hash[:16], m.from.db.DisplayURL, sums[1].rows, sums[1].hash[:16], m.to.db.DisplayURL)
		}
		done += sums[0].rows
		m.progress("comparing "+t.Name, done, m.total)
	}
	return nil
}

// sum computes the checksum of a table, of its rows in the order of the primary key.
func (t *Table) sum(ctx context.Context, s *endpoint) (out tableSum, err error) {
	sum := sha256.New()
	err = database.Query(ctx, s.db.Write, func(rows *sql.Rows) error {
		row, _, err := t.scan(rows)
		if err != nil {
			return err
		}
		out.rows++
		for _, v := range row {
			addValue(sum, v)
		}
		return nil
	}, t.selectQuery(false, 0))
	out.hash = hex.EncodeToString(sum.Sum(nil))
	return out, s.db.Dialect.Explain(err)
}

// addValue adds a value to a checksum, with its type and its length, so that values
// cannot be confused with each other.
func addValue(sum hash.Hash, v any) {
	var head [9]byte
	var text []byte
	switch v := v.(type) {
	case nil:
	case int64:
		head[0] = 1
		binary.BigEndian.PutUint64(head[1:], uint64(v))
	case string:
		head[0], text = 2, []byte(v)
	case []byte:
		head[0], text = 3, v
	}
	if head[0] > 1 {
		binary.BigEndian.PutUint64(head[1:], uint64(len(text)))
	}
	sum.Write(head[:])
	sum.Write(text)
}
