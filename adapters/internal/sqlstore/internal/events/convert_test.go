package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// olderRecords returns events of two projects, with ids from 1 on.
func olderRecords(n int) (list []capture.Record) {
	for i := range n {
		id := int64(i + 1)
		long := longOf(id, 40)
		list = append(list, capture.Record{
			ID: id, ProjectID: 1 + id%3/2, UUID: capture.UUID{byte(id), byte(id >> 8), 1}, Name: fmt.Sprint("name ", i%7), DistinctID: fmt.Sprint("id ", i%50),
			Timestamp: database.FromMicros(id * 1000 % 77_777), CreatedAt: database.FromMicros(id), PersonID: capture.UUID{byte(i % 50)}, PersonCreatedAt: database.FromMicros(9),
			PersonMode: capture.PersonMode(i % 3), Historical: i%5 == 0, ElementsChain: long.Elements, Properties: long.Properties, PersonProperties: long.Person,
		})
	}
	return list
}

// write16 writes events to a store of schema 16: rows and chunks of some hundred events. Those up to
// the id mark are in blocks.
func write16(t *testing.T, db *database.DB, list []capture.Record, mark int64) {
	t.Helper()
	inTx(t, db, func(tx *database.Tx) error {
		insert := database.NewInsert(`INSERT INTO events (id, project_id, timestamp, event, distinct_id, uuid, created_at, person_uuid, person_created_at, person_mode, historical)`, 11, "")
		err := tx.Insert(&insert, len(list), func(args []any, i int) []any {
			e := &list[i]
			return append(args, e.ID, e.ProjectID, database.Micros(e.Timestamp), e.Name, e.DistinctID, e.UUID[:], database.Micros(e.CreatedAt), e.PersonID[:],
				database.Micros(e.PersonCreatedAt), int(e.PersonMode), database.BoolToInt(e.Historical))
		})
		for part := range slices.Chunk(list, 700) {
			for project := int64(1); project <= 2; project++ {
				var w block.ChunkWriter
				for i := range part {
					if e := &part[i]; e.ProjectID == project {
						w.Add(e.ID, e.ElementsChain, e.Properties, e.PersonProperties)
					}
				}
				first, last := w.IDs()
				if err == nil {
					_, err = tx.Exec(`INSERT INTO event_chunks (first_id, project_id, last_id, size, data) VALUES ($1, $2, $3, $4, $5)`, first, project, last, w.Size(), w.Encode(nil))
				}
			}
		}
		for project := int64(1); project <= 2; project++ {
			var w block.Writer
			for i := range list {
				if e := shortOf(&list[i]); list[i].ProjectID == project && e.ID <= mark {
					w.Add(&e)
				}
			}
			if err == nil && w.Bounds().Events > 0 {
				b, names := w.Bounds(), w.Names()
				_, one := tx.Exec(`INSERT INTO event_blocks (project_id, first_id, last_id, level, events, first_time, last_time, filter) VALUES ($1, $2, $3, 15, $4, $5, $6, $7)`,
					project, b.FirstID, b.LastID, b.Events, b.FirstTime, b.LastTime, w.Filter())
				_, two := tx.Exec(`INSERT INTO event_hashes (first_id, hashes) VALUES ($1, $2)`, b.FirstID, w.Hashes(names))
				_, three := tx.Exec(`INSERT INTO event_columns (first_id, names, people, origins) VALUES ($1, $2, $3, $4)`, b.FirstID, names, w.People(names), w.Origins(names))
				err = errors.Join(one, two, three)
			}
		}
		if err == nil {
			_, err = tx.Exec(`UPDATE places SET id = $1 WHERE name = 'event_index'`, mark)
		}
		return err
	})
}

// writeRows writes events to the table of schemas before 16, of which those up to an id are converted.
func writeRows(t *testing.T, db *database.DB, list []capture.Record, converted int64) {
	t.Helper()
	inTx(t, db, func(tx *database.Tx) (err error) {
		for i := range list {
			e := &list[i]
			_, one := tx.Exec(`INSERT INTO event_rows (id, project_id, timestamp, event, distinct_id, uuid, created_at, person_uuid, person_created_at, person_mode,
				historical, elements_chain, properties, person_state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $1)`,
				e.ID, e.ProjectID, database.Micros(e.Timestamp), e.Name, e.DistinctID, e.UUID[:], database.Micros(e.CreatedAt), e.PersonID[:],
				database.Micros(e.PersonCreatedAt), int(e.PersonMode), database.BoolToInt(e.Historical), e.ElementsChain, e.Properties)
			_, two := tx.Exec(`INSERT INTO person_states (event_id, properties) VALUES ($1, $2)`, e.ID, e.PersonProperties)
			err = errors.Join(err, one, two)
		}
		_, last := tx.Exec(`UPDATE places SET id = $1 WHERE name = 'event_rows'`, converted)
		return errors.Join(err, last)
	})
}

