package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// blockLeast is of how many events a project has a block: fewer are read out of the
// indexes as fast.
const blockLeast = 512

// makeBlocks makes the blocks of one epoch that has none and gets no more events, in a
// transaction of its own. It reports whether there may be another.
func (s *Store) makeBlocks(ctx context.Context) (more bool, err error) {
	if !s.ledger.blocks.Swap(false) {
		return false, nil
	}
	err = s.inWrite(ctx, func(tx *sql.Tx) error {
		var epoch int64
		err := tx.QueryRowContext(ctx, `SELECT MIN(e.epoch) FROM event_epochs e WHERE e.epoch < $1
			AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id) HAVING COUNT(*) > 0`,
			(s.ledger.indexed.Load()+1)>>epochBits).Scan(&epoch)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		more = true
		return makeBlocksOf(ctx, tx, epoch)
	})
	if err != nil {
		return false, fmt.Errorf("blocks of events: %w", err)
	}
	if more {
		s.ledger.blocks.Store(true)
	}
	return more, nil
}

// makeBlocksOf makes the blocks of an epoch: of all its projects that have none, so that
// it is read once.
func makeBlocksOf(ctx context.Context, tx *sql.Tx, epoch int64) error {
	missing, err := column[int64](ctx, tx, `SELECT e.project_id FROM event_epochs e WHERE e.epoch = $1
		AND NOT EXISTS (SELECT 1 FROM event_blocks b WHERE b.epoch = e.epoch AND b.project_id = e.project_id)`, epoch)
	if err != nil {
		return err
	}
	writers := map[int64]*blockWriter{}
	for _, project := range missing {
		writers[project] = newBlockWriter(epoch)
	}
	var project, id, at int64
	var name, distinctID string
	var person sql.RawBytes
	err = query(ctx, tx, func(rows *sql.Rows) error {
		if err := rows.Scan(&project, &id, &at, &name, &distinctID, &person); err != nil {
			return err
		}
		if w := writers[project]; w != nil {
			w.add(id, at, name, distinctID, person)
		}
		return nil
	}, `SELECT project_id, id, timestamp, event, distinct_id, person_uuid FROM events WHERE id >= $1 AND id < $2 ORDER BY id`, epoch<<epochBits, (epoch+1)<<epochBits)
	if err != nil {
		return err
	}
	for project, w := range writers {
		events, people := []byte{}, []byte{}
		if w.n >= blockLeast {
			events, people = w.texts()
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO event_blocks (epoch, project_id, events, people) VALUES ($1, $2, $3, $4)`, epoch, project, events, people); err != nil {
			return err
		}
	}
	return nil
}

// dropBlocks takes away the blocks that hold some events, which are in the order of
// their ids or nearly. They are made anew unless the events are the oldest, of which the
// others go next.
func (s *Store) dropBlocks(ctx context.Context, q querier, events []erasedEvent, oldest bool) error {
	if !s.dialect.indexBehind {
		return nil
	}
	type block struct{ epoch, project int64 }
	dropped := map[block]bool{}
	for i := range events {
		b := block{events[i].id >> epochBits, events[i].key.ProjectID}
		if dropped[b] {
			continue
		}
		dropped[b] = true
		text := `DELETE FROM event_blocks WHERE epoch = $1 AND project_id = $2`
		if oldest {
			text = `UPDATE event_blocks SET events = x'', people = x'' WHERE epoch = $1 AND project_id = $2`
		}
		if _, err := q.ExecContext(ctx, text, b.epoch, b.project); err != nil {
			return err
		}
	}
	s.ledger.blocks.Store(true)
	return nil
}
