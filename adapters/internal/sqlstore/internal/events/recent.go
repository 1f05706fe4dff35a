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
		below, err = r.read(ctx, s.log.Source(), below, n)
	}
	if err != nil || len(r.events) == 0 {
		return out, err
	}
	slices.Reverse(r.events) // oldest first
	out.Events = r.events
	out.Remaining, err = countBetween(ctx, s.log.Source(), projectID, after, out.Events[0].ID)
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
func (p *recentPage) read(ctx context.Context, q Source, below int64, n int) (next int64, err error) {
	next = p.after
	found, lowest := 0, below
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		c := storedChunk{project: p.project}
		if err := rows.Scan(&c.first, &c.last, &c.short, &c.data); err != nil {
			return err
		}
		if err := p.decoder.decode(&c); err != nil {
			return err
		}
		lowest = c.first
		if found++; found == n {
			next = c.first
		}
		return p.add(below, nil)
	}, fmt.Sprintf(`SELECT first_id, last_id, short, data FROM event_chunks WHERE project_id = $1 AND %s AND first_id > %s AND first_id < $3 ORDER BY first_id DESC LIMIT %d`, fromChunk, sealedEnd, n), p.project, p.after, below)
	if err == nil && found < n {
		err = p.readSealed(ctx, q, min(below, lowest))
	}
	if err == nil && found < n {
		err = p.readOlder(ctx, q, min(below, lowest))
	}
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return next, err
}

// readSealed adds the events of segments below an id.
func (p *recentPage) readSealed(ctx context.Context, q Source, below int64) error {
	u := unit{p.after + 1, below - 1}
	segments, err := q.segments(ctx, p.project, u)
	if err != nil {
		return err
	}
	for i := range slices.Backward(segments) {
		groups, err := groupsOf(q, &segments[i])
		if err != nil {
			return err
		}
		for group := range slices.Backward(groups) {
			if groups[group].LastID < u.first || groups[group].FirstID > u.last {
				continue
			}
			chunks, err := sealedChunks(q, &segments[i], groups[group], u)
			if err != nil {
				return err
			}
			for at := range slices.Backward(chunks) {
				if err := p.decoder.decode(&chunks[at]); err != nil {
					return err
				}
				if err := p.add(below, segments[i].erased); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// readOlder adds the events below an id that were not converted when the first chunk was read.
func (p *recentPage) readOlder(ctx context.Context, q Source, below int64) error {
	if q.older == nil {
		return nil
	}
	for u := (unit{p.after + 1, below - 1}); ; {
		b, err := readOlderIDs(ctx, q, p.project, u, true)
		if err != nil || len(b.ids) == 0 {
			return err
		}
		for ids := b.within(u, len(b.ids)); len(ids) > 0; {
			n := max(0, len(ids)-olderStep)
			found := map[int64]capture.Record{}
			if err := readRecords(ctx, q, p.project, ids[n:], found); err != nil {
				return err
			}
			for _, id := range slices.Backward(ids[n:]) {
				e, ok := found[id]
				if !ok {
					continue
				}
				if err := p.put(len(e.Properties)+len(e.PersonProperties), func() capture.Record { return e }); err != nil {
					return err
				}
			}
			ids = ids[:n]
		}
		u.last = b.first - 1
	}
}

// add adds the events of the decoded chunk below an id, except for erased events. It returns
// database.ErrPageFull if there is no room for further events.
func (p *recentPage) add(below int64, erased map[int64]bool) error {
	for i, id := range slices.Backward(p.decoder.short.IDs) {
		if id <= p.after || id >= below || erased[id] {
			continue
		}
		long := p.decoder.long(i)
		err := p.put(len(long.Properties)+len(long.Person), func() capture.Record {
			e := p.decoder.short.Event(i)
			return recordOf(p.project, &e, &long)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// put adds an event with properties of some bytes. It returns database.ErrPageFull if there is no room for it.
func (p *recentPage) put(bytes int, event func() capture.Record) error {
	if p.full = len(p.events) >= p.limit; !p.full {
		p.size += bytes
		// The first event is returned whatever its size.
		p.full = len(p.events) > 0 && p.size > capture.RecentBytes
	}
	if p.full {
		return database.ErrPageFull
	}
	p.events = append(p.events, event())
	return nil
}

// countBetween returns the number of events of a project with after < id < before.
func countBetween(ctx context.Context, q Source, project, after, before int64) (n int64, err error) {
	// Blocks and new chunks that are completely in the range, then the ones that are in part.
	err = q.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM (
		SELECT events FROM event_blocks WHERE project_id = $1 AND first_id > $2 AND last_id < $3
		UNION ALL SELECT events FROM event_new_chunks WHERE project_id = $1 AND first_id > $2 AND last_id < $3) AS inside`, project, after, before).Scan(&n)
	for _, edge := range [...]int64{after, before} {
		if err != nil {
			return n, err
		}
		var blocks []encodedBlock
		if blocks, err = readBlocks(ctx, q, project, unit{edge, edge}, 0); err != nil {
			return n, err
		}
		err = (&blockDecoder{}).each(blocks, func(b *encodedBlock, c *block.Columns, _ int) error {
			if edge == before && b.first <= after { // counted with the other edge
				return nil
			}
			for _, id := range c.IDs {
				if id > after && id < before {
					n++
				}
			}
			return nil
		})
	}
	return n, err
}
