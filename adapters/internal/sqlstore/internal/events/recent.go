package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// Recent implements capture.History. With several servers, an event is included only
// when no event with a smaller id can still be committed.
func (s *Reader) Recent(ctx context.Context, projectID, after int64, limit int) (capture.Recent, error) {
	out, err := s.recent(ctx, projectID, after, limit)
	return out, s.db.ReadError("new events", err)
}

// recent implements Recent. It reads the newest events first, so that a caller that is
// far behind misses old events instead of new ones, and counts the missed events in
// Remaining.
func (s *Reader) recent(ctx context.Context, projectID, after int64, limit int) (out capture.Recent, err error) {
	if out.Position, err = s.log.Horizon(ctx); err != nil || after < 0 || out.Position <= after {
		out.Position = max(out.Position, after)
		return out, err
	}
	r := recentPage{project: projectID, after: after, limit: limit}
	for below, n := out.Position+1, 4; below > after+1 && !r.full && err == nil; n = min(2*n, chunksAhead) {
		below, err = r.read(ctx, s.db.Read, below, n)
	}
	if err != nil || len(r.events) == 0 {
		return out, err
	}
	slices.Reverse(r.events) // oldest first
	out.Events = r.events
	out.Remaining, err = countBetween(ctx, s.db.Read, projectID, after, out.Events[0].ID)
	return out, err
}

// recentPage are the newest events of a project after an id, from the newest on.
type recentPage struct {
	project, after int64
	limit, size    int
	events         []capture.Record
	full           bool // there is no room for further events
	decoder        chunkDecoder
}

// read adds the events below an id, of at most n chunks, and returns the id below which to
// continue.
func (p *recentPage) read(ctx context.Context, q database.Querier, below int64, n int) (next int64, err error) {
	next = p.after
	found := 0
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		c := storedChunk{project: p.project}
		if err := rows.Scan(&c.first, &c.last, &c.short, &c.data); err != nil {
			return err
		}
		if err := p.decoder.decode(&c); err != nil {
			return err
		}
		if found++; found == n {
			next = c.first
		}
		for i, id := range slices.Backward(p.decoder.short.IDs) {
			if id <= p.after || id >= below {
				continue
			}
			if p.full = len(p.events) >= p.limit; !p.full {
				e, long := p.decoder.short.Event(i), p.decoder.long(i)
				p.size += len(long.Properties) + len(long.Person)
				// The first event is returned whatever its size.
				p.full = len(p.events) > 0 && p.size > capture.RecentBytes
				if !p.full {
					p.events = append(p.events, recordOf(p.project, &e, &long))
				}
			}
			if p.full {
				return database.ErrPageFull
			}
		}
		return nil
	}, fmt.Sprintf(`SELECT first_id, last_id, short, data FROM event_chunks WHERE project_id = $1 AND %s AND first_id < $3 ORDER BY first_id DESC LIMIT %d`, fromChunk, n), p.project, p.after, below)
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return next, err
}

// countBetween returns the number of events of a project with after < id < before.
func countBetween(ctx context.Context, q database.Querier, project, after, before int64) (n int64, err error) {
	var short block.Columns
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		c := storedChunk{project: project}
		events := int64(0)
		if err := rows.Scan(&c.first, &c.last, &events, &c.short); err != nil {
			return err
		}
		if c.first > after && c.last < before {
			n += events
			return nil
		}
		if err := c.decodeShort(&short); err != nil {
			return err
		}
		for _, id := range short.IDs {
			if id > after && id < before {
				n++
			}
		}
		return nil
	}, `SELECT first_id, last_id, events, CASE WHEN first_id > $2 AND last_id < $3 THEN NULL ELSE short END
		FROM event_chunks WHERE project_id = $1 AND `+fromChunk+` AND first_id < $3`, project, after, before)
	return n, err
}