// An earlier version began with the first events. What it has not converted is converted at the start, whether it has deleted the
// rows of the others or not.
func TestMigrate_Interrupted(t *testing.T) {
	for _, isDeleted := range []bool{true, false} {
		db, err := database.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		provider, err := db.Migrations()
		if err == nil {
			_, err = provider.UpTo(t.Context(), 20)
		}
		if err != nil {
			t.Fatal(err)
		}
		list := olderRecords(3000)
		const converted = 1000
		inTx(t, db, func(tx *database.Tx) error {
			_, err := Save(tx, list[:converted])
			_, positionErr := tx.Exec(`DELETE FROM places WHERE name IN ('event_chunks_16', 'event_index')`)
			return errors.Join(err, positionErr)
		})
		rows := list
		if isDeleted {
			rows = list[converted:]
		}
		writeRows(t, db, rows, converted)
		if err := Migrate(t.Context(), db, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		var got []capture.Record
		for project := int64(1); project <= 2; project++ {
			if err := EachEvent(t.Context(), Source{Querier: db.Read}, project, 0, func(e *capture.Record) error { got = append(got, *e); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(got, func(a, b capture.Record) int { return int(a.ID - b.ID) })
		if diff := cmp.Diff(list, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		var n int
		if err := db.Read.QueryRow(`SELECT SUM(events) FROM event_new_chunks`).Scan(&n); n != len(list) || err != nil {
			t.Errorf("%d events are in new chunks, %v", n, err)
		}
		if _, err := db.Read.Exec(`SELECT 1 FROM event_rows`); err == nil {
			t.Error("the table event_rows is left")
		}
	}
}

// A store of schema 16 has the same events afterwards, whether they are in blocks, in the middle of a
// chunk or not, and also if its conversion from an earlier schema was interrupted.
func TestMigrate_16(t *testing.T) {
	for name, open := range map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") },
		"postgres": pgtest.Postgres,
	} {
		for _, tt := range []struct {
			mark    int64
			earlier int // events of the schema before
		}{{0, 0}, {1000, 0}, {2500, 0}, {0, 100}} {
			t.Run(fmt.Sprint(name, tt), func(t *testing.T) {
				db, err := database.Open(t.Context(), open(t))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = db.Close() }()
				provider, err := db.Migrations()
				if err == nil {
					_, err = provider.UpTo(t.Context(), 16)
				}
				if err != nil {
					t.Fatal(err)
				}
				list := olderRecords(2500)
				rest := len(list) - tt.earlier
				write16(t, db, list[:rest], tt.mark)
				writeRows(t, db, list[rest:], int64(rest))
				for name, migrate := range []func(context.Context, *database.DB, *slog.Logger) error{Migrate, Migrate, MigrateAll} {
					if err := migrate(t.Context(), db, slog.New(slog.DiscardHandler)); err != nil {
						t.Fatal(err)
					}
					source, err := NewSource(t.Context(), db.Read, nil)
					if err != nil {
						t.Fatal(err)
					}
					var got []capture.Record
					for project := int64(1); project <= 2; project++ {
						if err := EachEvent(t.Context(), source, project, 0, func(e *capture.Record) error { got = append(got, *e); return nil }); err != nil {
							t.Fatal(err)
						}
					}
					slices.SortFunc(got, func(a, b capture.Record) int { return int(a.ID - b.ID) })
					if diff := cmp.Diff(list, got); diff != "" {
						t.Errorf("after call %d (-want +got)\n%s", name, diff)
					}
				}
				var n int64
				err = db.Read.QueryRow(`SELECT COALESCE(SUM(events), 0) FROM event_new_chunks`).Scan(&n)
				if want := int64(len(list)) - tt.mark; n != want || err != nil {
					t.Errorf("%d events are in no block, %v; want %d", n, err, want)
				}
				var filters, blocks int
				err = errors.Join(db.Read.QueryRow(`SELECT COUNT(*) FROM event_filters WHERE LENGTH(filter) > 64`).Scan(&filters), db.Read.QueryRow(`SELECT COUNT(*) FROM event_blocks`).Scan(&blocks))
				if filters != blocks || err != nil {
					t.Errorf("%d filters of %d blocks, %v", filters, blocks, err)
				}
				if faults, err := CheckBlocks(t.Context(), Source{Querier: db.Read}, 10); err != nil || len(faults) > 0 {
					t.Errorf("%q, %v", faults, err)
				}
				for _, table := range []string{"events", "event_chunks_16", "event_rows", "person_states"} {
					if _, err := db.Read.Exec(`SELECT 1 FROM ` + table); err == nil {
						t.Errorf("the table %s is left", table)
					}
				}
			})
		}
	}
}
