package sqlstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// keyModel sends random events to stores on one database, many of them twice, and knows which are
// stored.
type keyModel struct {
	t      *testing.T
	random *rand.Rand
	stores []*Store
	open   func() *Store // reopens a store of stores, or nil
	all    []capture.Record
	stored map[capture.EventKey]bool
	clock  time.Time
}

// newEvent returns an event that is not stored: of one of some SDKs, or with the UUID of another one.
func (m *keyModel) newEvent() capture.Record {
	m.clock = m.clock.Add(time.Duration(m.random.IntN(5000)) * time.Millisecond)
	e := capture.Record{
		ProjectID: 1 + m.random.Int64N(2), Name: fmt.Sprint("name ", m.random.IntN(3)), DistinctID: fmt.Sprint("id ", m.random.IntN(20)),
		Properties: "{}", PersonProperties: "{}", Timestamp: m.clock, CreatedAt: m.clock,
	}
	for i := range e.UUID {
		e.UUID[i] = byte(m.random.Uint32())
	}
	at := m.clock
	switch m.random.IntN(8) {
	case 0: // of version 4
		e.UUID[6] = 0x40 | e.UUID[6]&0x0f
		return e
	case 1: // the queue of a client that was offline
		at = at.Add(-time.Duration(m.random.IntN(100)) * time.Hour)
	case 2: // a wrong clock
		at = at.Add(time.Duration(m.random.IntN(100)) * time.Hour)
	case 3:
		if len(m.all) > 0 {
			e.UUID, e.Name = m.all[m.random.IntN(len(m.all))].UUID, fmt.Sprint("other ", m.random.Int64())
			return e
		}
	}
	binary.BigEndian.PutUint64(e.UUID[:], uint64(at.UnixMilli())<<16|0x7000|uint64(m.random.IntN(4096)))
	return e
}

// send sends new and earlier events, some of them twice, and fails the transaction now and then.
func (m *keyModel) send(s *Store) {
	m.t.Helper()
	var list []capture.Record
	for range 1 + m.random.IntN(40) {
		switch e := m.newEvent(); {
		case m.random.IntN(3) == 0 && len(m.all) > 0:
			list = append(list, m.all[m.random.IntN(len(m.all))])
		case m.random.IntN(20) == 0 && len(list) > 0:
			list = append(list, list[m.random.IntN(len(list))])
		default:
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b capture.Record) int { return int(a.ProjectID - b.ProjectID) })
	keys, failed := keysOf(list), errors.New("failed")
	want, sent := make([]bool, len(keys)), map[capture.EventKey]bool{}
	var added []capture.Record
	for i, k := range keys {
		if want[i] = !m.stored[k] && !sent[k]; want[i] {
			added = append(added, list[i])
		}
		sent[k] = true
	}
	fails := m.random.IntN(10) == 0
	var got []bool
	err := s.Commit(context.Background(), []int64{1, 2}, func(tx capture.Tx) (err error) {
		if got, err = tx.Claim(keys); err != nil {
			return err
		}
		if err := tx.Save(&capture.Changes{Events: slices.Clone(added)}); err != nil || !fails {
			return err
		}
		return failed
	})
	if fails != errors.Is(err, failed) || !fails && err != nil {
		m.t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		m.t.Fatalf("of %d events %v are new, want %v", len(m.stored), got, want)
	}
	if fails {
		return
	}
	for i, k := range keys {
		if want[i] {
			m.stored[k] = true
			m.all = append(m.all, list[i])
		}
	}
}

// erase erases the events of a distinct id of project 1. They may be sent a second time.
func (m *keyModel) erase(s *Store) {
	m.t.Helper()
	id := fmt.Sprint("id ", m.random.IntN(20))
	person := capture.PersonID(1, id)
	err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
		if err := tx.Save(&capture.Changes{IDs: []capture.ProjectID{{ProjectID: 1, DistinctID: id, Person: person}}}); err != nil {
			return err
		}
		_, err := tx.EraseEvents(1, person)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	for k := range m.stored {
		if k.ProjectID == 1 && k.DistinctID == id {
			delete(m.stored, k)
		}
	}
}

