package events

import (
	"context"
	"database/sql"
	"fmt"
	"hash/maphash"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Count is a query for the number of stored events.
const Count = `SELECT (SELECT COALESCE(SUM(events), 0) FROM event_blocks) + (SELECT COALESCE(SUM(events), 0) FROM event_new_chunks)`

// checker compares the events of blocks with those of chunks.
type checker struct {
	limit   int
	faults  []string
	seed    maphash.Seed
	decoder chunkDecoder
}

// eventSum is the number of some events and the sum of their hashes, which does not depend on their
// order.
type eventSum struct {
	n   int
	sum uint64
}

// add adds decoded events of a project to a sum.
func (c *checker) add(s *eventSum, project int64) {
	short := &c.decoder.short
	for i := range short.IDs {
		s.n++
		s.sum += maphash.Comparable(c.seed, struct {
			project int64
			block.Event
		}{project, short.Event(i)})
	}
}

// CheckBlocks decodes all blocks and chunks, compares their events, and decodes the lists of duplicate
// keys. It returns descriptions of
// the damage, at most limit.
func CheckBlocks(ctx context.Context, q Source, limit int) (faults []string, err error) {
	c := checker{limit: limit, seed: maphash.MakeSeed()}
	inBlocks, err := c.blocks(ctx, q)
	if err != nil {
		return c.faults, err
	}
	inChunks, err := c.chunks(ctx, q)
	if err == nil && len(c.faults) == 0 && inBlocks != inChunks {
		c.faults = append(c.faults, fmt.Sprintf("the %d events in blocks are not the %d events in their chunks", inBlocks.n, inChunks.n))
	}
	if err == nil {
		err = c.segments(ctx, q)
	}
	if err == nil {
		err = c.keys(ctx, q)
	}
	return c.faults, err
}

// segments decodes all events in the files of segments and compares their numbers with the blocks.
// Without the folder it does not check them.
func (c *checker) segments(ctx context.Context, q Source) error {
	if q.Files == nil {
		return nil
	}
	list, err := listSegments(ctx, q, `TRUE`)
	if err != nil {
		return err
	}
	for i := range list {
		n, fault := c.events(ctx, q, &list[i])
		var listed int
		if err := q.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM event_blocks WHERE level = 16 AND project_id = $1 AND first_id >= $2 AND last_id <= $3`, list[i].project, list[i].first, list[i].last).Scan(&listed); err != nil {
			return err
		}
		if fault == nil && n != listed {
			fault = fmt.Errorf("the segment %s has %d events, and its blocks %d: %w", list[i].name, n, listed, block.ErrDamaged)
		}
		if fault == nil {
			continue
		}
		isListed, err := list[i].isListed(ctx, q) // a server may have replaced it meanwhile
		if err != nil {
			return err
		}
		if isListed {
			c.fault(fault)
		}
	}
	var lost int
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM event_blocks b WHERE level = 16 AND NOT EXISTS (SELECT 1 FROM event_segments s WHERE s.project_id = b.project_id AND s.first_id <= b.first_id AND s.last_id >= b.last_id)`).Scan(&lost)
	if err == nil && lost > 0 {
		c.fault(fmt.Errorf("%d blocks of events are in no segment: %w", lost, block.ErrDamaged))
	}
	return err
}

// events decodes all events of a segment and returns their number without the erased events.
func (c *checker) events(ctx context.Context, q Source, s *storedSegment) (n int, err error) {
	groups, err := groupsOf(q, s)
	if err != nil {
		return 0, err
	}
	for i := range groups {
		chunks, err := sealedChunks(q, s, groups[i], s.unit)
		if err != nil {
			return n, err
		}
		for j := range chunks {
			if err := ctx.Err(); err != nil {
				return n, err
			}
			if err := c.decoder.decode(&chunks[j]); err != nil {
				return n, err
			}
			for _, id := range c.decoder.short.IDs {
				if !s.erased[id] {
					n++
				}
			}
		}
	}
	return n, nil
}

// fault adds a description of damage.
func (c *checker) fault(err error) {
	if err != nil && len(c.faults) < c.limit {
		c.faults = append(c.faults, err.Error())
	}
}

// blocks checks the blocks.
func (c *checker) blocks(ctx context.Context, q Source) (all eventSum, err error) {
	short := &c.decoder.short
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var b encodedBlock
		var filter []byte
		if err := rows.Scan(&b.project, &b.first, &b.last, &b.events, &filter, &b.names, &b.people, &b.origins, &b.hashes); err != nil {
			return err
		}
		for _, column := range [...]*[]byte{&b.names, &b.people, &b.origins, &b.hashes} {
			if *column == nil { // it is missing, and no column is left out
				*column = []byte{}
			}
		}
		err := b.decode(short)
		if _, filterErr := block.DecodeFilter(filter); err == nil && filterErr != nil {
			err = b.wrap(filterErr)
		}
		if err == nil {
			if _, err = short.FindHashes(b.hashes, nil); err != nil {
				err = b.wrap(err)
			}
		}
		if err == nil && len(short.IDs) != b.events {
			err = b.wrap(block.ErrDamaged)
		}
		if err == nil {
			c.add(&all, b.project)
		}
		c.fault(err)
		return nil
	}, `SELECT b.project_id, b.first_id, b.last_id, b.events, f.filter, c.names, c.people, c.origins, h.hashes
		FROM event_blocks b LEFT JOIN event_filters f ON f.first_id = b.first_id LEFT JOIN event_columns c ON c.first_id = b.first_id
		LEFT JOIN event_hashes h ON h.first_id = b.first_id WHERE b.level < 16 ORDER BY b.first_id`)
	return all, err
}

