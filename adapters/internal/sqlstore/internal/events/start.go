package events

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Start loads the stored positions.
func (l *Log) Start(ctx context.Context, logger *slog.Logger) (err error) {
	l.unmerged.Store(true)
	last, err := l.lastID(ctx, l.db.Write)
	if err != nil {
		return fmt.Errorf("reading the last number of events: %w", err)
	}
	var indexed int64
	if err := l.db.Write.QueryRowContext(ctx, `SELECT COALESCE(MIN(first_id) - 1, $1) FROM event_new_chunks`, last).Scan(&indexed); err != nil {
		return fmt.Errorf("reading the first new chunk of events: %w", err)
	}
	l.Last.Store(last)
	l.Indexed.Store(indexed)
	if err := l.startKeys(ctx); err != nil {
		return err
	}
	p, err := readOlderPlaces(ctx, l.db.Write, "")
	if err != nil {
		return err
	}
	l.older.Store(p.older())
	return l.startOlderKeys(ctx, logger)
}

// startKeys reads the secret number of the hashes, and chooses it for a new store. Other servers may do
// the same at the same time.
func (l *Log) startKeys(ctx context.Context) error {
	var number [8]byte
	_, _ = rand.Read(number[:]) // it never fails
	_, err := l.db.Write.ExecContext(ctx, `INSERT INTO places (name, id) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
		database.PositionKeySecret, int64(binary.BigEndian.Uint64(number[:])))
	if err == nil {
		err = l.db.Write.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionKeySecret).Scan(&l.keys.secret)
	}
	return database.WrapError("the secret number of duplicate keys", err)
}
