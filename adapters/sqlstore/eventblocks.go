package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// minBlockEvents is of how many events a project has a block: fewer are read out of the
// indexes as fast.
const minBlockEvents = 512

// blockBuild are blocks of an epoch on their way into the database: they are made beside
// the commits, which would wait for it.
type blockBuild struct {
	epoch    int64
	projects map[int64]*blockWriter
	// erasures is what was counted before the events were read.
	erasures int64
	done     chan struct{}
	err      error
}

// makeBlocks makes blocks of epochs that have none and get no more events, one after the
// other: it begins with one, or saves one that is made. It reports whether there is more to
// do. When idle it waits for what was begun.
func (s *Store) makeBlocks(ctx context.Context, idle bool) (more bool, err error) {
	l := &s.ledger
	if l.build == nil {
		if !l.blocks.Swap(false) {
			return false, nil
		}
		m, err := s.findMissingBlocks(ctx)
		if m == nil || err != nil {
			return false, err
		}
		l.build = m
		l.maker = runInBackground(func(ctx context.Context) {
			defer close(m.done)
			m.err = s.readBlocks(ctx, m)
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
		m.err = s.inWrite(ctx, func(tx *sql.Tx) error { return s.saveBlocks(ctx, tx, m) })
	}
	if m.err != nil {
		return false, fmt.Errorf("blocks of events: %w", m.err)
	}
	return true, nil
}

// findMissingBlocks finds the first epoch without blocks, nil when there is none. It looks
// while nobody writes: of what is erased later, erasures tells.
func (s *Store) findMissingBlocks(ctx context.Context) (m *blockBuild, err error) {
	err = s.inWrite(ctx, func(tx *sql.Tx) error {
		var epoch sql.NullInt64
		err := tx.QueryRowContext(ctx, `SELECT MIN(e.epoch) FROM event_epochs e WHERE e.epoch < $1
			AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id)`,
			(s.ledger.indexed.Load()+1)>>epochBits).Scan(&epoch)
		if err != nil || !epoch.Valid {
			return err
		}
		missing, err := column[int64](ctx, tx, `SELECT e.project_id FROM event_epochs e WHERE e.epoch = $1
			AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id)`, epoch.Int64)
		m = &blockBuild{epoch: epoch.Int64, projects: map[int64]*blockWriter{}, erasures: s.ledger.erasures.Load(), done: make(chan struct{})}
		for _, project := range missing {
			m.projects[project] = newBlockWriter(m.epoch)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("epochs without blocks of events: %w", err)
	}
	return m, nil
}

// readBlocks reads the events of an epoch once for all its projects.
func (s *Store) readBlocks(ctx context.Context, m *blockBuild) error {
	return plainRows(ctx, s.read, func(row []driver.Value) error {
		if w := m.projects[row[0].(int64)]; w != nil {
			w.add(row[1].(int64), row[2].(int64), row[3].(string), row[4].(string), row[5].([]byte))
		}
		return nil
	}, `SELECT project_id, id, timestamp, event, distinct_id, person_uuid FROM events WHERE id >= $1 AND id < $2 ORDER BY id`, m.epoch<<epochBits, (m.epoch+1)<<epochBits)
}

// saveBlocks saves what was made, unless something was erased since.
func (s *Store) saveBlocks(ctx context.Context, tx *sql.Tx, m *blockBuild) error {
	if s.ledger.erasures.Load() != m.erasures {
		return nil
	}
	for project, w := range m.projects {
		events, people := []byte{}, []byte{}
		if w.n >= minBlockEvents {
			events, people = w.texts()
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO event_blocks (epoch, project_id, events, people) VALUES ($1, $2, $3, $4)`, m.epoch, project, events, people); err != nil {
			return err
		}
	}
	return nil
}

// deleteBlocks takes away the blocks that hold some events, which are in the order of
// their ids or nearly. They are made anew unless the events are the oldest, of which the
// others go next.
func (s *Store) deleteBlocks(ctx context.Context, q querier, events []erasedEvent, oldest bool) error {
	if !s.dialect.indexesLater {
		return nil
	}
	type block struct{ epoch, project int64 }
	deleted := map[block]bool{}
	for i := range events {
		b := block{events[i].id >> epochBits, events[i].key.ProjectID}
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
	s.ledger.erasures.Add(1)
	s.ledger.blocks.Store(true)
	return nil
}
