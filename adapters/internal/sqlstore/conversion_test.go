package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// openOlder opens a store that converts events of an earlier schema only when convertSome is called.
func openOlder(t testing.TB, url string) *Store {
	t.Helper()
	s, err := Open(context.Background(), pgtest.SQLiteMigrated(t, url, Open), Config{keepsOlder: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// convertSome converts events and keys in some steps, and reports whether there is more.
func convertSome(t testing.TB, s *Store, steps int) bool {
	t.Helper()
	for range steps {
		if _, hasMore, _, err := s.events.Convert(t.Context()); err != nil || !hasMore {
			if err != nil {
				t.Fatal(err)
			}
			return false
		}
	}
	return true
}

// convertAll converts all events and keys.
func convertAll(t testing.TB, s *Store) {
	t.Helper()
	for convertSome(t, s, 1) {
	}
}

// olderKey returns the duplicate key of an event in the table event_keys, which stores of schemas before 19 have: the UUID, and
// a hash of the project, the length of the name, the name and the distinct id.
func olderKey(e *capture.Record) []byte {
	text := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(e.ProjectID)), uint64(len(e.Name)))
	return binary.BigEndian.AppendUint64(slices.Clone(e.UUID[:]), murmur3.Sum64([]byte(string(text)+e.Name+e.DistinctID)))
}

// olderWriter writes a store of an earlier schema.
type olderWriter struct {
	testing.TB
	db  *database.DB
	err error
}

// exec executes a statement.
func (w *olderWriter) exec(text string, args ...any) {
	if w.err == nil {
		_, w.err = w.db.Write.Exec(text, args...)
	}
}

// insert inserts n rows.
func (w *olderWriter) insert(table, columns string, n int, row func(args []any, i int) []any) {
	insert := database.NewInsert(`INSERT INTO `+table+` (`+columns+`)`, 1+strings.Count(columns, ","), "")
	err := insert.Run(&w.db.Dialect, nil, n, row, func(text string, args ...any) error {
		w.exec(text, args...)
		return w.err
	})
	w.err = errors.Join(w.err, err)
}

// writeOlder writes a store of an earlier schema with some events, whose ids are 1, 2 and so on: 13, in which events had indexes,
// or 14 to 16. From schema 15 on it has the blocks of another store with the same events.
func writeOlder(t testing.TB, address string, schema int64, list []capture.Record, blocks *Store) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	w := &olderWriter{t, db, nil}
	provider, err := db.Migrations()
	if err == nil {
		_, err = provider.UpTo(t.Context(), schema)
	}
	w.err = err
	indexed := int64(len(list))
	if blocks == nil {
		for i := range list {
			list[i].ID, list[i].PersonCreatedAt = int64(i+1), database.FromMicros(0)
		}
		w.otherBlocks(schema)
	} else {
		indexed = w.copyBlocks(blocks)
	}
	if schema == 16 {
		w.events16(list)
	} else {
		w.rows(list)
	}
	w.insert("event_keys", "key, id", len(list), func(args []any, i int) []any { return append(args, olderKey(&list[i]), list[i].ID) })
	w.exec(`UPDATE places SET id = $1 WHERE name = 'event_index'`, indexed)
	if db.Dialect.SingleWriter {
		w.exec(`UPDATE places SET id = $1 WHERE name = 'event_id'`, len(list))
	} else {
		w.exec(`SELECT setval('event_ids', $1)`, len(list))
	}
	if err := errors.Join(w.err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// rows inserts events of a schema before 16.
func (w *olderWriter) rows(list []capture.Record) {
	states := map[string]int64{} // the first event with the properties of a person
	var order []string
	w.insert("events", `id, project_id, uuid, event, distinct_id, timestamp, created_at, person_uuid, person_created_at, person_state, person_mode, historical, elements_chain, properties`,
		len(list), func(args []any, i int) []any {
			e := &list[i]
			if states[e.PersonProperties] == 0 {
				states[e.PersonProperties] = e.ID
				order = append(order, e.PersonProperties)
			}
			return append(args, e.ID, e.ProjectID, e.UUID[:], e.Name, e.DistinctID, database.Micros(e.Timestamp), database.Micros(e.CreatedAt), e.PersonID[:],
				database.Micros(e.PersonCreatedAt), states[e.PersonProperties], int(e.PersonMode), database.BoolToInt(e.Historical), e.ElementsChain, e.Properties)
		})
	w.insert("person_states", "event_id, properties", len(order), func(args []any, i int) []any { return append(args, states[order[i]], order[i]) })
}

// events16 inserts events of schema 16, whose chunks have up to 150 events.
func (w *olderWriter) events16(list []capture.Record) {
	w.insert("events", `id, project_id, uuid, event, distinct_id, timestamp, created_at, person_uuid, person_created_at, person_mode, historical`, len(list), func(args []any, i int) []any {
		e := &list[i]
		return append(args, e.ID, e.ProjectID, e.UUID[:], e.Name, e.DistinctID, database.Micros(e.Timestamp), database.Micros(e.CreatedAt), e.PersonID[:],
			database.Micros(e.PersonCreatedAt), int(e.PersonMode), database.BoolToInt(e.Historical))
	})
	for project := int64(1); project <= 2; project++ {
		var c block.ChunkWriter
		end := func() {
			if first, last := c.IDs(); c.Len() > 0 {
				w.exec(`INSERT INTO event_chunks (first_id, project_id, last_id, size, data) VALUES ($1, $2, $3, $4, $5)`, first, project, last, c.Size(), c.Encode(nil))
			}
			c.Reset()
		}
		for i := range list {
			if e := &list[i]; e.ProjectID == project {
				if c.Add(e.ID, e.ElementsChain, e.Properties, e.PersonProperties); c.Len() == 150 {
					end()
				}
			}
		}
		end()
	}
	// Schema 16 dropped the tables of rows when it had converted them.
	for _, text := range []string{`DROP TABLE event_rows`, `DROP TABLE person_states`, `DELETE FROM places WHERE name = 'event_rows'`} {
		w.exec(text)
	}
}

// copyBlocks copies the blocks of a store, and returns the id up to which events are in blocks.
func (w *olderWriter) copyBlocks(s *Store) (indexed int64) {
	for _, table := range []struct{ to, columns, from string }{
		{"event_blocks", "project_id, first_id, last_id, level, events, first_time, last_time, filter", `SELECT b.project_id, b.first_id, b.last_id, b.level, b.events, b.first_time, b.last_time, COALESCE(f.filter, x'')
			FROM event_blocks b LEFT JOIN event_filters f ON f.first_id = b.first_id`},
		{"event_columns", "first_id, names, people, origins", `SELECT first_id, names, people, origins FROM event_columns`},
		{"event_hashes", "first_id, hashes", `SELECT first_id, hashes FROM event_hashes`},
	} {
		n := 1 + strings.Count(table.columns, ",")
		rows, err := database.List(w.Context(), s.db.Read, func(row *[8]any) (into []any) {
			for i := range n {
				into = append(into, &row[i])
			}
			return into
		}, table.from)
		for i := range rows {
			for j, v := range rows[i][:n] {
				if b, ok := v.([]byte); ok && b == nil { // SQLite's driver returns an empty value as nil
					rows[i][j] = []byte{}
				}
			}
		}
		if w.err = errors.Join(w.err, err); err != nil {
			return 0
		}
		w.insert(table.to, table.columns, len(rows), func(args []any, i int) []any { return append(args, rows[i][:n]...) })
	}
	err := s.db.Read.QueryRow(`SELECT COALESCE((SELECT MIN(first_id) - 1 FROM event_new_chunks), (SELECT MAX(last_id) FROM event_blocks))`).Scan(&indexed)
	w.err = errors.Join(w.err, err)
	return indexed
}

// otherBlocks inserts a block of another encoding.
func (w *olderWriter) otherBlocks(schema int64) {
	block := `INSERT INTO event_blocks (project_id, first_id, last_id, level, events, first_time, last_time, filter) VALUES (1, 1, 9000, 0, 1, 0, 1, $1)`
	if schema == 13 {
		block = `INSERT INTO event_blocks (epoch, project_id, events, people) VALUES (0, 1, $1, $1)`
	}
	w.exec(block, []byte("of another encoding"))
}

// downgrade changes a store of the newest schema to schema 18.
func downgrade(t *testing.T, address string, list []capture.Record) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	w := &olderWriter{t, db, nil}
	kind, clustered := "BLOB NOT NULL DEFAULT x''", " WITHOUT ROWID"
	if !db.Dialect.SingleWriter {
		kind, clustered = "BYTEA NOT NULL DEFAULT ''", ""
	}
	for _, text := range []string{
		`DROP TABLE event_key_runs`, `DROP TABLE event_key_pages`, `DELETE FROM places WHERE name = 'event_key_secret'`,
		`CREATE TABLE event_keys (key ` + strings.Split(kind, " ")[0] + ` NOT NULL, id BIGINT NOT NULL, PRIMARY KEY (key))` + clustered,
		`ALTER TABLE event_blocks ADD COLUMN filter ` + kind,
		`UPDATE event_blocks SET filter = (SELECT f.filter FROM event_filters f WHERE f.first_id = event_blocks.first_id) WHERE first_id IN (SELECT first_id FROM event_filters)`,
		`DROP TABLE event_filters`, `DELETE FROM goose_db_version WHERE version_id > 18`,
	} {
		w.exec(text)
	}
	w.insert("event_keys", "key, id", len(list), func(args []any, i int) []any { return append(args, olderKey(&list[i]), list[i].ID) })
	if err := errors.Join(w.err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// olderModel returns a model with a store of an earlier schema, 15, 16 or 18, of which the last events are in no block, and opens it.
// Of schema 18 the first events are in segments if there is a folder.
func olderModel(t *testing.T, address, folder string, schema int64) *modelStore {
	t.Helper()
	newest := address
	if schema < 18 {
		newest = "sqlite:" + filepath.Join(t.TempDir(), "newest.db")
	}
	m := &modelStore{eventModel: &eventModel{T: t, random: rand.New(rand.NewPCG(31, 32))}, address: newest, folder: folder, now: time.Unix(0, 0)}
	m.open()
	m.address = address
	arrived := int64(0)
	m.change = func(_ int, e *capture.Record) { // they arrive one after the other
		arrived += 1e6
		e.CreatedAt = database.FromMicros(arrived)
	}
	for range 3 {
		m.commit(600)
		indexAll(t, m.store)
	}
	if folder != "" {
		sealSteps(t, m.store, math.MaxInt)
	}
	m.commit(150)
	m.awaitHorizon()
	if schema < 18 {
		writeOlder(t, address, schema, m.list, m.store)
	}
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	if schema == 18 {
		downgrade(t, address, m.list)
	}
	m.open()
	m.makeSteps()
	return m
}

// makeSteps makes the steps of the conversion small.
func (m *modelStore) makeSteps() { m.store.events.KeyEvents, m.store.events.OlderEvents = 256, 300 }

// compareBoundaries compares the last events that arrived before some times with the list.
func (m *modelStore) compareBoundaries(when string) {
	m.Helper()
	for range 8 {
		at := m.random.IntN(len(m.list))
		got, err := m.store.events.Boundary(m.Context(), m.list[at].CreatedAt, m.list[len(m.list)-1].ID)
		before := int64(0)
		if at > 0 {
			before = m.list[at-1].ID
		}
		if got < before || got >= m.list[at].ID || err != nil {
			m.Fatalf("%s: the events up to %d arrived before event %d, %v; want %d", when, got, m.list[at].ID, err, before)
		}
	}
}

// refuseErasing checks that events cannot be erased, and that old ones are not deleted.
func (m *modelStore) refuseErasing() {
	m.Helper()
	person := m.person(m.list[0].DistinctID)
	err := m.store.Commit(m.Context(), []int64{1}, func(tx capture.Tx) error {
		_, err := tx.EraseEvents(1, person)
		return err
	})
	var unavailable *management.Error
	if !errors.As(err, &unavailable) || unavailable.Kind != management.Unavailable || unavailable.Code != "converting" {
		m.Fatalf("erasing events: %v", err)
	}
	if merges := sealSteps(m.T, m.store, 10); merges > 0 {
		m.Fatalf("segments are merged")
	}
	if n, err := m.store.DeleteEventsBefore(m.Context(), database.FromMicros(1<<60), 100); n != 0 || err != nil {
		m.Fatalf("%d events are deleted because of their age, %v", n, err)
	}
}

// compareCopies compares the store of a SQLite file after a backup was restored, and after it was moved, with the list.
func (m *modelStore) compareCopies() {
	m.Helper()
	from, folder := strings.TrimPrefix(m.address, "sqlite:"), m.TempDir()
	if _, err := Backup(m.Context(), from, "", filepath.Join(folder, "backup"), noProgress); err != nil {
		m.Fatal(err)
	}
	restored, moved := filepath.Join(folder, "restored.db"), filepath.Join(folder, "moved.db")
	if _, _, err := Restore(m.Context(), filepath.Join(folder, "backup"), restored, "", false, noProgress); err != nil {
		m.Fatal(err)
	}
	e, err := Examine(m.Context(), "sqlite:"+restored, "", false)
	if err != nil || len(e.Faults) > 0 || e.Events != int64(len(m.list)) || e.Unconverted == 0 || e.Unconverted >= e.Events {
		m.Fatalf("restored: %+v, %v", e, err)
	}
	copied := filepath.Join(folder, "copied.db")
	content, err := os.ReadFile(restored)
	if err == nil {
		err = os.WriteFile(copied, content, 0o600)
	}
	if err == nil {
		_, err = moveOnce(m.Context(), "sqlite:"+copied, "sqlite:"+moved)
	}
	if err != nil {
		m.Fatal(err)
	}
	for name, path := range map[string]string{"restored": restored, "moved": moved} {
		c := *m.eventModel
		c.store = openOlder(m, "sqlite:"+path)
		c.compare(name)
		convertAll(m, c.store)
		c.check(name + ", converted")
	}
}

// olderStores are the stores of TestConversion.
var olderStores = func() (list []olderStore) {
	file := func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") }
	for _, schema := range []int64{15, 16, 18} {
		list = append(list, olderStore{fmt.Sprint("sqlite ", schema), schema, file, false}, olderStore{fmt.Sprint("postgres ", schema), schema, pgtest.Postgres, false})
	}
	return append(list, olderStore{"segments", 18, file, true})
}()

// olderStore is a kind of a store of an earlier schema.
type olderStore struct {
	name        string
	schema      int64
	address     func(testing.TB) string
	hasSegments bool
}

// A store of an earlier schema is converted while it serves: every way of reading equals a plain list before, during and
// after it, also when the server is killed, events that are sent again are duplicates, and events can be erased
// afterwards.
func TestConversion(t *testing.T) {
	for _, older := range olderStores {
		t.Run(older.name, func(t *testing.T) {
			folder := ""
			if older.hasSegments {
				folder = t.TempDir()
			}
			m := olderModel(t, older.address(t), folder, older.schema)
			sealed := countRows(t, m.store, "event_segments")
			if older.hasSegments != (sealed > 0) {
				t.Fatalf("%d segments", sealed)
			}
			m.compare("before")
			m.refuseErasing()
			m.commit(400)
			indexAll(t, m.store)
			m.compare("with new events")
			for i := 0; convertSome(t, m.store, 3); i++ {
				m.refuseErasingWhile(m.store.events.IsConverting())
				m.commit(70)
				m.compareBoundaries("half")
				if i == 0 {
					if older.schema == 15 && m.store.HasSingleWriter() {
						m.compareCopies()
					}
					m.merge(m.anyID(), m.list[5].DistinctID)
					indexAll(t, m.store)
					m.crash()
					m.makeSteps()
				}
				m.compare("half")
			}
			m.check("converted")
			m.erase(m.list[0].DistinctID)
			indexAll(t, m.store)
			m.check("after an erasure")
			m.reopen()
			if older.hasSegments {
				if merges := sealSteps(t, m.store, math.MaxInt); merges == 0 && countRows(t, m.store, "event_segments") <= sealed {
					t.Error("no events are sealed")
				}
			} else {
				m.retain(300)
			}
			m.check("after the next start")
			for _, table := range []string{"event_rows", "person_states", "events", "event_chunks_16", "event_keys"} {
				if exists, err := database.HasTable(t.Context(), m.store.db.Read, m.store.HasSingleWriter(), table); exists || err != nil {
					t.Errorf("the table %s is left, %v", table, err)
				}
			}
			if n := countRows(t, m.store, `places WHERE name IN ('event_rows', 'event_chunks_16', 'event_index', 'event_unconverted', 'event_keys', 'event_keys_unused')`); n != 0 {
				t.Errorf("%d places are left", n)
			}
		})
	}
}

// refuseErasingWhile calls refuseErasing if events are converted.
func (m *modelStore) refuseErasingWhile(isConverting bool) {
	m.Helper()
	if isConverting {
		m.refuseErasing()
	}
}

// Events are converted in the background, while others are stored and all are read.
func TestConversion_Background(t *testing.T) {
	for name, address := range map[string]func(testing.TB) string{
		"sqlite": func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") }, "postgres": pgtest.Postgres,
	} {
		t.Run(name, func(t *testing.T) {
			m := olderModel(t, address(t), "", 15)
			if err := m.store.Close(); err != nil {
				t.Fatal(err)
			}
			log := &logged{}
			var err error
			if m.store, err = Open(t.Context(), m.address, Config{Logger: slog.New(slog.NewTextHandler(log, nil)), keepsOlder: true}); err != nil {
				t.Fatal(err)
			}
			m.store.events.OlderEvents = 32
			m.store.converter = database.RunInBackground(m.store.convert)
			for m.store.events.IsConverting() {
				m.commit(20)
				m.compare("meanwhile")
			}
			m.check("converted")
			m.erase(m.list[1].DistinctID)
			m.check("after an erasure")
			m.store.converter.Close() // it may be deleting the earlier keys
			if err := m.store.Close(); err != nil {
				t.Fatal(err)
			}
			if text := log.String(); !strings.Contains(text, "are converted in the background") {
				t.Error(text)
			}
		})
	}
}

// logged is a log in memory.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Of several servers one converts events at a time, and the others recognize duplicates and read all events before they know
// that it has ended.
func TestConversion_SeveralServers(t *testing.T) {
	m := olderModel(t, pgtest.Postgres(t), "", 15)
	first, second := m.store, openOlder(t, m.address)
	for convertSome(t, first, 3) {
		m.store = second
		m.commit(40)
		m.compare("on another server")
		m.store = first
		m.commit(30)
	}
	m.store = second
	m.compare("on another server, afterwards")
	convertAll(t, second)
	m.erase(m.list[2].DistinctID)
	m.check("on both")
	m.store = first
	m.check("on the first")
}
