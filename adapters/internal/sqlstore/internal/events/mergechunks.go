package events

import (
	"database/sql"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// smallChunk is the size below which chunks are merged.
const smallChunk = block.ChunkBytes / 2

// chunkMerge are chunks of a project to merge, which were stored after an id and up to another.
type chunkMerge struct{ project, after, upTo int64 }

// merge merges the small chunks that follow one another, and older chunks before them. An older chunk is merged only
// with at least half as many bytes of newer events, so that an event is rewritten a logarithmic number of times.
// It returns the number of bytes that it has merged. From about limit bytes on it ends with done false, and the chunks
// after the id m.after are still to be merged.
func (m *chunkMerge) merge(t *database.Tx, limit int) (merged int, done bool, err error) {
	runs, err := m.runs(t)
	if err != nil {
		return 0, false, err
	}
	for _, run := range runs {
		if merged >= limit {
			return merged, false, nil
		}
		n := 0
		for ; n < len(run) && (n < 2 || merged < limit); n++ {
			merged += run[n].size
		}
		if err := rewriteChunks(t, run[:n], nil); err != nil {
			return merged, false, err
		}
		if m.after = max(m.after, run[n-1].last); n < len(run) {
			return merged, false, nil
		}
	}
	return merged, true, nil
}

// runs returns the chunks to merge, of each run at least two, in order.
func (m *chunkMerge) runs(t *database.Tx) (runs [][]storedChunk, err error) {
	var run []storedChunk // from the last one to the first
	size := 0
	end := func() {
		if len(run) > 1 {
			slices.Reverse(run)
			runs = append(runs, run)
		}
		run, size = nil, 0
	}
	err = database.Query(t.Ctx, t.SQL, func(rows *sql.Rows) error {
		c := storedChunk{project: m.project}
		if err := rows.Scan(&c.first, &c.last, &c.size); err != nil {
			return err
		}
		isOld := c.last <= m.after
		switch {
		case isOld && (c.size >= smallChunk || c.size > 2*size):
			return database.ErrPageFull
		case c.size >= smallChunk:
			end()
		default:
			run, size = append(run, c), size+c.size
		}
		return nil
	}, `SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 AND first_id <= $2 AND first_id > `+sealedEnd+` ORDER BY first_id DESC`, m.project, m.upTo)
	if err != nil && !errors.Is(err, database.ErrPageFull) {
		return nil, err
	}
	end()
	slices.Reverse(runs)
	return runs, nil
}