// retain deletes the events of the first tenth of the time.
func (m *keyModel) retain(s *Store, start time.Time) {
	m.t.Helper()
	before := start.Add(m.clock.Sub(start) / 10)
	if _, err := s.DeleteEventsBefore(context.Background(), before, 1_000_000); err != nil {
		m.t.Fatal(err)
	}
	left := map[capture.EventKey]bool{}
	for _, project := range []int64{1, 2} {
		for _, k := range keysOf(storedEvents(m.t, s, project)) {
			left[k] = true
		}
	}
	for k := range left { // a segment is deleted as a whole, so that some older events may be there
		if !m.stored[k] {
			m.t.Fatalf("%+v is back", k)
		}
	}
	m.stored = left
}

// check reads events by their UUIDs.
func (m *keyModel) check(s *Store) {
	m.t.Helper()
	for range min(20, len(m.all)) {
		e := &m.all[m.random.IntN(len(m.all))]
		want := 0
		for k := range m.stored {
			if k.ProjectID == e.ProjectID && k.UUID == e.UUID {
				want++
			}
		}
		got, err := s.Event(context.Background(), e.ProjectID, e.UUID)
		if err != nil || (got != nil) != (want > 0) {
			m.t.Fatalf("event %s: %v, %v, want one of %d", e.UUID, got, err, want)
		}
		if got != nil && !m.stored[keysOf([]capture.Record{*got})[0]] {
			m.t.Fatalf("event %s is %+v, which is not stored", e.UUID, got)
		}
	}
}

// §13.3: an event that is sent twice is not stored twice, at any age: also after a restart, a
// failed transaction, sealing, and on another server. Erased and deleted events are new.
func TestKeys_13_3_AtAnyAge(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	folder := t.TempDir()
	for name, open := range map[string]func(t *testing.T) (stores []*Store, reopen func() *Store){
		"sqlite": func(t *testing.T) ([]*Store, func() *Store) {
			open := func() *Store { return openStore(t, "sqlite:"+path) }
			return []*Store{open()}, open
		},
		"segments": func(t *testing.T) ([]*Store, func() *Store) {
			open := func() *Store {
				return openSegments(t, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
			}
			return []*Store{open()}, open
		},
		"postgres": func(t *testing.T) ([]*Store, func() *Store) {
			address := postgresURL(t)
			return openSeveral(t, address, 2), func() *Store { return openStore(t, address) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
			m := &keyModel{t: t, random: rand.New(rand.NewPCG(1, uint64(len(name)))), stored: map[capture.EventKey]bool{}, clock: start}
			m.stores, m.open = open(t)
			merging := 0 // steps after which lists are merged in part
			for n := range 240 {
				at := m.random.IntN(len(m.stores))
				m.stores[at].events.KeyEvents, m.stores[at].events.KeyPages = 16, 1
				s := m.stores[at]
				m.send(s)
				if m.random.IntN(4) == 0 {
					indexAll(t, s)
				}
				for range m.random.IntN(6) { // lists, and steps of a merge of lists
					if _, err := s.Index(t.Context(), true); err != nil {
						t.Fatal(err)
					}
				}
				var unfinished int
				if err := s.db.Write.QueryRow(`SELECT COUNT(*) FROM event_key_runs a JOIN event_key_runs b ON b.project_id = a.project_id AND b.first_id > a.first_id AND b.first_id <= a.last_id`).Scan(&unfinished); err != nil {
					t.Fatal(err)
				}
				merging += min(unfinished, 1)
				switch m.random.IntN(24) {
				case 0:
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					m.stores[at] = m.open()
				case 1:
					m.erase(s)
				case 2:
					m.retain(s, start)
				case 3:
					m.check(s)
				case 4:
					sealAll(t, s)
				}
				if t.Failed() {
					t.Fatalf("step %d", n)
				}
			}
			for _, s := range m.stores {
				m.check(s)
			}
			if n := countRows(t, m.stores[0], "event_key_runs"); n < 2 || merging < 10 {
				t.Errorf("only %d lists of keys, and some merged in part after %d steps", n, merging)
			}
			if file := m.stores[0].db.File; file != "" {
				if e, err := Examine(t.Context(), "sqlite:"+file, "", false); err != nil || len(e.Faults) > 0 {
					t.Errorf("the examination reports %q, %v", e.Faults, err)
				}
			}
		})
	}
}

// A list of keys that is damaged is an error, and no event is stored twice.
func TestKeys_Damaged(t *testing.T) {
	for name, damage := range map[string]string{
		"a page is missing": `DELETE FROM event_key_pages`,
		"a page is damaged": `UPDATE event_key_pages SET keys = zeroblob(1) || substr(keys, 2)`,
		"the starts are":    `UPDATE event_key_runs SET starts = zeroblob(1) || substr(starts, 2)`,
	} {
		t.Run(name, func(t *testing.T) {
			address := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
			s := openStore(t, address)
			s.events.KeyEvents = 16
			if err := commitEvents(s, 0, 100); err != nil {
				t.Fatal(err)
			}
			indexAll(t, s)
			if _, err := s.db.Write.Exec(damage); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if e, err := Examine(t.Context(), address, "", false); err != nil || len(e.Faults) == 0 || !strings.Contains(e.Faults[0], "duplicate keys") {
				t.Errorf("the examination reports %q, %v", e.Faults, err)
			}
			s = openStore(t, address)
			if err := commitEvents(s, 50, 1); !errors.Is(err, block.ErrDamaged) {
				t.Errorf("%v, want damage", err)
			}
			if n := countEvents(t, s); n != 100 {
				t.Errorf("%d events", n)
			}
		})
	}
}

// A transaction claims keys one time. If it does so a second time, it fails and does not block the next.
func TestKeys_OneClaim(t *testing.T) {
	s := sqliteStores["memory"](t)
	keys, _ := eventsFrom(0, 2)
	err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
		if _, err := tx.Claim(keys[:1]); err != nil {
			return err
		}
		_, err := tx.Claim(keys[1:])
		return err
	})
	if err == nil {
		t.Error("a transaction claims keys twice")
	}
	if err := commitEvents(s, 0, 2); err != nil {
		t.Error(err)
	}
}

