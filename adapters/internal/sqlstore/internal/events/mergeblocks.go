package events

import (
	"cmp"
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// mergedBlocks is the number of blocks of a level from which they are merged.
	mergedBlocks = 8
	// mergeLists is the maximum number of projects and levels that are merged in one
	// transaction, as long as their events are fewer than those of one full block.
	mergeLists = 64
	// mergedAtOnce is the number of events up to which blocks are merged in a transaction that holds up commits.
	mergedAtOnce = 8192
)

// mergeBlocks merges blocks of one level, where a project has enough of them, and clears
// l.unmerged if there are no more. Unless large is true, a merge of many events is returned instead.
func (l *Log) mergeBlocks(t *database.Tx, large bool) (next *blockMerge, err error) {
	type list struct{ level, project int64 }
	lists, err := database.List(t.Ctx, t.SQL, func(x *list) []any { return []any{&x.level, &x.project} },
		`SELECT level, project_id FROM event_blocks WHERE level < 15 GROUP BY level, project_id HAVING COUNT(*) >= $1 LIMIT $2`, mergedBlocks, mergeLists)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(lists, func(a, b list) int { return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.level, b.level)) }) // the order of locks
	l.unmerged.Store(len(lists) > 0)
	events, most := 0, block.MaxEvents
	if !large {
		most = mergedAtOnce
	}
	for _, x := range lists {
		if err := l.db.LockProjects(t.Ctx, t.SQL, []int64{x.project}); err != nil {
			return nil, err
		}
		m, err := dueMerge(t, x.project, x.level)
		if err != nil {
			return nil, err
		}
		if !large && m.events > mergedAtOnce {
			return m, nil
		}
		if len(m.blocks) > 0 {
			if err := l.rewriteBlocks(t, x.project, m.unit(), m.level, nil); err != nil {
				return nil, err
			}
		}
		if events += m.events; events >= most {
			break
		}
	}
	return nil, nil
}

// blockMerge is a merge of blocks of a project that follow one another.
type blockMerge struct {
	project int64
	level   int // of the merged block
	// blocks are replaced by the merged block, and events is the number of their events.
	blocks []storedBlock
	events int
	// merged is the merged block, or err why there is none, after done is closed.
	merged *newBlock
	err    error
	done   chan struct{}
}

// dueMerge returns the merge of the first blocks of a level of a project. Blocks of lower levels between them are
// merged too. It has no blocks if there is nothing to merge.
func dueMerge(t *database.Tx, project, level int64) (*blockMerge, error) {
	m := &blockMerge{project: project, level: int(level) + 1, done: make(chan struct{})}
	blocks, err := listBlocks(t.Ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks
		WHERE project_id = $1 AND first_id >= (SELECT MIN(first_id) FROM event_blocks WHERE project_id = $1 AND level = $2) ORDER BY first_id LIMIT $3`, project, level, 4*mergedBlocks)
	if err != nil || len(blocks) == 0 { // erased meanwhile
		return m, err
	}
	n := 0
	for ; n < len(blocks) && int64(blocks[n].level) <= level && m.events+blocks[n].events <= block.MaxEvents; n++ {
		m.events += blocks[n].events
	}
	if n < 2 { // the next block has too many events
		_, err := t.Exec(`UPDATE event_blocks SET level = $3 WHERE project_id = $1 AND first_id = $2`, project, blocks[0].first, fullLevel)
		m.events = 0
		return m, err
	}
	m.blocks = blocks[:n]
	return m, nil
}

// unit returns the range of the ids of the blocks.
func (m *blockMerge) unit() unit { return unit{m.blocks[0].first, m.blocks[len(m.blocks)-1].last} }

// isDone reports whether prepare has ended.
func (m *blockMerge) isDone() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// prepare reads the blocks and encodes the merged block.
func (m *blockMerge) prepare(ctx context.Context, q Source) {
	defer close(m.done)
	blocks, err := readBlocks(ctx, q, m.project, m.unit(), withPeople|withOrigins)
	if err != nil {
		m.err = err
		return
	}
	var w block.Writer
	var c block.Columns
	for i := range blocks {
		if m.err = blocks[i].decode(&c); m.err != nil {
			return
		}
		w.AddAll(&c, nil)
	}
	if w.Bounds().Events > 0 {
		m.merged = encodeBlock(&w)
	}
}

// store replaces the blocks by the merged block. It has no effect if they were changed since they were listed: events
// were erased, or they are in a segment now. Blocks get fewer events whenever their contents change.
func (m *blockMerge) store(t *database.Tx) error {
	u := m.unit()
	blocks, err := listBlocks(t.Ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks
		WHERE project_id = $1 AND first_id >= $2 AND first_id <= $3 ORDER BY first_id`, m.project, u.first, u.last)
	if err != nil || m.merged == nil || m.merged.Events != m.events || !slices.Equal(blocks, m.blocks) {
		return err
	}
	for i := range blocks {
		if err := deleteBlock(t, &blocks[i]); err != nil {
			return err
		}
	}
	return m.merged.insert(t, m.project, m.level)
}
