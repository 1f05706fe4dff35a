package events

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Boundary returns an id before which the events of all projects arrived before a time, and after
// which they arrived later, up to the id horizon. Times of arrival ascend with the ids, except for
// some seconds, so a binary search finds it: first among the first events of chunks, then among the
// events between two of them.
func (l *Log) Boundary(ctx context.Context, t time.Time, horizon int64) (int64, error) {
	arrived := database.Micros(t)
	first, err := l.firstSealed(ctx, arrived, horizon+1)
	if err != nil {
		return 0, err
	}
	low := int64(0)
	var short block.Columns
	for high := first; low+1 < high; {
		middle := low + (high-low)/2
		id, at, err := l.beginning(ctx, middle, high, &short)
		switch {
		case err != nil:
			return 0, err
		case id == 0: // no chunk begins in the upper part
			high = middle
		case at < arrived:
			low = id
		default:
			first, high = id, middle
		}
	}
	between, err := l.firstArrived(ctx, unit{low + 1, first - 1}, arrived)
	if between > 0 {
		first = between
	}
	return first - 1, err
}

// beginning returns the first event of the chunks that begin at first <= id < end, or of the events that are not converted,
// and when it arrived. The id is 0 if there is none. It reuses the memory of short.
func (l *Log) beginning(ctx context.Context, first, end int64, short *block.Columns) (id, arrived int64, err error) {
	if o := l.older.Load(); o != nil && first <= o.last.Load() {
		if id, arrived, err = o.firstAfter(ctx, l.db.Read, first, end); id > 0 || err != nil {
			return id, arrived, err
		}
	}
	c := storedChunk{}
	err = database.Query(ctx, l.db.Read, func(rows *sql.Rows) error { return rows.Scan(&c.first, &c.project, &c.last, &c.short) },
		`SELECT first_id, project_id, last_id, short FROM event_chunks WHERE first_id >= $1 AND first_id < $2 ORDER BY first_id LIMIT 1`, first, end)
	if err == nil && c.first > 0 {
		err = c.decodeShort(short)
	}
	if c.first == 0 || err != nil {
		return 0, 0, err
	}
	return c.first, short.Arrived[0], nil
}

// firstSealed returns the first sealed event of all projects that arrived at a time or later, or
// otherwise.
func (l *Log) firstSealed(ctx context.Context, arrived, otherwise int64) (int64, error) {
	if l.files == nil {
		return otherwise, nil
	}
	segments, err := listSegments(ctx, l.db.Read, `s.first_id = (SELECT MIN(o.first_id) FROM event_segments o WHERE o.project_id = s.project_id AND o.last_arrived >= $1)`, arrived)
	first := otherwise
	for _, s := range segments {
		if err == nil {
			var found int64
			if found, err = l.FirstArrived(ctx, s.project, s.first-1, min(s.last, first-1), arrived); found > 0 {
				first = found
			}
		}
	}
	return first, err
}

// firstArrived returns the first event of all projects in a range of ids that arrived at a time or
// later, or 0.
func (l *Log) firstArrived(ctx context.Context, u unit, arrived int64) (first int64, err error) {
	blocks, err := blocksOfAll(ctx, l.db.Read, u)
	for _, b := range blocks {
		if err == nil {
			var found int64
			if found, err = l.FirstArrived(ctx, b.project, u.first-1, u.last, arrived); found > 0 {
				first, u.last = found, found-1
			}
		}
	}
	return first, err
}

// FirstArrived returns the first event of a project with after < id <= upTo that arrived at a time
// or later, or 0.
func (l *Log) FirstArrived(ctx context.Context, project, after, upTo, arrived int64) (first int64, err error) {
	var c Chunks
	err = c.each(ctx, l.Source(), project, after, upTo, withShort, func(e *block.Event, _ func() (LongColumns, error)) error {
		if e.Arrived >= arrived {
			first = e.ID
			return database.ErrPageFull
		}
		return nil
	})
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return first, err
}
