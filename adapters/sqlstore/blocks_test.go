package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// randomEvents returns n events, one in a hundred of project 2, the rest of project 1.
func randomEvents(random *rand.Rand, n int) (keys []capture.EventKey, events []capture.Record) {
	for i := range n {
		id := random.IntN(400)
		e := capture.Record{
			ProjectID: 1, UUID: capture.PersonID(1, fmt.Sprint("event ", random.Int64())), Name: fmt.Sprint("name ", random.IntN(5)), DistinctID: fmt.Sprint("id ", id),
			Properties: "{}", PersonProperties: "{}", PersonID: capture.PersonID(1, fmt.Sprint("id ", id)),
			Timestamp: database.FromMicros(random.Int64N(30 * 86400 * 1e6)), CreatedAt: database.FromMicros(int64(i) * 1e6),
		}
		if random.IntN(100) == 0 {
			e.ProjectID = 2
		}
		keys = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID})
		events = append(events, e)
	}
	return keys, events
}

// blockScans are scans, most of which can be executed on blocks.
var blockScans = func() (out []port.Scan) {
	day := 24 * time.Hour.Microseconds()
	for _, columns := range []port.Columns{
		0, port.IDs, port.Names, port.DistinctIDs, port.PeopleAtEvent | port.IDs, port.Names | port.People,
		port.People | port.PeopleCreated, port.Names | port.DistinctIDs | port.IDs | port.People | port.PeopleAtEvent, port.Names | port.UUIDs,
	} {
		for _, s := range []port.Scan{
			{}, {From: 3 * day, To: 20 * day}, {Names: []string{"name 2"}}, {Names: []string{"name 1", "name 4", "none"}, From: day, To: 2 * day}, {Names: []string{"none"}},
			{DistinctIDs: []string{"id 5", "id 99"}}, {From: 100 * day, To: 200 * day},
		} {
			s.Columns = columns
			out = append(out, s)
		}
	}
	return out
}()

// scannedEvent is an event as a scan returns it.
type scannedEvent struct {
	// columns are those that the scan returned besides the time.
	columns             [6]bool
	time, id            int64
	name, distinctID    string
	uuid, personAtEvent capture.UUID
	person              port.Person
}

// scanResult is the number of events of a scan, and the sum of their hashes, which does not depend
// on their order.
type scanResult struct {
	events int
	sum    uint64
}

var scanSeed = maphash.MakeSeed()

// valueAt returns a value of a column, or the zero value if the scan did not return the column.
func valueAt[T any](column []T, i int) (value T) {
	if column != nil {
		value = column[i]
	}
	return value
}

// scansOf returns the results of scans, in order.
func scansOf(t *testing.T, s *Store, project int64, scans []port.Scan) (out []scanResult) {
	t.Helper()
	for _, scan := range scans {
		r, err := s.Open(t.Context(), project)
		if err != nil {
			t.Fatal(err)
		}
		var found scanResult
		err = r.Scan(t.Context(), scan, func(b *port.Batch) error {
			for i := range b.Len() {
				e := scannedEvent{
					columns: [6]bool{b.ID != nil, b.Name != nil, b.DistinctID != nil, b.UUID != nil, b.PersonAtEvent != nil, b.Person != nil},
					time:    b.Time[i], id: valueAt(b.ID, i), name: valueAt(b.Name, i), distinctID: valueAt(b.DistinctID, i),
					uuid: valueAt(b.UUID, i), personAtEvent: valueAt(b.PersonAtEvent, i),
				}
				if b.Person != nil {
					e.person = *r.Person(b.Person[i])
				}
				found.events++
				found.sum += maphash.Comparable(scanSeed, e)
			}
			return nil
		})
		if err = errors.Join(err, r.Close()); err != nil {
			t.Fatalf("%+v: %v", scan, err)
		}
		out = append(out, found)
	}
	return out
}

