package sqlstore

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/management/errortracking"
)

// followBytes is the approximate maximum size of the events that one call of EventsAfter
// returns, in bytes.
const followBytes = 8 << 20

// EventsAfter implements errortracking.EventLog. It returns only events up to the horizon, so that a caller that continues after the returned position misses no event.
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
	ids, last, err := s.NamedAfter(ctx, name, after, horizon, limit)
	if err != nil || len(ids) == 0 {
		return nil, last, err
	}
	events, all, err := s.readLoggedEvents(ctx, ids)
	if !all && err == nil {
		last = events[len(events)-1].Position
	}
	return events, last, err
}

// readLoggedEvents reads events in the order of their ids. It stops when they reach
// followBytes, and then all is false. Events that were erased in the meantime are
// skipped.
func (s managementStore) readLoggedEvents(ctx context.Context, ids []int64) (out []errortracking.LoggedEvent, all bool, err error) {
	var long events.LongReader
	size := 0
	for chunk := range slices.Chunk(ids, 100) {
		found, err := database.List(ctx, s.db.Read, func(e *errortracking.LoggedEvent) []any {
			return []any{&e.Position, &e.Project, database.ScanTime(&e.Timestamp)}
		}, `SELECT id, project_id, timestamp FROM events WHERE id IN (`+database.JoinNumbers(chunk, func(id int64) int64 { return id })+`) ORDER BY id`)
		if err != nil {
			return nil, false, err
		}
		for i := range found {
			e := &found[i]
			c, ok, err := long.Read(ctx, s.db.Read, e.Project, e.Position, 0)
			if err != nil {
				return nil, false, err
			}
			if !ok {
				continue
			}
			c = c.Clone()
			e.Properties, e.PersonProperties = c.Properties, c.Person
			out = append(out, *e)
			if size += len(e.Properties) + len(e.PersonProperties); size > followBytes {
				return out, false, nil
			}
		}
	}
	return out, true, nil
}

var _ errortracking.EventLog = managementStore{}
