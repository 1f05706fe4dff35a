package events

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// Sealing configures how events are written into segments. The zero value does not seal events.
type Sealing struct {
	// Files is the folder of the segments; nil if events are not sealed.
	Files *segment.Folder
	// MinBlocks is the number of full blocks of a project from which they are sealed. Zero means 8.
	MinBlocks int
	// Any is true if all blocks count as full.
	Any bool
	// After is the age of a project's oldest event that is in no segment from which all events of the
	// project are sealed, however few there are. Zero means a day.
	After time.Duration
	// MergeFrom is the number of small segments of a project that follow one another from which they
	// are merged. Zero means 8.
	MergeFrom int
	// DeleteBytes is the maximum size, before compression, of the chunks that one transaction deletes
	// after their events are in a segment, unless it is one chunk. Intake waits meanwhile. Zero means 4
	// MiB.
	DeleteBytes int
	// RemoveAfter is the time from the replacement or deletion of a file until it is removed,
	// because readers may have found it. Readers that are later find the file that has replaced it.
	RemoveAfter time.Duration
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
}

const (
	// minSealed is the default of Sealing.MinBlocks, sealedAfter that of Sealing.After.
	minSealed   = 8
	sealedAfter = 24 * time.Hour
	// deleteBytes is the default of Sealing.DeleteBytes.
	deleteBytes = 4 << 20
	// searches is the number of searches for old events in the time Sealing.After.
	searches = 144
	// maxSealed is the number of events from which a segment ends with the next full block.
	maxSealed = 1 << 17
	// maxListed is the maximum number of blocks in a segment. Fewer than eight blocks of each level
	// precede a full one.
	maxListed = 1024
	// behind is the number of events of a project that wait to be sealed from which pauses are shorter.
	behind = 4 * maxSealed
)

// errChanged means that events were erased, or blocks merged, while they were written into a
// segment.
var errChanged = errors.New("events were changed meanwhile")

// Seal does one step of sealing, and reports whether there is more to do: it writes the oldest full
// blocks of a project, or all blocks of a project with old events, into a segment, deletes a part of
// the columns and chunks of such blocks from the database, rewrites a segment without its erased
// events, or merges small segments.
//
// A segment is written to a file first, which is synced, and then listed in a transaction. From then
// on the events are read from the file. Of several servers one seals at a time: the error is ErrSealing
// while another one does it. While events of an earlier schema are converted, none are sealed.
func (l *Log) Seal(ctx context.Context) (more bool, err error) {
	if l.files == nil || l.IsConverting() {
		return false, nil
	}
	l.sealing.Lock()
	defer l.sealing.Unlock()
	l.removeFiles()
	if err := l.startSealing(ctx); err != nil {
		return false, database.WrapError("segments of events", err)
	}
	defer func() {
		if !more || err != nil {
			l.endSealing()
		}
	}()
	for _, step := range [...]func(context.Context) (bool, error){l.deleteListed, l.sealFull, l.sealOld, l.rewriteErased, l.mergeSegments} {
		if more, err = step(ctx); more || err != nil {
			break
		}
	}
	if errors.Is(err, errChanged) {
		return false, nil // the next call retries
	}
	return more, database.WrapError("segments of events", err)
}

// fullBlocks returns the condition for blocks that count as full.
func (l *Log) fullBlocks() string {
	if l.seal.Any {
		return `level < 16`
	}
	return `level = 15`
}

