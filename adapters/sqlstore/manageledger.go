package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/management/errortracking"
)

// The bounds of one call of EventsAfter.
const (
	// followEpochs is the maximum number of epochs that it searches, followBytes the
	// approximate size of the events that it returns, in bytes.
	followEpochs = 64
	followBytes  = 8 << 20
)

// EventsAfter implements errortracking.EventLog. It searches the index of names, epoch
// by epoch, then the events that are not indexed yet. It returns only events up to the
// horizon, so that a caller that continues after the returned position misses no event.
func (s ManagementStore) EventsAfter(ctx context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, manageTime)
	defer cancel()
	events, last, err := s.eventsAfter(ctx, cleanText(name), max(after, 0), limit)
	if err != nil {
		return nil, after, s.readError("the log of events", err)
	}
	return events, last, nil
}

// eventsAfter implements EventsAfter for a name in its stored form.
func (s ManagementStore) eventsAfter(ctx context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	horizon, err := s.horizon(ctx)
	if err != nil || horizon <= after || limit <= 0 {
		return nil, after, err
	}
	mark, err := s.lastIndexedID(ctx, s.read)
	if err != nil {
		return nil, after, err
	}
	ids, last, err := s.eventIDsAfter(ctx, name, after, horizon, mark, limit)
	if err != nil || len(ids) == 0 {
		return nil, last, err
	}
	events, all, err := s.readLoggedEvents(ctx, ids)
	if !all && err == nil {
		last = events[len(events)-1].Position
	}
	return events, last, err
}

// eventIDsAfter returns the ids of the next events with a name, in order, and the id up
// to which it has searched.
func (s ManagementStore) eventIDsAfter(ctx context.Context, name string, after, horizon, mark int64, limit int) (ids []int64, last int64, err error) {
	// scan adds the results of a query, which finds the events up to the id upTo, and
	// advances last.
	last = after
	scan := func(upTo int64, text string, args ...any) error {
		found, err := column[int64](ctx, s.read, text, args...)
		if err != nil {
			return err
		}
		slices.Sort(found)
		last = upTo
		if ids = append(ids, found...); len(ids) >= limit {
			ids = ids[:limit]
			last = ids[limit-1]
		}
		return nil
	}
	indexed := min(horizon, mark)
	for epochs := 0; last < indexed && len(ids) < limit; epochs++ {
		if epochs == followEpochs {
			return ids, last, nil
		}
		epoch := (last + 1) >> epochBits
		upTo := min((epoch+1)<<epochBits-1, indexed)
		err := scan(upTo, `SELECT i.id FROM projects p CROSS JOIN events_by_name i
			WHERE i.epoch = $1 AND i.project_id = p.id AND i.event = $2 AND i.id > $3 AND i.id <= $4`, epoch, name, last, upTo)
		if err != nil {
			return nil, after, err
		}
	}
	if last < horizon && len(ids) < limit {
		upTo := min(last+1<<epochBits, horizon)
		err = scan(upTo, `SELECT id FROM events WHERE id > $1 AND id <= $2 AND event = $3`, last, upTo, name)
	}
	return ids, last, err
}

// errPageFull stops reading rows when a page has reached its size.
var errPageFull = errors.New("enough")

// readLoggedEvents reads events in the order of their ids. It stops when they reach
// followBytes, and then all is false. Events that were erased in the meantime are
// skipped.
func (s ManagementStore) readLoggedEvents(ctx context.Context, ids []int64) (out []errortracking.LoggedEvent, all bool, err error) {
	size := 0
	for chunk := range slices.Chunk(ids, 100) {
		err = query(ctx, s.read, func(rows *sql.Rows) error {
			var e errortracking.LoggedEvent
			if err := rows.Scan(&e.Position, &e.Project, scanTime(&e.Timestamp), &e.Properties, &e.PersonProperties); err != nil {
				return err
			}
			out = append(out, e)
			if size += len(e.Properties) + len(e.PersonProperties); size > followBytes {
				return errPageFull
			}
			return nil
		}, `SELECT e.id, e.project_id, e.timestamp, e.properties,
			COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}')
			FROM events e WHERE e.id IN (`+joinNumbers(chunk, func(id int64) int64 { return id })+`) ORDER BY e.id`)
		if errors.Is(err, errPageFull) {
			return out, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
}

// horizons is the state of Store.horizon. It is used only on PostgreSQL, where several
// servers write.
type horizons struct {
	mu sync.Mutex
	// safe is the id up to which no event can be committed any more.
	safe int64
	// next becomes safe when the transactions in waiting have ended, which are the ones
	// that were writing when next was the last id.
	next    int64
	waiting []string
}

// horizon returns an id up to which the set of events is final: no event with such an
// id will be committed later.
//
// On SQLite, commits run one after the other, so it is the last assigned id. On
// PostgreSQL, ids come from a sequence, and a transaction that takes ids holds the lock
// of a project until it ends. When all transactions have ended that held such a lock at
// the time when the sequence was at an id, all ids up to that one are either committed
// or will never be used.
func (s *Store) horizon(ctx context.Context) (int64, error) {
	if s.dialect.singleWriter {
		var id int64
		err := s.read.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, positionEventID).Scan(&id)
		return id, err
	}
	h := &s.horizons
	h.mu.Lock()
	defer h.mu.Unlock()
	var last int64
	if err := s.read.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_ids`).Scan(&last); err != nil {
		return 0, err
	}
	// This must be read after the sequence: then each transaction that took an id of at
	// most last has either ended or is in the list.
	writing, err := s.writingTransactions(ctx)
	if err != nil {
		return 0, err
	}
	// The transactions that were writing when next was the last id have ended.
	if !slices.ContainsFunc(h.waiting, func(tx string) bool { return slices.Contains(writing, tx) }) {
		h.safe = max(h.safe, h.next)
		h.next, h.waiting = last, writing
	}
	// No transaction writes, so the last id is final without waiting for another call.
	if len(writing) == 0 {
		h.safe = max(h.safe, last)
	}
	return h.safe, nil
}

// writingTransactions returns the transactions that hold the lock of a project.
// Sessions that hold advisory locks outside of transactions are excluded by their
// virtual transaction ids.
func (s *Store) writingTransactions(ctx context.Context) ([]string, error) {
	return column[string](ctx, s.read, `SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint >= $1 AND virtualtransaction NOT LIKE '%/0'`, projectLocks>>32)
}

var _ errortracking.EventLog = ManagementStore{}
