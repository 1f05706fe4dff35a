package sqlstore

import (
	"context"

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
	named, last, err := s.NamedAfter(ctx, name, after, horizon, limit)
	if err != nil || len(named) == 0 {
		return nil, last, err
	}
	events, all, err := s.readLoggedEvents(ctx, named)
	if !all && err == nil {
		last = events[len(events)-1].Position
	}
	return events, last, err
}

// readLoggedEvents reads events in the order of their ids. It stops when they reach
// followBytes, and then all is false. Events that were erased in the meantime are
// skipped.
func (s managementStore) readLoggedEvents(ctx context.Context, named []events.NamedEvent) (out []errortracking.LoggedEvent, all bool, err error) {
	var chunks events.Chunks
	size := 0
	for _, n := range named {
		e, ok, err := chunks.Record(ctx, s.events.Source(), n.Project, n.ID, 0)
		if err != nil {
			return nil, false, err
		}
		if !ok {
			continue
		}
		out = append(out, errortracking.LoggedEvent{Position: e.ID, Project: e.ProjectID, Timestamp: e.Timestamp, Properties: e.Properties, PersonProperties: e.PersonProperties})
		if size += len(e.Properties) + len(e.PersonProperties); size > followBytes {
			return out, false, nil
		}
	}
	return out, true, nil
}

var _ errortracking.EventLog = managementStore{}
