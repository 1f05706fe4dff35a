package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// Recent implements capture.History. With several servers, an event is included only
// when no event with a smaller id can still be committed.
func (s *Reader) Recent(ctx context.Context, projectID, after int64, limit int) (capture.Recent, error) {
	out, err := s.recent(ctx, projectID, after, limit)
	return out, s.db.ReadError("new events", err)
}

// recentGroup is the number of events whose chunks are read together.
const recentGroup = 64

// recent implements Recent. It reads the newest events first, so that a caller that is
// far behind misses old events instead of new ones, and counts the missed events in
// Remaining.
func (s *Reader) recent(ctx context.Context, projectID, after int64, limit int) (out capture.Recent, err error) {
	if out.Position, err = s.log.Horizon(ctx); err != nil || after < 0 || out.Position <= after {
		out.Position = max(out.Position, after)
		return out, err
	}
	found, err := database.List(ctx, s.db.Read, shortInto, `SELECT `+shortFields+` FROM events e
		WHERE e.id > $1 AND e.id <= $2 AND e.project_id = $3 ORDER BY e.id DESC LIMIT $4`, after, out.Position, projectID, limit)
	var r LongReader
	size := 0
	for i := 0; i < len(found) && err == nil; i++ {
		e := &found[i]
		if i%recentGroup == 0 { // their chunks may have few events each
			oldest := found[min(i+recentGroup, len(found))-1].ID
			if err = r.load(ctx, s.db.Read, projectID, oldest, e.ID, chunksAhead); err != nil {
				break
			}
		}
		if err = r.fill(ctx, s.db.Read, e, 0); err != nil || e.ID == 0 {
			continue
		}
		size += len(e.Properties) + len(e.PersonProperties)
		// The first event is returned whatever its size.
		if len(out.Events) > 0 && size > capture.RecentBytes {
			break
		}
		out.Events = append(out.Events, *e)
	}
	if err != nil || len(out.Events) == 0 {
		return out, err
	}
	// Oldest first, and count the events that were left out.
	slices.Reverse(out.Events)
	err = s.db.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM events WHERE id > $1 AND id < $2 AND project_id = $3`, after, out.Events[0].ID, projectID).Scan(&out.Remaining)
	return out, err
}
