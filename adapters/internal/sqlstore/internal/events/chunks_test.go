package events

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// eachDatabase runs a test on SQLite and on PostgreSQL.
func eachDatabase(t *testing.T, test func(t *testing.T, db *database.DB)) {
	for name, open := range map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") },
		"postgres": pgtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			db, err := database.Open(t.Context(), open(t))
			if err == nil {
				err = Migrate(t.Context(), db, slog.New(slog.DiscardHandler))
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			test(t, db)
		})
	}
}

// inTx runs work in a transaction.
func inTx(t *testing.T, db *database.DB, work func(tx *database.Tx) error) {
	t.Helper()
	tx := db.NewTx(t.Context(), nil)
	err := db.InWrite(t.Context(), func(sql *sql.Tx) error {
		tx.SQL = sql
		return work(&tx)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// longOf are the long columns of the events of these tests, of which the properties have a length.
func longOf(id int64, length int) LongColumns {
	return LongColumns{fmt.Sprint("a:", id), fmt.Sprintf(`{"n":%d,"text":"%s"}`, id, strings.Repeat("x", length)), fmt.Sprintf(`{"plan":%d}`, id%3)}
}

// saveLong stores the long columns of events of a project in one transaction.
func saveLong(t *testing.T, db *database.DB, project, first int64, n, length int) {
	t.Helper()
	inTx(t, db, func(tx *database.Tx) error {
		list := make([]capture.Record, n)
		for i := range list {
			id := first + int64(i)
			c := longOf(id, length)
			list[i] = capture.Record{ID: id, ProjectID: project, ElementsChain: c.Elements, Properties: c.Properties, PersonProperties: c.Person}
		}
		_, err := Save(tx, list)
		return err
	})
}

// chunksOf returns the chunks of a project without their data.
func chunksOf(t *testing.T, db *database.DB, project int64) []storedChunk {
	t.Helper()
	found, err := database.List(t.Context(), db.Read, func(c *storedChunk) []any { return []any{&c.first, &c.last, &c.size} },
		`SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 ORDER BY first_id`, project)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// readAll reads events in order and compares them.
func readAll(t *testing.T, db *database.DB, r *Chunks, project, first, last, upTo int64, length int) {
	t.Helper()
	for id := first; id <= last; id++ {
		c, ok, err := r.Long(t.Context(), Source{Querier: db.Read}, project, id, upTo)
		if err != nil || !ok || c != longOf(id, length) {
			t.Fatalf("event %d: %.80v %t %v", id, c, ok, err)
		}
	}
}

// Events that arrive one by one are in a few chunks afterwards, however many there are at a time;
// no chunk is longer than the limit.
func TestChunks_Merge(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database.DB) {
		const events, length = 300, 1500
		for project, step := range map[int64]int64{1: 100, 2: 1} {
			for id := project * 10_000; id < project*10_000+events; id++ {
				saveLong(t, db, project, id, 1, length)
				if after := id - step; (id+1)%step == 0 {
					for m, done := (chunkMerge{project, after, id}), false; !done; {
						inTx(t, db, func(tx *database.Tx) (err error) {
							_, done, err = m.merge(tx, block.ChunkBytes)
							return err
						})
					}
				}
			}
			total, found := 0, chunksOf(t, db, project)
			for _, c := range found {
				total += c.size
				if c.size > block.ChunkBytes {
					t.Errorf("a chunk of %d bytes", c.size)
				}
			}
			// At most ten chunks are less than half full, because each of these is longer than twice
			// the chunks after it.
			if most := 2*total/block.ChunkBytes + 10; len(found) > most {
				t.Errorf("%d bytes are in %d chunks, want at most %d", total, len(found), most)
			}
			var r Chunks
			readAll(t, db, &r, project, project*10_000, project*10_000+events-1, 1<<40, length)
		}
	})
}

// A reader has at most PieceBytes and one chunk in memory, also of many events that are long, and
// reads one chunk for one event.
func TestChunks_Bounds(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database.DB) {
		const events, length = 40, 500_000
		for id := int64(1); id <= events; id++ {
			saveLong(t, db, 1, id, 1, length)
		}
		held := func(r *Chunks) (bytes int) {
			for i := range r.chunks {
				bytes += r.chunks[i].size
			}
			return bytes
		}
		var r Chunks
		for id := int64(1); id <= events; id++ {
			readAll(t, db, &r, 1, id, id, events, length)
			if n := held(&r); n > database.PieceBytes+length+100 {
				t.Fatalf("%d bytes at event %d", n, id)
			}
		}
		if r.bytes < events*length || r.bytes > events*(length+100) {
			t.Errorf("%d bytes were decoded", r.bytes)
		}
		r = Chunks{}
		readAll(t, db, &r, 1, 7, 7, 0, length)
		if len(r.chunks) != 1 {
			t.Errorf("%d chunks for one event", len(r.chunks))
		}
		for _, id := range []int64{events + 1, 0} {
			if c, ok, err := r.Long(t.Context(), Source{Querier: db.Read}, 1, id, 0); ok || err != nil {
				t.Errorf("event %d: %.80v %v", id, c, err)
			}
		}
		if c, ok, err := r.Long(t.Context(), Source{Querier: db.Read}, 2, 7, 0); ok || err != nil {
			t.Errorf("an event of another project: %.80v %v", c, err)
		}
	})
}

// Erased events are in no chunk; the events before and after them are.
func TestChunks_Erase(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database.DB) {
		const events, length = 900, 300
		saveLong(t, db, 1, 1, events, length)
		inTx(t, db, func(tx *database.Tx) error { return buildBlocks(tx, 1, allChunks) })
		erased := map[int64]bool{5: true, 6: true, 400: true, events: true, 5000: true}
		for id := chunksOf(t, db, 1)[1].first; id <= chunksOf(t, db, 1)[1].last; id++ { // a whole chunk
			erased[id] = true
		}
		before := len(chunksOf(t, db, 1))
		inTx(t, db, func(tx *database.Tx) error {
			return errors.Join(NewLog(db, Sealing{}, memory.Of(0)).rewriteBlocks(tx, 1, unit{1, events}, 0, erased), eraseFromChunks(tx, 1, erased))
		})
		var r Chunks
		for id := int64(1); id <= events; id++ {
			c, ok, err := r.Long(t.Context(), Source{Querier: db.Read}, 1, id, events)
			if err != nil || ok == erased[id] || ok && c != longOf(id, length) {
				t.Fatalf("event %d: %.80v %t %v", id, c, ok, err)
			}
		}
		if n := len(chunksOf(t, db, 1)); n != before-1 {
			t.Errorf("%d chunks, want %d", n, before-1)
		}
	})
}