// Keys of more projects than fit into memory are read a second time.
func TestKeys_ManyProjects(t *testing.T) {
	s := sqliteStores["memory"](t)
	const projects = 5000
	var list []capture.Record
	var ids []int64
	for id := range int64(projects) {
		ids = append(ids, 1+id)
		list = append(list, capture.Record{
			ProjectID: 1 + id, UUID: capture.PersonID(1+id, "event"), Name: "e", DistinctID: "ann", Properties: "{}", PersonProperties: "{}",
			Timestamp: database.FromMicros(1), CreatedAt: database.FromMicros(1),
		})
	}
	keys := keysOf(list)
	for _, want := range []bool{true, false} {
		err := s.Commit(context.Background(), ids, func(tx capture.Tx) error {
			got, err := tx.Claim(keys)
			if slices.Contains(got, !want) {
				t.Errorf("want all %t", want)
			}
			c := &capture.Changes{}
			if want {
				c.Events = slices.Clone(list)
			}
			return errors.Join(err, tx.Save(c))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The keys of a store of an earlier schema are in lists after the conversion, and their table is deleted.
func TestKeys_OlderStore(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "14.db")
	keys, list := eventsFrom(0, 40_000)
	writeOlder(t, address, 14, list, nil)
	s := openOlder(t, address)
	for _, when := range []string{"before", "after"} {
		if n := countStored(t, s, keys); n != len(keys) {
			t.Errorf("%s: %d of %d events are known when they are sent again", when, n, len(keys))
		}
		convertAll(t, s)
	}
	tables, err := database.Column[string](context.Background(), s.db.Read, `SELECT name FROM sqlite_schema WHERE name = 'event_keys'
		UNION ALL SELECT name FROM places WHERE name = 'event_keys'`)
	if err != nil || len(tables) > 0 {
		t.Errorf("%q, %v", tables, err)
	}
	var listed int
	if err := s.db.Read.QueryRow(`SELECT SUM(timely + late) FROM event_key_runs`).Scan(&listed); err != nil || listed < 16_384 {
		t.Errorf("%d keys are in lists, %v", listed, err)
	}
	got, err := s.Event(context.Background(), 1, list[7].UUID)
	if err != nil || got == nil || got.Name != list[7].Name {
		t.Errorf("%s", cmp.Diff(list[7], got))
	}
}
