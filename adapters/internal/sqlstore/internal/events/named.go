package events

import (
	"cmp"
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

// NamedEvent identifies an event.
type NamedEvent struct{ Project, ID int64 }

// NamedAfter returns the next events with a name, of all projects and in the order of their ids:
// with after < id <= upTo and at most limit. It also returns the id up to which it has searched,
// which may be less than upTo.
func (s *Reader) NamedAfter(ctx context.Context, name string, after, upTo int64, limit int) (events []NamedEvent, last int64, err error) {
	last = after
	for windows := 0; last < upTo && len(events) < limit && windows < namedWindows; windows++ {
		to := min(last+namedWindow, upTo)
		found, err := s.namedIn(ctx, name, unit{last + 1, to})
		if err != nil {
			return nil, after, err
		}
		slices.SortFunc(found, func(a, b NamedEvent) int { return cmp.Compare(a.ID, b.ID) })
		last = to
		if events = append(events, found...); len(events) >= limit {
			events = events[:limit]
			last = events[limit-1].ID
		}
	}
	return events, last, nil
}

// namedIn returns the events with a name in a range of ids.
func (s *Reader) namedIn(ctx context.Context, name string, u unit) (events []NamedEvent, err error) {
	blocks, err := blocksOfAll(ctx, s.db.Read, u)
	if err != nil {
		return nil, err
	}
	byProject := map[int64][]storedBlock{}
	for _, b := range blocks {
		byProject[b.project] = append(byProject[b.project], b)
	}
	for project, blocks := range byProject {
		search := blockSearch{project: project, names: []string{name}}
		if blocks, err = s.log.filterBlocks(ctx, s.log.Source(), blocks, &search); err != nil {
			return nil, err
		}
		for _, b := range blocks {
			// Only the part of the range that this block had, because the block may have been
			// merged with the next one of the list.
			part := unit{max(b.first, u.first), min(b.last, u.last)}
			if err := s.log.eachMatch(ctx, s.log.Source(), &search, part, 0, func(c *block.Columns, i int) {
				events = append(events, NamedEvent{project, c.IDs[i]})
			}); err != nil {
				return nil, err
			}
		}
	}
	return events, nil
}

// blocksOfAll returns the blocks of all projects that overlap a range of ids, and for each project
// the range of its new chunks.
func blocksOfAll(ctx context.Context, q database.Querier, u unit) ([]storedBlock, error) {
	return listBlocks(ctx, q, `SELECT `+blockFields+` FROM event_blocks WHERE last_id >= $1 AND first_id <= $2
		UNION ALL SELECT `+newFields+` FROM event_new_chunks WHERE last_id >= $1 AND first_id <= $2 GROUP BY project_id`, u.first, u.last)
}