// decodeBlocks decodes all blocks that have events.
func decodeBlocks(t *testing.T, s *Store) (out []*block.Columns) {
	t.Helper()
	err := database.Query(t.Context(), s.db.Read, func(rows *sql.Rows) error {
		var names, people []byte
		b := &block.Columns{}
		out = append(out, b)
		return errors.Join(rows.Scan(&names, &people), b.DecodeNames(names), b.DecodePeople(people))
	}, `SELECT events, people FROM event_blocks WHERE events <> x''`)
	if err != nil || len(out) == 0 {
		t.Fatalf("%d blocks, %v", len(out), err)
	}
	return out
}

// Scans of blocks return the same events as scans of rows and indexes: after erasing,
// after deleting old events, and after blocks were built again.
func TestBlocks_AnswerAsRows(t *testing.T) {
	s, random := sqliteStores["disk"](t), rand.New(rand.NewPCG(3, 4))
	for range 34 {
		keys, events := randomEvents(random, 1000)
		err := s.Commit(t.Context(), []int64{1, 2}, func(tx capture.Tx) error {
			if _, err := tx.Claim(keys); err != nil {
				return err
			}
			return tx.Save(&capture.Changes{Events: events})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	ann := capture.PersonID(1, "id 5")
	if _, err := s.db.Write.Exec(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid) VALUES (1, 'id 5', $1)`, ann[:]); err != nil {
		t.Fatal(err)
	}
	made := func() { // built by Index
		t.Helper()
		for more := true; more; {
			var err error
			if more, err = s.Index(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}
	}
	blocks := func(where string) (n int) {
		t.Helper()
		if err := s.db.Read.QueryRow(`SELECT COUNT(*) FROM event_blocks WHERE ` + where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	compare := func(when string, full int, scans []port.Scan) {
		t.Helper()
		if n := blocks("events <> x''"); n != full {
			t.Errorf("%s: %d blocks, want %d", when, n, full)
		}
		for project := int64(1); project <= 2; project++ {
			if project == 2 && when != "whole" {
				continue // it has no blocks
			}
			got := scansOf(t, s, project, scans)
			if _, err := s.db.Write.Exec(`CREATE TABLE kept AS SELECT * FROM event_blocks; DELETE FROM event_blocks`); err != nil {
				t.Fatal(err)
			}
			want := scansOf(t, s, project, scans)
			if _, err := s.db.Write.Exec(`INSERT INTO event_blocks SELECT * FROM kept; DROP TABLE kept`); err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if want[i] != got[i] {
					t.Errorf("%s, project %d, %+v: %d events in rows, %d with blocks", when, project, scans[i], want[i].events, got[i].events)
				}
			}
			if want[0].events == 0 {
				t.Errorf("%s: project %d has no events", when, project)
			}
		}
	}

	made()
	compare("whole", 2, blockScans) // epochs of project 1; project 2 has too few events
	if n := blocks("events = x''"); n != 2 {
		t.Errorf("%d of project 2, want two empty ones", n)
	}

	err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error { _, err := tx.EraseEvents(1, ann); return err })
	if err != nil {
		t.Fatal(err)
	}
	// Every fourth scan: together they still have all columns and all restrictions.
	var some []port.Scan
	for i := 0; i < len(blockScans); i += 4 {
		some = append(some, blockScans[i])
	}
	compare("erased", 0, some)
	made()
	compare("made anew", 2, some)
	for _, b := range decodeBlocks(t, s) {
		if slices.Contains(b.DistinctIDs, "id 5") || slices.Contains(b.Persons, ann) {
			t.Error("a block still knows who was erased")
		}
	}

	if n, err := s.DeleteEventsBefore(t.Context(), database.FromMicros(800*1e6), 500); err != nil || n != 500 {
		t.Fatal(n, err)
	}
	made()
	compare("the oldest are deleted", 1, some)
	if _, err := s.db.Write.Exec(`UPDATE event_blocks SET people = x'01' WHERE people <> x''`); err != nil {
		t.Fatal(err)
	}
	compare("damaged", 1, some)
}