// Unsealed returns the number of events that Seal will write into segments because there are enough of
// them.
func (l *Log) Unsealed(ctx context.Context) (n int64, err error) {
	err = l.db.Quick.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM (
		SELECT SUM(events) AS n FROM event_blocks WHERE `+l.fullBlocks()+` GROUP BY project_id HAVING COUNT(*) >= $1) AS full_blocks`, cmp.Or(l.seal.MinBlocks, minSealed)).Scan(&n)
	return n, err
}

// sealFull seals the full blocks of one project that has enough of them, with the blocks before, and
// reports whether it has found any.
func (l *Log) sealFull(ctx context.Context) (bool, error) {
	projects, err := database.Column[int64](ctx, l.db.Read, `SELECT project_id FROM event_blocks WHERE `+l.fullBlocks()+`
		GROUP BY project_id HAVING COUNT(*) >= $1 ORDER BY project_id LIMIT 1`, cmp.Or(l.seal.MinBlocks, minSealed))
	if err != nil || len(projects) == 0 {
		return false, err
	}
	return l.sealProject(ctx, projects[0], l.seal.Any)
}

// sealProject writes the oldest blocks of a project that are in no segment into a segment: up to a full
// one, or if all is true up to any. It reports whether there are such blocks.
func (l *Log) sealProject(ctx context.Context, project int64, all bool) (bool, error) {
	blocks, err := l.oldestBlocks(ctx, project, all)
	if err != nil || len(blocks) == 0 {
		return false, err
	}
	if err := l.listAllKeys(ctx, project); err != nil {
		return false, err
	}
	w := segmentWriter{log: l, segment: storedSegment{project: project, unit: unit{blocks[0].first, blocks[len(blocks)-1].last}, generation: 1}, blocks: blocks}
	if err := w.write(ctx); err != nil {
		return false, err
	}
	if err := w.commit(ctx, w.list); err != nil {
		return false, err
	}
	l.listed = append(l.listed, project)
	return true, nil
}

// oldestBlocks returns the oldest blocks of a project that are in no segment, up to a full one, or if
// any is true up to any.
func (l *Log) oldestBlocks(ctx context.Context, project int64, all bool) ([]storedBlock, error) {
	blocks, err := listBlocks(ctx, l.db.Read, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id > `+sealedEnd+` ORDER BY first_id LIMIT $2`, project, maxListed)
	waiting := 0
	for i := range blocks {
		waiting += blocks[i].events
	}
	l.pace.isBehind = waiting >= behind
	n, events := 0, 0
	for i := 0; i < len(blocks) && (n == 0 || events < maxSealed); i++ {
		events += blocks[i].events
		if all || blocks[i].level == fullLevel {
			n = i + 1
		}
	}
	return blocks[:n], err
}

// sealOld seals the blocks of one project whose oldest event that is in no segment arrived too long
// ago, and reports whether it has found such a project. It searches for them after each part of the time Sealing.After.
func (l *Log) sealOld(ctx context.Context) (bool, error) {
	now := l.seal.Now()
	if since := now.Sub(l.searched); since >= 0 && since < l.seal.After/searches {
		return false, nil
	}
	before := database.Micros(now.Add(-l.seal.After))
	for project := int64(0); ; {
		next, err := database.Column[int64](ctx, l.db.Read, `SELECT project_id FROM event_chunks WHERE project_id > $1 ORDER BY project_id LIMIT 1`, project)
		if err != nil {
			return false, err
		}
		if len(next) == 0 {
			break
		}
		project = next[0]
		isOld, err := l.hasOld(ctx, project, before)
		if err == nil && isOld {
			err = l.buildRest(ctx, project)
		}
		if err == nil && isOld {
			isOld, err = l.sealProject(ctx, project, true)
		}
		if err != nil || isOld {
			return isOld, err
		}
	}
	l.searched = now
	return false, nil
}

// hasOld reports whether the oldest event of a project that is in no segment arrived before a time.
func (l *Log) hasOld(ctx context.Context, project, before int64) (bool, error) {
	oldest, err := database.List(ctx, l.db.Read, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last, &c.short}
	}, `SELECT first_id, last_id, short FROM event_chunks WHERE project_id = $1 AND first_id > `+sealedEnd+` ORDER BY first_id LIMIT 1`, project)
	if err != nil || len(oldest) == 0 {
		return false, err
	}
	var short block.Columns
	err = oldest[0].decodeShort(&short)
	return err == nil && len(short.Arrived) > 0 && short.Arrived[0] <= before, err
}

// buildRest puts the events of a project that are in no block into blocks, unless they are so many
// that Index will do it soon.
func (l *Log) buildRest(ctx context.Context, project int64) error {
	var events int
	err := l.db.Read.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM event_new_chunks WHERE project_id = $1`, project).Scan(&events)
	if err != nil || events == 0 || events > 2*l.BlockEvents {
		return err
	}
	return l.inSealing(ctx, func(t *database.Tx) error {
		if err := l.db.LockProjects(t.Ctx, t.SQL, []int64{project}); err != nil {
			return err
		}
		return buildBlocks(t, project, allChunks)
	})
}
