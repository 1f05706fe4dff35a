package events

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// IndexChunk is the default of Log.BlockEvents. Smaller blocks are merged more often, and larger
	// ones delay a commit longer.
	IndexChunk = 8192
	// minIndexed is the number of ids from which Index builds blocks when the server is
	// idle. The chunks of fewer events are read as fast.
	minIndexed = 64
	// maxNewChunks is the number of new chunks from which Index builds blocks however few events
	// they have, because decoding each takes about a microsecond.
	maxNewChunks = 256
)

// indexState is the state of Index, during which mu is locked.
type indexState struct {
	mu sync.Mutex
	// chunks are to be merged before further blocks are built, by project.
	chunks []chunkMerge
	// merging is the merge of blocks that is being prepared, or nil.
	merging *blockMerge
}

// Index puts the events of the oldest new chunks, about 8,192, into blocks, or merges small
// chunks or blocks, in a transaction of its own, and reports whether there is more
// to do. Unless idle is true it waits until there are that many events, or many chunks. It also makes
// lists of the duplicate keys of many events. On PostgreSQL it does nothing while another server does
// it.
func (l *Log) Index(ctx context.Context, idle bool) (more bool, err error) {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	more, err = l.indexEvents(ctx, idle)
	if err == nil {
		var moreKeys bool
		moreKeys, err = l.listKeys(ctx)
		more = more || moreKeys
	}
	return more && err == nil, err
}

// indexEvents implements Index without the keys.
func (l *Log) indexEvents(ctx context.Context, idle bool) (more bool, err error) {
	if len(l.index.chunks) > 0 {
		if err := l.mergeChunks(ctx); err != nil || len(l.index.chunks) > 0 {
			return err == nil, err
		}
	}
	waiting := l.Last.Load() - l.Indexed.Load()
	if waiting < int64(l.BlockEvents) && l.NewChunks.Load() < maxNewChunks && (!idle || waiting < minIndexed) {
		if l.unmerged.Load() {
			err = l.mergeStep(ctx, idle)
		}
		return err == nil && l.unmerged.Load() || !idle && waiting >= minIndexed, err
	}
	var upTo int64
	var merges []chunkMerge
	l.NewChunks.Store(0) // chunks that remain are among the next events
	err = l.inBlocks(ctx, func(t *database.Tx) (err error) {
		upTo, merges, err = l.buildNext(t)
		return err
	})
	if upTo == 0 || err != nil {
		return false, err
	}
	l.index.chunks = merges
	l.Indexed.Store(upTo) // after the commit
	l.unmerged.Store(true)
	return true, nil
}

// mergeStep merges blocks. On SQLite, where a transaction that writes holds up all commits, many events are read and
// encoded by another goroutine and only stored in a transaction. If idle is true, mergeStep waits for it.
func (l *Log) mergeStep(ctx context.Context, idle bool) error {
	if m := l.index.merging; m != nil {
		if !idle && !m.isDone() {
			return nil
		}
		<-m.done
		l.index.merging = nil
		if m.err != nil {
			return m.err
		}
		return l.inBlocks(ctx, m.store)
	}
	var large *blockMerge
	err := l.inBlocks(ctx, func(t *database.Tx) (err error) {
		large, err = l.mergeBlocks(t, idle || !l.db.Dialect.SingleWriter)
		return err
	})
	if err == nil && large != nil {
		l.index.merging = large
		go large.prepare(ctx, l.Source())
	}
	return err
}

// lockTimeout limits waiting for the lock of a project, because a server that hangs may hold
// it, and this one should not delay the commits of other projects.
const lockTimeout = `SET LOCAL lock_timeout = '200ms'`

// blocksLock is the key of the advisory lock for building and merging blocks.
const blocksLock int64 = 0x42554e51 << 32

// inBlocks runs work in a transaction that may change blocks. It does nothing while another
// server is in such a transaction.
func (l *Log) inBlocks(ctx context.Context, work func(t *database.Tx) error) error {
	t := l.db.NewTx(ctx, nil)
	err := l.db.InWrite(ctx, func(tx *sql.Tx) (err error) {
		t.SQL = tx
		if !l.db.Dialect.SingleWriter {
			if _, err := tx.ExecContext(ctx, lockTimeout); err != nil {
				return err
			}
		}
		if locked, err := l.tryLock(ctx, tx, blocksLock); err != nil || !locked {
			return err
		}
		return work(&t)
	})
	return database.WrapError("blocks of events", err)
}

