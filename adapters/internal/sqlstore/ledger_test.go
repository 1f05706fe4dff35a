package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// testTwoWriters increments one number from two writers.
func testTwoWriters(t *testing.T, stores ...*Store) {
	t.Helper()
	ctx, id := context.Background(), capture.PersonID(1, "ann")
	const times = 40
	var wg sync.WaitGroup
	for _, s := range stores {
		wg.Go(func() {
			for range times {
				err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
					people, err := tx.People(1, []string{"ann"})
					if err != nil {
						return err
					}
					var c capture.Changes
					p := capture.Person{UUID: id, Version: 1}
					if old := people[0].Person; old != nil {
						p.Version = old.Version + 1
					} else {
						c.IDs = []capture.ProjectID{{ProjectID: 1, DistinctID: "ann", Person: id}}
					}
					c.Persons = []capture.ProjectPerson{{ProjectID: 1, Person: &p, IsNew: people[0].Person == nil}}
					return tx.Save(&c)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	p, err := stores[0].PersonForDistinctID(ctx, 1, "ann")
	if err != nil || p == nil || p.Version != int64(times*len(stores)) {
		t.Errorf("%+v, %v, want version %d", p, err, times*len(stores))
	}
	if n, err := stores[0].CountPeople(ctx, 1); err != nil || n != 1 {
		t.Errorf("%d persons are counted (%v), want 1", n, err)
	}
}

func TestLedger_13_2_OneAtATime(t *testing.T) {
	for name, open := range sqliteStores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			testTwoWriters(t, s, s)
		})
	}
}

// Ids are not reused after the newest events were erased: readers that follow the
// ledger would miss the new events.
func TestLedger_IDsGrow(t *testing.T) {
	address := "sqlite:" + filepath.Join(t.TempDir(), "store.db")
	last := int64(0)
	for i := range 3 {
		s, err := Open(context.Background(), address, Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := commitEvents(s, 0, 50); err != nil {
			t.Fatal(err)
		}
		list := storedEvents(t, s, 1)
		first, highest := list[0].ID, list[len(list)-1].ID
		if first <= last || highest != first+49 {
			t.Errorf("round %d: events %d to %d, want 50 above %d", i, first, highest, last)
		}
		last = highest
		for _, table := range []string{"event_chunks", "event_new_chunks"} {
			if _, err := s.db.Write.Exec(`DELETE FROM ` + table); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A block is built of all chunks of 8,192 events, or of fewer events when the server is idle.
func TestLedger_Index(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), context.Background()
			if more, err := s.Index(ctx, true); more || err != nil {
				t.Errorf("nothing to do: %t, %v", more, err)
			}
			commit := func(first, n int) {
				t.Helper()
				if err := commitEvents(s, first, n); err != nil {
					t.Fatal(err)
				}
			}
			expect := func(when string, idle, want bool, inBlocks int) {
				t.Helper()
				more, err := s.Index(ctx, idle)
				var n int
				err = errors.Join(err, s.db.Read.QueryRow(`SELECT COALESCE(SUM(events), 0) FROM event_blocks`).Scan(&n))
				if more != want || err != nil || n != inBlocks {
					t.Errorf("%s: %t, %v, %d events in blocks; want %t and %d", when, more, err, n, want, inBlocks)
				}
			}
			commit(0, 10)
			expect("a few", true, false, 0)
			commit(10, events.IndexChunk-11)
			expect("less than enough", false, true, 0)
			commit(events.IndexChunk, 2)
			expect("enough", false, true, events.IndexChunk-1)
			expect("too few", true, false, events.IndexChunk-1)
			commit(events.IndexChunk+2, 100)
			expect("idle", true, true, events.IndexChunk+101)
			expect("all is done", true, false, events.IndexChunk+101)
		})
	}
}

// Decision 17: a person created after an erasure begins with version = last + 100.
func TestDecision_17_ErasedPerson(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), context.Background()
			ann := capture.PersonID(1, "ann")
			born := func() int64 {
				p := &capture.Person{UUID: ann, Version: 0}
				err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
					return tx.Save(&capture.Changes{
						Persons: []capture.ProjectPerson{{ProjectID: 1, Person: p, IsNew: true}},
						IDs:     []capture.ProjectID{{ProjectID: 1, DistinctID: "ann", Person: ann}},
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				stored, err := s.PersonForDistinctID(ctx, 1, "ann")
				if err != nil || stored == nil || stored.Version != p.Version {
					t.Fatalf("%+v, %v is stored, want version %d", stored, err, p.Version)
				}
				return p.Version
			}
			for i, want := range []int64{0, 100, 200} {
				if got := born(); got != want {
					t.Errorf("life %d: version %d, want %d", i, got, want)
				}
				err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
					_, _, err := tx.ErasePerson(1, ann, false)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestLedger_BadChanges(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			keys, events := eventsFrom(0, 3)
			for what, changes := range map[string]*capture.Changes{
				"2 events to store": {Events: events[:2]},
				"into itself":       {Events: events, Merges: []capture.Merge{{ProjectID: 1}}},
			} {
				err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
					if _, err := tx.Claim(keys); err != nil {
						return err
					}
					return tx.Save(changes)
				})
				if err == nil || !strings.Contains(err.Error(), what) {
					t.Errorf("%v, want an error with %q", err, what)
				}
			}
			if n := countStored(t, s, keys); n != 0 {
				t.Errorf("%d keys are left", n)
			}
		})
	}
}

