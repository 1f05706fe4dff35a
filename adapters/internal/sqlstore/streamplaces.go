package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// StreamPosition implements capture.PositionReader. A partition without recorded
// messages has the zero position.
func (s *Store) StreamPosition(ctx context.Context, stream string, partition int) (capture.StreamPosition, error) {
	place := capture.StreamPosition{Stream: stream, Partition: partition}
	var seq int64
	var id []byte
	err := s.db.Read.QueryRowContext(ctx, `SELECT seq, message FROM stream_places WHERE stream = $1 AND "partition" = $2`, stream, partition).Scan(&seq, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return place, nil
	case err != nil:
		return place, fmt.Errorf("reading the place in partition %d of the stream: %w", partition, s.db.Dialect.Explain(err))
	}
	place.Seq = uint64(seq)
	place.ID, err = database.UUIDOf(id)
	return place, err
}

// A move from the beginning inserts the row, or finds one that is still at the
// beginning.
const (
	insertPosition = `INSERT INTO stream_places (stream, "partition", seq, message) VALUES ($1, $2, $3, $4)
		ON CONFLICT (stream, "partition") DO UPDATE SET seq = excluded.seq, message = excluded.message WHERE stream_places.seq = 0`
	updatePosition = `UPDATE stream_places SET seq = $3, message = $4 WHERE stream = $1 AND "partition" = $2 AND seq = $5 AND message = $6`
)

// saveMoves stores the positions up to which streams are recorded. If two servers read
// the same partition, one waits here for the other's row lock, and then returns
// capture.ErrMoved, since the position is no longer the one from which it started.
func (t *ledgerTx) saveMoves(c *capture.Changes) error {
	for i := range c.Moves {
		from, to := &c.Moves[i].From, &c.Moves[i].To
		text, args := insertPosition, []any{to.Stream, to.Partition, int64(to.Seq), to.ID[:]}
		if from.Seq > 0 {
			text, args = updatePosition, append(args, int64(from.Seq), from.ID[:])
		}
		result, err := t.Exec(text, args...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != 1 {
			return errors.Join(err, capture.ErrMoved)
		}
	}
	return nil
}

var _ capture.PositionReader = (*Store)(nil)
