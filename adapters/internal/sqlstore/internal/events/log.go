package events

import (
	"cmp"
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// Log has the positions of the stored events and maintains their blocks.
type Log struct {
	db *database.DB
	// files has the segments; nil if events are not sealed.
	files *segment.Folder
	// Last is the highest id that this process assigned to an event, Indexed an id up to which
	// the events are in blocks as far as this process knows.
	Last, Indexed atomic.Int64
	// NewChunks is about the number of chunks that this process added since its last call of Index
	// that built blocks.
	NewChunks atomic.Int64
	// BlockEvents is the approximate maximum number of events that one call of Index puts into blocks.
	BlockEvents int
	// KeyEvents is the number of events of a project without a list of duplicate keys from which a list
	// is made.
	KeyEvents int
	// KeyPages is the least number of pages of duplicate keys that one transaction moves to merge lists. Of long lists
	// it moves a 256th part, because it also stores the first keys of all their pages.
	KeyPages int
	// OlderEvents is the number of events of an earlier schema that one call of Convert converts.
	OlderEvents int
	// unmerged is true if there may be blocks to merge.
	unmerged atomic.Bool
	index    indexState
	// horizons is the state of Horizon.
	horizons horizons
	// removed are files of segments to remove, which removing guards.
	removing sync.Mutex
	removed  []removedFile
	// sealing is locked during Seal, which uses the following fields.
	sealing sync.Mutex
	// session has the lock for sealing while there is something to seal, and swept is the time of the
	// last sweep.
	session *database.Session
	swept   time.Time
	// listed are the projects whose sealed chunks may not be deleted yet; nil means all.
	listed []int64
	// isMerged is true if there are no segments to merge.
	isMerged bool
	// searched is when the last search for old events ended.
	searched time.Time
	pace     sealPace
	seal     Sealing
	// keys has the duplicate keys.
	keys keyIndex
	// older are the events of an earlier schema that are not converted; nil if all are. hasOlderKeys is true if the table
	// event_keys may have the duplicate keys of all events.
	older        atomic.Pointer[older]
	hasOlderKeys atomic.Bool
	// filters caches the filters of blocks.
	filters *filterCache
	// sealed caches the sealed blocks of projects.
	sealed *sealedLists
}

// keyRunEvents is the default of Log.KeyEvents.
const keyRunEvents = 1 << 14

// NewLog returns the log of a database, before start. Its caches have their shares of the memory.
func NewLog(db *database.DB, s Sealing, m memory.Shares) *Log {
	s.After = cmp.Or(s.After, sealedAfter)
	if s.Now == nil {
		s.Now = time.Now
	}
	l := &Log{db: db, files: s.Files, seal: s, filters: newFilterCache(int(m.BlockFilters)), sealed: newSealedLists(), BlockEvents: IndexChunk, KeyEvents: keyRunEvents, KeyPages: mergedKeyPages, OlderEvents: olderEvents, keys: keyIndex{filterBytes: [2]int{int(m.TimelyKeys), int(m.LateKeys)}, projects: map[int64]*projectKeys{}}}
	if l.files != nil {
		l.files.Replacement = l.replacement
	}
	return l
}

// lastID returns the last id that was assigned to an event: on SQLite to an event that is
// stored, on PostgreSQL to any.
func (l *Log) lastID(ctx context.Context, q database.Querier) (id int64, err error) {
	if l.db.Dialect.SingleWriter {
		return id, q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionEventID).Scan(&id)
	}
	return id, q.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_ids`).Scan(&id)
}

// NextIDs returns n new ids of events in ascending order. On SQLite they come from a
// counter in memory, because this process is the only writer; on PostgreSQL from a
// sequence.
func (l *Log) NextIDs(t *database.Tx, n int) ([]int64, error) {
	ids := make([]int64, 0, n)
	if l.db.Dialect.SingleWriter {
		last := l.Last.Add(int64(n))
		for id := last - int64(n) + 1; id <= last; id++ {
			ids = append(ids, id)
		}
		return ids, nil
	}
	err := t.Each(func(rows *sql.Rows) error {
		ids = append(ids, 0)
		return rows.Scan(&ids[len(ids)-1])
	}, `SELECT nextval('event_ids') FROM generate_series(1, $1::bigint)`, n)
	if n > 0 && err == nil {
		l.Last.Store(ids[n-1])
	}
	return ids, err
}