// tryLock acquires an advisory lock for the transaction unless another server holds it.
func (l *Log) tryLock(ctx context.Context, tx database.Querier, key int64) (locked bool, err error) {
	if l.db.Dialect.SingleWriter {
		return true, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&locked)
	return locked, err
}

// buildNext puts the events of the oldest new chunks of all projects into blocks. It returns the
// id up to which this process need not do that again, and the chunks to merge.
func (l *Log) buildNext(t *database.Tx) (upTo int64, merges []chunkMerge, err error) {
	upTo = l.Last.Load() // read before the chunks, of which other transactions may add more
	list, err := listBlocks(t.Ctx, t.SQL, `SELECT project_id, first_id, last_id, 0, events, 0, 0 FROM event_new_chunks ORDER BY first_id LIMIT $1`, l.BlockEvents+1)
	if err != nil {
		return 0, nil, err
	}
	ends := map[int64]int64{} // the last chunk by project
	events := 0
	for _, c := range list {
		if events > 0 && events+c.events > l.BlockEvents {
			upTo = c.first - 1
			break
		}
		events += c.events
		ends[c.project] = c.first
	}
	projects := slices.Sorted(maps.Keys(ends))
	// Other transactions must not erase the events meanwhile.
	if err := l.db.LockProjects(t.Ctx, t.SQL, projects); err != nil {
		return 0, nil, err
	}
	for _, project := range projects {
		m, err := putInBlocks(t, project, ends[project])
		if err != nil {
			return 0, nil, err
		}
		merges = append(merges, m)
	}
	return upTo, merges, nil
}

// allChunks is an id that no chunk reaches.
const allChunks = math.MaxInt64

// mergedBytes is the approximate number of bytes of chunks that one transaction merges while commits wait for it.
const mergedBytes = 1 << 20

// mergeChunks merges the next of the chunks in l.index. After an error, or if another server does so, they are merged with
// later chunks of their projects.
func (l *Log) mergeChunks(ctx context.Context) error {
	list := l.index.chunks
	l.index.chunks = nil
	return l.inBlocks(ctx, func(t *database.Tx) error {
		bytes := 0
		for i := range list {
			if err := l.db.LockProjects(t.Ctx, t.SQL, []int64{list[i].project}); err != nil {
				return err
			}
			n, done, err := list[i].merge(t, mergedBytes-bytes)
			if err != nil {
				return err
			}
			if bytes += n; !done {
				l.index.chunks = list[i:]
				return nil
			}
		}
		return nil
	})
}

// buildBlocks puts the events of the new chunks of a project, whose lock the transaction holds, into blocks, and merges
// small chunks. upTo is the greatest first id of these chunks.
func buildBlocks(t *database.Tx, project, upTo int64) error {
	m, err := putInBlocks(t, project, upTo)
	if err == nil {
		_, _, err = m.merge(t, math.MaxInt)
	}
	return err
}

// putInBlocks puts the events of the new chunks of a project, whose lock the transaction holds, into a block, or into
// several if there are very many, and returns the chunks to merge. upTo is the greatest first id of these chunks.
//
// The ids of a project ascend in the order of its commits, so that blocks never overlap.
func putInBlocks(t *database.Tx, project, upTo int64) (m chunkMerge, err error) {
	chunks, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last, &c.short}
	}, `SELECT n.first_id, n.last_id, (SELECT c.short FROM event_chunks c WHERE c.first_id = n.first_id) FROM event_new_chunks n
		WHERE n.project_id = $1 AND n.first_id <= $2 ORDER BY n.first_id`, project, upTo)
	if err != nil || len(chunks) == 0 {
		return m, err
	}
	var w block.Writer
	var c block.Columns
	for i := range chunks {
		if err := chunks[i].decodeShort(&c); err != nil {
			return m, err
		}
		if w.Bounds().Events+len(c.IDs) > block.MaxEvents {
			if err := insertBlock(t, project, 0, &w); err != nil {
				return m, err
			}
			w.Reset()
		}
		w.AddAll(&c, nil)
	}
	if err := insertBlock(t, project, 0, &w); err != nil {
		return m, err
	}
	first, last := chunks[0].first, chunks[len(chunks)-1].last
	if _, err := t.Exec(`DELETE FROM event_new_chunks WHERE project_id = $1 AND first_id <= $2`, project, last); err != nil {
		return m, fmt.Errorf("events %d to %d: %w", first, last, err)
	}
	return chunkMerge{project, first - 1, last}, nil
}
