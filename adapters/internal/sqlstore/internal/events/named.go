package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// namedWindow is the number of ids whose blocks are searched at a time for events with a
	// name, namedWindows the maximum number of such windows in one call.
	namedWindow  = 1 << 16
	namedWindows = 16
)

// NamedAfter returns the ids of the next events with a name, of all projects and in
// order: with after < id <= upTo and at most limit. It also returns the id up to which it
// has searched, which may be less than upTo.
func (s *Reader) NamedAfter(ctx context.Context, name string, after, upTo int64, limit int) (ids []int64, last int64, err error) {
	mark, err := s.log.LastIndexedID(ctx, s.db.Read)
	if err != nil {
		return nil, after, err
	}
	// add adds the ids up to an id.
	add := func(found []int64, to int64) {
		slices.Sort(found)
		last = to
		if ids = append(ids, found...); len(ids) >= limit {
			ids = ids[:limit]
			last = ids[limit-1]
		}
	}
	last = after
	for windows := 0; last < min(upTo, mark) && len(ids) < limit; windows++ {
		if windows == namedWindows {
			return ids, last, nil
		}
		to := min(last+namedWindow, upTo, mark)
		found, err := s.namedInBlocks(ctx, name, unit{last + 1, to})
		if err != nil {
			return nil, after, err
		}
		add(found, to)
	}
	if last < upTo && len(ids) < limit {
		to := min(last+namedWindow, upTo)
		found, err := database.Column[int64](ctx, s.db.Read, `SELECT id FROM events WHERE id > $1 AND id <= $2 AND event = $3`, last, to, name)
		if err != nil {
			return nil, after, err
		}
		add(found, to)
	}
	return ids, last, nil
}

// namedInBlocks returns the ids in a range of the events with a name that are in blocks.
func (s *Reader) namedInBlocks(ctx context.Context, name string, u unit) (ids []int64, err error) {
	blocks, err := listBlocks(ctx, s.db.Read, `SELECT project_id, first_id, last_id, level, events, first_time, last_time FROM event_blocks
		WHERE last_id >= $1 AND first_id <= $2`, u.first, u.last)
	if err != nil {
		return nil, err
	}
	byProject := map[int64][]storedBlock{}
	for _, b := range blocks {
		byProject[b.project] = append(byProject[b.project], b)
	}
	for project, blocks := range byProject {
		search := blockSearch{project: project, names: []string{name}}
		if blocks, err = s.log.filterBlocks(ctx, s.db.Read, blocks, &search); err != nil {
			return nil, err
		}
		for _, b := range blocks {
			// Only the part of the range that this block had, because the block may have been
			// merged with the next one of the list.
			part := unit{max(b.first, u.first), min(b.last, u.last)}
			if err := s.log.eachMatch(ctx, s.db.Read, &search, part, 0, func(c *block.Columns, i int) { ids = append(ids, c.IDs[i]) }); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}
