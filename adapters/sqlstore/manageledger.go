package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/events"
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
func (s managementStore) EventsAfter(ctx context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, manageTime)
	defer cancel()
	events, last, err := s.eventsAfter(ctx, database.CleanText(name), max(after, 0), limit)
	if err != nil {
		return nil, after, s.db.ReadError("the log of events", err)
	}
	return events, last, nil
}

// eventsAfter implements EventsAfter for a name in its stored form.
func (s managementStore) eventsAfter(ctx context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	horizon, err := s.events.Horizon(ctx)
	if err != nil || horizon <= after || limit <= 0 {
		return nil, after, err
	}
	mark, err := s.events.LastIndexedID(ctx, s.db.Read)
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
func (s managementStore) eventIDsAfter(ctx context.Context, name string, after, horizon, mark int64, limit int) (ids []int64, last int64, err error) {
	// scan adds the results of a query, which finds the events up to the id upTo, and
	// advances last.
	last = after
	scan := func(upTo int64, text string, args ...any) error {
		found, err := database.Column[int64](ctx, s.db.Read, text, args...)
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
		epoch := (last + 1) >> events.EpochBits
		upTo := min((epoch+1)<<events.EpochBits-1, indexed)
		err := scan(upTo, `SELECT i.id FROM projects p CROSS JOIN events_by_name i
			WHERE i.epoch = $1 AND i.project_id = p.id AND i.event = $2 AND i.id > $3 AND i.id <= $4`, epoch, name, last, upTo)
		if err != nil {
			return nil, after, err
		}
	}
	if last < horizon && len(ids) < limit {
		upTo := min(last+1<<events.EpochBits, horizon)
		err = scan(upTo, `SELECT id FROM events WHERE id > $1 AND id <= $2 AND event = $3`, last, upTo, name)
	}
	return ids, last, err
}

// readLoggedEvents reads events in the order of their ids. It stops when they reach
// followBytes, and then all is false. Events that were erased in the meantime are
// skipped.
func (s managementStore) readLoggedEvents(ctx context.Context, ids []int64) (out []errortracking.LoggedEvent, all bool, err error) {
	size := 0
	for chunk := range slices.Chunk(ids, 100) {
		err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error {
			var e errortracking.LoggedEvent
			if err := rows.Scan(&e.Position, &e.Project, database.ScanTime(&e.Timestamp), &e.Properties, &e.PersonProperties); err != nil {
				return err
			}
			out = append(out, e)
			if size += len(e.Properties) + len(e.PersonProperties); size > followBytes {
				return database.ErrPageFull
			}
			return nil
		}, `SELECT e.id, e.project_id, e.timestamp, e.properties,
			COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}')
			FROM events e WHERE e.id IN (`+database.JoinNumbers(chunk, func(id int64) int64 { return id })+`) ORDER BY e.id`)
		if errors.Is(err, database.ErrPageFull) {
			return out, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
}

var _ errortracking.EventLog = managementStore{}
