package events

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
)

// Log has the positions of the stored events, their indexes and their blocks. All
// fields but horizons are used only on SQLite, where this process is the only writer.
type Log struct {
	db *database.DB
	// Last is the highest id that was assigned to an event, indexed the highest id that
	// Index has processed.
	Last, Indexed atomic.Int64
	// blocks is true if there may be epochs without their blocks of events.
	blocks atomic.Bool
	// erasures counts transactions that erase events. It is incremented before they
	// commit.
	erasures atomic.Int64
	// build is the work of building blocks, in the goroutine maker, nil if there is
	// none. Only Index and Close access them.
	build *blockBuild
	maker *database.Background
	// horizons is the state of horizon.
	horizons horizons
}

// NewLog returns the log of a database, before start.
func NewLog(db *database.DB) *Log { return &Log{db: db} }

// Start loads the stored positions. On PostgreSQL a sequence assigns ids, and
// there is no state in memory.
func (l *Log) Start(ctx context.Context) error {
	if !l.db.Dialect.SingleWriter {
		return nil
	}
	l.blocks.Store(true)
	for name, to := range map[string]*atomic.Int64{database.PositionEventID: &l.Last, database.PositionIndexed: &l.Indexed} {
		var id int64
		if err := l.db.Write.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, name).Scan(&id); err != nil {
			return fmt.Errorf("reading the place %s: %w", name, err)
		}
		to.Store(id)
	}
	return nil
}

// Close stops building blocks.
func (l *Log) Close() { l.maker.Close() }

// NextIDs returns n new ids of events in ascending order. On SQLite they come from a
// counter in memory, because this process is the only writer; on PostgreSQL from a
// sequence.
func (l *Log) NextIDs(t *database.Tx, n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	if l.db.Dialect.SingleWriter {
		last := l.Last.Add(int64(n))
		for id := last - int64(n) + 1; id <= last; id++ {
			ids = append(ids, id)
		}
		return ids, nil
	}
	err := t.Each(func(rows *sql.Rows) error {
		ids = append(ids, 0)
		return rows.Scan(&ids[len(ids)-1])
	}, `SELECT nextval('event_ids') FROM generate_series(1, $1::bigint)`, n)
	return ids, err
}

// NextEpoch returns the first epoch, starting at from, in which a project has events.
// It is NULL if the project has no later events.
func (l *Log) NextEpoch(ctx context.Context, projectID, from int64) (next sql.NullInt64, err error) {
	err = l.db.Read.QueryRowContext(ctx, `SELECT MIN(epoch) FROM event_epochs WHERE project_id = $1 AND epoch >= $2`, projectID, from).Scan(&next)
	return next, err
}