// chunks checks the chunks, and returns the sum of those whose events are in blocks, without the
// chunks that are to be deleted because their events are in segments.
func (c *checker) chunks(ctx context.Context, q Source) (all eventSum, err error) {
	condition := `TRUE`
	if q.Files != nil {
		condition = unsealedChunk
	}
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var s storedChunk
		var events int
		var isNew bool
		if err := rows.Scan(&s.project, &s.first, &s.last, &events, &s.short, &s.data, &isNew); err != nil {
			return err
		}
		err := c.decoder.decode(&s)
		if ids := c.decoder.short.IDs; err == nil && (len(ids) != events || events == 0 || ids[0] != s.first || ids[len(ids)-1] != s.last) {
			err = s.wrap(block.ErrDamaged)
		}
		if err == nil && !isNew {
			c.add(&all, s.project)
		}
		c.fault(err)
		return nil
	}, `SELECT c.project_id, c.first_id, c.last_id, c.events, c.short, c.data, n.first_id IS NOT NULL
		FROM event_chunks c LEFT JOIN event_new_chunks n ON n.first_id = c.first_id AND n.last_id = c.last_id AND n.events = c.events WHERE `+condition+` ORDER BY c.first_id`)
	if err != nil {
		return all, err
	}
	var lost int
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM event_new_chunks n WHERE NOT EXISTS (SELECT 1 FROM event_chunks c WHERE c.first_id = n.first_id)`).Scan(&lost)
	if err == nil && lost > 0 {
		c.fault(fmt.Errorf("%d new chunks of events are missing: %w", lost, block.ErrDamaged))
	}
	return all, err
}

// keys decodes the lists of duplicate keys, which stores of an earlier schema do not have.
func (c *checker) keys(ctx context.Context, q Source) error {
	var exist bool
	err := q.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM places WHERE name = $1)`, database.PositionKeySecret).Scan(&exist)
	if err != nil || !exist {
		return err
	}
	var keys []block.StoredKey
	decode := func(data []byte) {
		var err error
		if keys, err = block.DecodeKeys(keys[:0], data); err != nil {
			c.fault(fmt.Errorf("duplicate keys: %w", err))
		}
	}
	listed, stored := 0, 0
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var n int
		var starts []byte
		if err := rows.Scan(&n, &starts); err != nil {
			return err
		}
		listed += n
		decode(starts)
		return nil
	}, `SELECT timely + late, starts FROM event_key_runs ORDER BY first_id`)
	if err != nil {
		return err
	}
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		decode(data)
		stored += len(keys)
		return nil
	}, `SELECT keys FROM event_key_pages ORDER BY id`)
	if err == nil && listed != stored {
		c.fault(fmt.Errorf("the lists of duplicate keys have %d keys, and their pages %d: %w", listed, stored, block.ErrDamaged))
	}
	return err
}
