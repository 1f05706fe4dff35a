package sqlstore

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// A chunk of events that is damaged is an error of every way of reading. One that is missing is an
// error of those that find its events in a block or by a key.
func TestBlocks_DamagedChunk(t *testing.T) {
	const missing = `DELETE FROM event_chunks`
	for damage, want := range map[string]string{
		`UPDATE event_chunks SET data = x'01' || substr(data, 2)`:                                       "the chunk of the events ",
		`UPDATE event_chunks SET data = (SELECT data FROM event_chunks ORDER BY first_id DESC LIMIT 1)`: "chunk",
		missing: " chunk",
	} {
		for _, indexed := range []bool{false, true} {
			s := sqliteStores["disk"](t)
			m := &eventModel{T: t, random: rand.New(rand.NewPCG(5, 6)), store: s}
			m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
			m.commit(500)
			if indexed {
				indexAll(t, s)
			}
			if _, err := s.db.Write.Exec(damage); err != nil {
				t.Fatal(err)
			}
			errs := map[string]error{}
			_, errs["a page"] = s.Events(t.Context(), 1, capture.EventQuery{Limit: 500})
			_, errs["the ledger"] = s.Ledger(t.Context(), 1, 0, 500)
			_, errs["new events"] = s.Recent(t.Context(), 1, 0, 500)
			_, errs["an event"] = s.Event(t.Context(), 1, m.list[0].UUID)
			errs["an export"] = s.Exports().Events(t.Context(), 1, batchexports.Span{UpTo: 500}, func(*batchexports.Event) error { return nil })
			r, err := s.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			errs["a scan"] = r.Scan(t.Context(), port.Scan{Columns: port.Properties}, func(*port.Batch) error { return nil })
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			for what, err := range errs {
				if damage == missing && slices.Contains([]string{"the ledger", "new events", "an export"}, what) {
					continue
				}
				if !errors.Is(err, block.ErrDamaged) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s, blocks: %t, %s: %v", damage, indexed, what, err)
				}
			}
			e, err := Examine(t.Context(), "sqlite:"+s.db.File, "", false)
			if err != nil || len(e.Faults) == 0 || !strings.Contains(e.Faults[0], "chunk") {
				t.Errorf("%s, blocks: %t: %q, %v", damage, indexed, e.Faults, err)
			}
		}
	}
}

// The conversion of the events of an earlier schema continues where it was interrupted.
func TestBlocks_ConversionContinues(t *testing.T) {
	for name, address := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "14.db"), "postgres": pgtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(21, 22))
			_, list := randomEvents(random, 5000)
			writeOlder(t, address, 14, list, nil)
			db, err := database.Open(t.Context(), address)
			if err == nil {
				err = db.Migrate(t.Context(), slog.New(slog.DiscardHandler))
			}
			if err == nil { // the second step fails
				_, err = db.Write.Exec(`INSERT INTO event_chunks (first_id, project_id, last_id, events, size, short, data) SELECT id, 1, 1, 0, 1, uuid, uuid FROM event_rows WHERE id > 1000 AND id <= 2900`)
			}
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			if s, err := Open(t.Context(), address, Config{}); err == nil || !strings.Contains(err.Error(), "converting stored events up to 2952") {
				t.Fatal(s, err)
			}
			e, err := Examine(t.Context(), address, "", false)
			if err != nil || e.Events != 5000 || len(e.Faults) > 0 {
				t.Errorf("meanwhile: %+v, %v", e, err)
			}
			if db, err = database.Open(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			_, err = db.Write.Exec(`DELETE FROM event_chunks WHERE last_id = 1`)
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
			m := &eventModel{T: t, random: random, store: openStore(t, address), list: list}
			m.check("converted")
			for _, table := range []string{"event_rows", "person_states", "events", "event_chunks_16"} {
				if _, err := m.store.db.Read.Exec(`SELECT 1 FROM ` + table); err == nil {
					t.Errorf("the table %s is left", table)
				}
			}
		})
	}
}
