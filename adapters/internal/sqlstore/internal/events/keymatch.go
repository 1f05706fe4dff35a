package events

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
)

// candidates are events of a project that may have keys, in the order of their ids. isNew is cleared
// for the keys that one of them has.
type candidates struct {
	project int64
	list    []*candidate // to compare
	keys    []capture.EventKey
	isNew   []bool
}

// newCandidates returns candidates to compare, whose results are set in found.
func newCandidates(project int64, found []candidate, keys []capture.EventKey, isNew []bool) *candidates {
	c := &candidates{project, make([]*candidate, len(found)), keys, isNew}
	for i := range found {
		c.list[i] = &found[i]
	}
	slices.SortFunc(c.list, func(a, b *candidate) int { return cmp.Compare(a.id, b.id) })
	return c
}

// setResult sets the result of comparing a candidate.
func (c *candidates) setResult(f *candidate, same bool) {
	if f.result = isDifferent; same {
		f.result = isSame
		c.isNew[f.index] = false
	}
}

// fewCandidates is the maximum number of candidates in a block for which only chunks of the block are
// read, instead of its columns. Chunks are also read if all candidates are in a quarter of the block.
const fewCandidates = 32

// cut removes and returns the candidates with ids up to last.
func (c *candidates) cut(last int64) []*candidate {
	n, _ := slices.BinarySearchFunc(c.list, last, func(f *candidate, last int64) int {
		if f.id <= last {
			return -1
		}
		return 1
	})
	part := c.list[:n]
	c.list = c.list[n:]
	return part
}

// check compares the candidates. An event that was erased has no key any more. A block, a chunk or a
// page of a segment is decoded a single time, for all its candidates. Without the lock of the project,
// events may not be found because they are sealed meanwhile.
func (c *candidates) check(ctx context.Context, q Source) error {
	if len(c.list) == 0 {
		return nil
	}
	if q.Files != nil {
		var end int64
		if err := q.QueryRowContext(ctx, `SELECT `+sealedEnd, c.project).Scan(&end); err != nil {
			return err
		}
		sealed := *c
		sealed.list = c.cut(end)
		if err := sealed.checkSegments(ctx, q); err != nil {
			return err
		}
	}
	if err := c.checkBlocks(ctx, q); err != nil {
		return err
	}
	return c.checkChunks(ctx, q)
}

// checkSegments implements check for events in segments.
func (c *candidates) checkSegments(ctx context.Context, q Source) error {
	if len(c.list) == 0 {
		return nil
	}
	segments, err := q.segments(ctx, c.project, unit{c.list[0].id, c.list[len(c.list)-1].id})
	for i := range segments {
		s := &segments[i]
		c.cut(s.first - 1)
		in := *c
		if in.list = c.cut(s.last); len(in.list) > 0 && err == nil {
			err = in.checkSegment(ctx, q, s)
		}
	}
	return err
}

// checkSegment implements check for the events of one segment.
func (c *candidates) checkSegment(ctx context.Context, q Source, s *storedSegment) error {
	all := c.list
	return withFile(q.Files, s.name, func(file *segment.File) error {
		c.list = all
		for i, g := range file.Groups() {
			found := c.cut(g.LastID)
			if len(found) == 0 {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := c.checkGroup(file.Rows(i), found, s.erased); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkGroup implements check for the events of a group of a segment.
func (c *candidates) checkGroup(rows *segment.Rows, found []*candidate, erased map[int64]bool) error {
	defer func() { _ = rows.Close() }()
	for _, f := range found {
		if !c.isNew[f.index] {
			continue
		}
		same := false
		if !erased[f.id] {
			var err error
			if same, err = rows.HasKey(f.id, &c.keys[f.index]); err != nil {
				return err
			}
		}
		c.setResult(f, same)
	}
	return nil
}

// checkBlocks implements check for the blocks that have many of the events, far from each other, and
// leaves the other candidates.
func (c *candidates) checkBlocks(ctx context.Context, q Source) error {
	if len(c.list) <= fewCandidates {
		return nil
	}
	blocks, err := database.List(ctx, q, func(u *unit) []any { return []any{&u.first, &u.last} },
		`SELECT b.first_id, b.last_id FROM event_blocks b WHERE b.project_id = $1 AND b.`+fromBlock+` AND b.last_id >= $2 AND b.first_id <= $3 ORDER BY b.first_id`,
		c.project, c.list[0].id, c.list[len(c.list)-1].id)
	if err != nil {
		return err
	}
	var d blockDecoder
	rest := make([]*candidate, 0, len(c.list))
	for _, u := range blocks {
		rest = append(rest, c.cut(u.first-1)...)
		found := c.cut(u.last)
		if len(found) <= fewCandidates || found[len(found)-1].id-found[0].id < (u.last-u.first)/4 {
			rest = append(rest, found...)
			continue
		}
		read, err := readBlocks(ctx, q, c.project, u, withPeople|withOrigins)
		if err != nil {
			return err
		}
		err = d.each(read, func(_ *encodedBlock, columns *block.Columns, _ int) error {
			c.match(columns, found)
			return nil
		})
		if err != nil {
			return err
		}
	}
	c.list = append(rest, c.list...)
	return nil
}

// chunkCandidates is the maximum number of candidates whose chunks are read by one statement.
const chunkCandidates = 256

// checkChunks implements check for events that are in no segment.
func (c *candidates) checkChunks(ctx context.Context, q Source) error {
	var columns block.Columns
	for len(c.list) > 0 {
		batch := c.list[:min(len(c.list), chunkCandidates)]
		err := database.Query(ctx, q, func(rows *sql.Rows) error {
			s := storedChunk{project: c.project}
			err := rows.Scan(&s.first, &s.last, &s.short)
			if err == nil {
				err = s.decodeShort(&columns)
			}
			if err == nil {
				c.cut(s.first - 1)
				c.match(&columns, c.cut(s.last)) // also after the batch
			}
			return err
		}, `WITH v (id) AS (VALUES (`+strings.ReplaceAll(database.JoinNumbers(batch, func(f *candidate) int64 { return f.id }), ", ", "), (")+`))
			SELECT first_id, last_id, short FROM event_chunks WHERE first_id IN
				(SELECT (SELECT MAX(c.first_id) FROM event_chunks c WHERE c.project_id = $1 AND c.first_id <= v.id) FROM v)
			ORDER BY first_id`, c.project)
		if err != nil {
			return err
		}
		c.cut(batch[len(batch)-1].id)
	}
	return nil
}

// match compares candidates with decoded events, which are all of a range of ids that has theirs.
func (c *candidates) match(columns *block.Columns, found []*candidate) {
	for _, f := range found {
		if !c.isNew[f.index] {
			continue
		}
		same := false
		if i, ok := slices.BinarySearch(columns.IDs, f.id); ok {
			e, k := columns.Event(i), &c.keys[f.index]
			same = e.UUID == k.UUID && e.Name == k.Name && e.DistinctID == k.DistinctID
		}
		c.setResult(f, same)
	}
}
