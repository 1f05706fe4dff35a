package events

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// idsInBlocks returns the number of the blocks of a project and the ids of their events, in order.
func idsInBlocks(t *testing.T, db *database.DB, project int64) (blocks int, ids []int64) {
	t.Helper()
	list, err := readBlocks(t.Context(), Source{Querier: db.Read}, project, unit{1, allChunks}, withPeople|withOrigins)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		var c block.Columns
		if err := list[i].decode(&c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.IDs...)
	}
	return len(list), ids
}

// Many events are merged in two steps. What is erased between them is in no block afterwards, and all other events
// are there once.
func TestMergeStep(t *testing.T) {
	for name, erased := range map[string]map[int64]bool{"unchanged": {}, "erased meanwhile": {5: true, 7000: true}} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, db *database.DB) {
				const each = mergedAtOnce/mergedBlocks + 1
				const total = each * mergedBlocks
				for first := int64(1); first <= total; first += each {
					saveLong(t, db, 1, first, each, 1)
					inTx(t, db, func(tx *database.Tx) error { return buildBlocks(tx, 1, allChunks) })
				}
				l := NewLog(db, Sealing{}, memory.Of(0))
				step := func(idle bool) {
					t.Helper()
					if err := l.mergeStep(t.Context(), idle); err != nil {
						t.Fatal(err)
					}
				}
				step(false)
				if l.index.merging != nil {
					<-l.index.merging.done
				}
				for id := range erased {
					inTx(t, db, func(tx *database.Tx) error {
						blocks, err := listBlocks(tx.Ctx, tx.SQL, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = 1 AND first_id <= $1 AND last_id >= $1`, id)
						if err != nil || len(blocks) != 1 {
							t.Fatal(blocks, err)
						}
						return l.rewriteBlocks(tx, 1, blocks[0].unit, blocks[0].level, erased)
					})
				}
				step(false)
				want := 1
				if len(erased) > 0 && db.Dialect.SingleWriter { // PostgreSQL has merged before
					want = mergedBlocks
				}
				if n, ids := idsInBlocks(t, db, 1); n != want || len(ids) != total-len(erased) {
					t.Errorf("%d events in %d blocks, want %d in %d", len(ids), n, total-len(erased), want)
				}
				for l.unmerged.Store(true); l.unmerged.Load(); {
					step(true)
				}
				n, ids := idsInBlocks(t, db, 1)
				if n != 1 || len(ids) != total-len(erased) {
					t.Errorf("at the end %d events in %d blocks, want %d in 1", len(ids), n, total-len(erased))
				}
				for i, id := range ids {
					if erased[id] || i > 0 && id <= ids[i-1] {
						t.Errorf("event %d is erased or there twice", id)
					}
				}
			})
		})
	}
}