// A canceled commit changes no data, and the next one succeeds.
func TestLedger_Canceled(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			ctx, cancel := context.WithCancel(context.Background())
			keys, events := eventsFrom(0, 3)
			err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				if _, err := tx.Claim(keys); err != nil {
					return err
				}
				cancel()
				return tx.Save(&capture.Changes{Events: events})
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want canceled", err)
			}
			if n := countStored(t, s, keys); n != 0 {
				t.Errorf("%d keys are left", n)
			}
			if err := commitEvents(s, 0, 3); err != nil {
				t.Error(err)
			}
		})
	}
}

// Data beyond the limits is deleted, or counted together.
func TestLedger_Bounds(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), context.Background()
			save := func(c *capture.Changes) {
				t.Helper()
				if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error { return tx.Save(c) }); err != nil {
					t.Fatal(err)
				}
			}
			when := database.FromMicros(1e15)
			var c capture.Changes
			for i := range maxSeen {
				c.Seen = append(c.Seen, capture.SeenName{ProjectID: 1, Kind: capture.SeenEvent, Name: fmt.Sprintf("name %05d", i), At: when})
			}
			for i := range maxFlagCalls + 5 {
				c.Calls = append(c.Calls, capture.FlagCalls{ProjectID: 1, FlagCall: capture.FlagCall{Flag: "a", Value: fmt.Sprintf("%05d", i)}, Calls: 1, First: when, Last: when})
			}
			c.Calls = append(c.Calls, capture.FlagCalls{ProjectID: 1, FlagCall: capture.FlagCall{Flag: "b", Value: "x"}, Calls: 3, First: when, Last: when})
			save(&c)
			save(&c)
			if n := countRows(t, s, "seen_names"); n != maxSeen {
				t.Errorf("%d names, want %d", n, maxSeen)
			}
			if n := countRows(t, s, "flag_calls"); n != maxFlagCalls+2 {
				t.Errorf("%d pairs of flag and value, want %d", n, maxFlagCalls+2)
			}
			for flag, want := range map[string]int64{"a": 10, "b": 6} {
				var calls int64
				err := s.db.Read.QueryRow(`SELECT calls FROM flag_calls WHERE flag_key = $1 AND value = '(others)'`, flag).Scan(&calls)
				if err != nil || calls != want {
					t.Errorf("other values of %s: %d calls, %v, want %d", flag, calls, err, want)
				}
			}
			c = capture.Changes{}
			for i := range maxFlagCalls + 5 {
				c.Calls = append(c.Calls, capture.FlagCalls{ProjectID: 1, FlagCall: capture.FlagCall{Flag: fmt.Sprintf("flag %05d", i), Value: "x"}, Calls: 1, First: when, Last: when})
			}
			save(&c)
			var others int64
			err := s.db.Read.QueryRow(`SELECT calls FROM flag_calls WHERE flag_key = '(others)'`).Scan(&others)
			if n := countRows(t, s, "flag_calls"); err != nil || n != 2*maxFlagCalls+1 || others != 7 {
				t.Errorf("%d pairs of flag and value, %d calls of other flags, %v; want %d and 7", n, others, err, 2*maxFlagCalls+1)
			}

			// Values that a flag of the project can have are counted nevertheless.
			if _, err := s.db.Write.Exec(`INSERT INTO flag_records (project_id, id, key, record) VALUES (1, 1, 'real', '{"filters":{"multivariate":{"variants":[{"key":"control"}]}}}')`); err != nil {
				t.Fatal(err)
			}
			c = capture.Changes{}
			for value, calls := range map[string]int64{"true": 2, "control": 3, "invented": 5, "another": 7} {
				c.Calls = append(c.Calls, capture.FlagCalls{ProjectID: 1, FlagCall: capture.FlagCall{Flag: "real", Value: value}, Calls: calls, First: when, Last: when})
			}
			save(&c)
			for value, want := range map[string]int64{"true": 2, "control": 3, "(others)": 12} {
				var calls int64
				if err := s.db.Read.QueryRow(`SELECT calls FROM flag_calls WHERE flag_key = 'real' AND value = $1`, value).Scan(&calls); err != nil || calls != want {
					t.Errorf("%s of a flag of the project: %d calls, %v, want %d", value, calls, err, want)
				}
			}

			// New names replace the names that were not seen for the longest time.
			seen := func(name string) (n int) {
				if err := s.db.Read.QueryRow(`SELECT COUNT(*) FROM seen_names WHERE name = $1`, name).Scan(&n); err != nil {
					t.Error(err)
				}
				return n
			}
			c = capture.Changes{Seen: []capture.SeenName{{ProjectID: 1, Kind: capture.SeenEvent, Name: "name 00000", At: when.Add(time.Second)}}}
			save(&c)
			for round := range 2 {
				c = capture.Changes{}
				for i := range seenSlack {
					c.Seen = append(c.Seen, capture.SeenName{ProjectID: 1, Kind: capture.SeenEvent, Name: fmt.Sprintf("invented %d %05d", round, i), At: when.Add(time.Minute)})
				}
				save(&c)
			}
			if n := countRows(t, s, "seen_names"); n != maxSeen {
				t.Errorf("%d names, want %d", n, maxSeen)
			}
			if seen("name 00000") != 1 || seen("invented 1 00999") != 1 || seen("name 00001") != 0 || seen("name 09999") != 1 {
				t.Error("not the least recently seen names have made room")
			}

			// 25 types with one warning too many each, the oldest last.
			for kind := range 25 {
				c = capture.Changes{}
				for i := range maxWarningsOfType + 1 {
					c.Warnings = append(c.Warnings, capture.Warning{
						ProjectID: 1, Type: capture.WarningType(fmt.Sprintf("type %02d", kind)), DistinctID: fmt.Sprintf("id %04d", i), Count: 1,
						At: when.AddDate(0, 0, kind).Add(-database.FromMicros(int64(i)).Sub(database.FromMicros(0))),
					})
				}
				save(&c)
			}
			for text, want := range map[string]int{
				`SELECT COUNT(*) FROM warnings`:                                      maxWarnings,
				`SELECT COUNT(*) FROM warnings WHERE type = 'type 24'`:               maxWarningsOfType,
				`SELECT COUNT(*) FROM warnings WHERE type < 'type 05'`:               0,
				`SELECT COUNT(*) FROM warnings WHERE distinct_id = 'id 1000'`:        0, // the oldest of each type
				`SELECT COUNT(*) FROM warnings WHERE distinct_id = 'id 0999'`:        20,
				`SELECT COUNT(*) FROM (SELECT DISTINCT type FROM warnings) AS types`: 20,
			} {
				var n int
				if err := s.db.Read.QueryRow(text).Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d, %v, want %d", text, n, err, want)
				}
			}
		})
	}
}
