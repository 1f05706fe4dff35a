package events

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

const (
	// EpochBits is the number of low bits of an event's id that count within an epoch.
	EpochBits = 14
	// IndexChunk is the maximum number of events that one call of index processes.
	IndexChunk = 2048
)

// indexStatements index the events with $1 < id <= $2. Inserting sorted rows is far
// cheaper than inserting them in the order of arrival.
var indexStatements = newIndexStatements("")

// projectIndexStatements index only the events of project $3.
var projectIndexStatements = newIndexStatements("AND project_id = $3")

// newIndexStatements returns the statements for the three indexes and for event_epochs,
// the times of the first and the last event of each epoch and project.
func newIndexStatements(condition string) (texts []string) {
	epoch := fmt.Sprintf("id >> %d", EpochBits)
	from := " FROM events WHERE id > $1 AND id <= $2 " + condition
	for _, index := range []struct{ table, key string }{
		{"events_by_time", "timestamp, id"},
		{"events_by_name", "event, timestamp, id"},
		{"events_by_distinct_id", "distinct_id, timestamp, id"},
	} {
		texts = append(texts, "INSERT INTO "+index.table+" (epoch, project_id, "+index.key+")"+
			" SELECT "+epoch+", project_id, "+index.key+from+" ORDER BY "+epoch+", project_id, "+index.key)
	}
	return append(texts, `INSERT INTO event_epochs (epoch, project_id, first_time, last_time)
		SELECT `+epoch+`, project_id, MIN(timestamp), MAX(timestamp)`+from+` GROUP BY `+epoch+`, project_id
		ON CONFLICT (project_id, epoch) DO UPDATE SET
		first_time = CASE WHEN excluded.first_time < event_epochs.first_time THEN excluded.first_time ELSE event_epochs.first_time END,
		last_time = CASE WHEN excluded.last_time > event_epochs.last_time THEN excluded.last_time ELSE event_epochs.last_time END`)
}

// Index indexes the next events, at most 2,048, in a
// transaction of its own, or builds the blocks of an epoch, and reports whether there
// is more to do. Unless idle is true it indexes only if there are that many events. On
// PostgreSQL it does nothing.
func (l *Log) Index(ctx context.Context, idle bool) (more bool, err error) {
	if !l.db.Dialect.IndexesLater {
		return false, nil
	}
	from, last := l.Indexed.Load(), l.Last.Load()
	if last == from || last-from < IndexChunk && !idle {
		more, err := l.makeBlocks(ctx, idle)
		return more || last != from, err
	}
	t := l.db.NewTx(ctx, nil)
	to := min(from+IndexChunk, last)
	err = l.db.InWrite(ctx, func(tx *sql.Tx) error {
		t.SQL = tx
		for _, text := range indexStatements {
			if _, err := t.Exec(text, from, to); err != nil {
				return err
			}
		}
		_, err := t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionIndexed, to)
		return err
	})
	t.Prepare()
	if err != nil {
		return true, fmt.Errorf("events %d to %d: %w", from+1, to, err)
	}
	// After the commit, so that indexed is never ahead of the database.
	l.Indexed.Store(to)
	// An epoch is complete, so its blocks can be built.
	if from>>EpochBits != (to+1)>>EpochBits {
		l.blocks.Store(true)
	}
	return to < l.Last.Load() || l.blocks.Load(), nil
}

// IndexProjects indexes the events of a commit in its transaction. Their projects are
// locked, so all events of these projects from first to last belong to the commit.
func IndexProjects(t *database.Tx, events []capture.Record, first, last int64) error {
	done := map[int64]bool{}
	for i := range events {
		project := events[i].ProjectID
		if done[project] {
			continue
		}
		done[project] = true
		for _, text := range projectIndexStatements {
			if _, err := t.Exec(text, first-1, last, project); err != nil {
				return err
			}
		}
	}
	return nil
}

// LastIndexedID returns the id up to which events are in the indexes; later events must
// be scanned. It must be called in the transaction that reads the indexes.
func (l *Log) LastIndexedID(ctx context.Context, q database.Querier) (id int64, err error) {
	if !l.db.Dialect.IndexesLater {
		return math.MaxInt64, nil
	}
	err = q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionIndexed).Scan(&id)
	return id, err
}
