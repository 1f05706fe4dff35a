package events

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
)

// minBlockEvents is the number of events from which a project gets a block of an epoch:
// fewer events are read as fast from the indexes. A project with fewer gets an empty
// row, so that it is not found as missing.
const minBlockEvents = 512

// blockBuild is the work of building the blocks of an epoch. The events are read and
// encoded in the background, because commits would otherwise wait for it; only the
// result is saved in a transaction.
type blockBuild struct {
	// projects are the writers of the projects whose blocks are missing.
	epoch    int64
	projects map[int64]*block.Writer
	// erasures is the value of Log.erasures before the events were read.
	erasures int64
	// done is closed at the end of the work; err may be read after that.
	done chan struct{}
	err  error
}

// makeBlocks builds the blocks of epochs that are complete and have none, one epoch
// after the other. A call either starts to build the next epoch in the background, or
// saves an epoch that is built. It reports whether there is more to do. If idle is true
// it waits for work in progress.
func (l *Log) makeBlocks(ctx context.Context, idle bool) (more bool, err error) {
	if l.build == nil {
		if !l.blocks.Swap(false) {
			return false, nil
		}
		m, err := l.findMissingBlocks(ctx)
		if m == nil || err != nil {
			return false, err
		}
		l.build = m
		l.maker = database.RunInBackground(func(ctx context.Context) {
			defer close(m.done)
			m.err = l.readBlocks(ctx, m)
		})
	}
	if !idle {
		select {
		case <-l.build.done:
		default:
			return true, nil
		}
	}
	<-l.build.done
	m := l.build
	l.build = nil
	l.blocks.Store(true)
	if m.err == nil {
		m.err = l.db.InWrite(ctx, func(tx *sql.Tx) error { return l.saveBlocks(ctx, tx, m) })
	}
	if m.err != nil {
		return false, fmt.Errorf("blocks of events: %w", m.err)
	}
	return true, nil
}

// findMissingBlocks finds the first complete epoch without blocks. It returns nil if
// there is none. It runs in a writing transaction, so that no erasure is in progress;
// later ones are detected by blockBuild.erasures.
func (l *Log) findMissingBlocks(ctx context.Context) (m *blockBuild, err error) {
	err = l.db.InWrite(ctx, func(tx *sql.Tx) error {
		var epoch sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT MIN(e.epoch) FROM event_epochs e WHERE e.epoch < $1
			AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id)`,
			(l.Indexed.Load()+1)>>EpochBits).Scan(&epoch)
		if err != nil || !epoch.Valid {
			return err
		}
		missing, err := database.Column[int64](ctx, tx, `SELECT e.project_id FROM event_epochs e WHERE e.epoch = $1
			AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id)`, epoch.Int64)
		m = &blockBuild{epoch: epoch.Int64, projects: map[int64]*block.Writer{}, erasures: l.erasures.Load(), done: make(chan struct{})}
		for _, project := range missing {
			m.projects[project] = &block.Writer{}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("epochs without blocks of events: %w", err)
	}
	return m, nil
}

// readBlocks reads the events of an epoch, in one scan for all its projects.
func (l *Log) readBlocks(ctx context.Context, m *blockBuild) error {
	return plainRows(ctx, l.db.Read, func(row []driver.Value) error {
		if w := m.projects[row[0].(int64)]; w != nil {
			person, err := database.UUIDOf(row[5].([]byte))
			if err != nil {
				return err
			}
			w.Add(&block.Event{ID: row[1].(int64), Time: row[2].(int64), Name: row[3].(string), DistinctID: row[4].(string), Person: person})
		}
		return nil
	}, `SELECT project_id, id, timestamp, event, distinct_id, person_uuid FROM events WHERE id >= $1 AND id < $2 ORDER BY id`, m.epoch<<EpochBits, (m.epoch+1)<<EpochBits)
}

// saveBlocks stores the blocks, unless events were erased in the meantime, which the
// blocks may contain. Then they are built from the beginning later.
func (l *Log) saveBlocks(ctx context.Context, tx *sql.Tx, m *blockBuild) error {
	if l.erasures.Load() != m.erasures {
		return nil
	}
	// Projects with few events get empty strings, so that the epoch counts as done for
	// them.
	for project, w := range m.projects {
		names, people := []byte{}, []byte{}
		if w.Bounds().Events >= minBlockEvents {
			names = w.Names()
			people = w.People(names)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO event_blocks (epoch, project_id, events, people) VALUES ($1, $2, $3, $4)`, m.epoch, project, names, people); err != nil {
			return err
		}
	}
	return nil
}

// deleteBlocks deletes the blocks that contain some events, whose ids should be mostly
// in order. The blocks are built again later. If oldest is true, the events are deleted
// because of their age and the rest of the epoch follows soon, so the blocks are only
// emptied, which prevents building them again.
func (l *Log) deleteBlocks(ctx context.Context, q database.Querier, events []erasedEvent, oldest bool) error {
	if !l.db.Dialect.IndexesLater {
		return nil
	}
	type key struct{ epoch, project int64 }
	deleted := map[key]bool{}
	for i := range events {
		b := key{events[i].id >> EpochBits, events[i].key.ProjectID}
		if deleted[b] {
			continue
		}
		deleted[b] = true
		text := `DELETE FROM event_blocks WHERE epoch = $1 AND project_id = $2`
		if oldest {
			text = `UPDATE event_blocks SET events = x'', people = x'' WHERE epoch = $1 AND project_id = $2`
		}
		if _, err := q.ExecContext(ctx, text, b.epoch, b.project); err != nil {
			return err
		}
	}
	l.erasures.Add(1)
	l.blocks.Store(true)
	return nil
}
