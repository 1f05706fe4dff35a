package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A cache without room for all owners does not change what scans return: with room for all, for a part of the groups,
// and for none.
func TestSegments_Owners(t *testing.T) {
	for what, bytes := range map[string]int64{"room for all": 1 << 20, "room for a part": 20 << 10, "no room": 0} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			testOwners(t, bytes)
		})
	}
}

// testOwners tests scans with a cache for owners. Scans of segments have the persons to whom distinct ids belong now (port.Batch.Person), in the first scan, in later
// ones, which use the owners that were found, after persons are merged, after one is erased, and beside events that
// are in no segment. Groups have a few distinct ids, or another one for each event, and in some a distinct id has no
// person.
func testOwners(t *testing.T, ownerBytes int64) {
	folder, shares := t.TempDir(), memory.Of(0)
	shares.Owners = ownerBytes
	store, err := Open(t.Context(), "sqlite:"+filepath.Join(folder, "store.db"), Config{
		Segments: filepath.Join(folder, "events"), Memory: shares, keepsOlder: true, sealing: events.Sealing{MinBlocks: 1, Any: true, After: never, RemoveAfter: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(31, 32)), store: store}
	for id := range 400 {
		m.person(fmt.Sprint("id ", id))
	}
	const day = 86400 * 1e6
	compare := func(when string) {
		t.Helper()
		var scans []port.Scan
		for _, s := range []port.Scan{
			{Columns: port.People}, {Columns: port.People, Names: []string{"name 1"}}, {Columns: port.People | port.IDs, From: 3 * day, To: 4 * day},
			{Columns: port.People | port.DistinctIDs}, {Columns: port.People | port.PeopleAtEvent}, {Columns: port.People, DistinctIDs: []string{"id 7", "id 8"}},
			{Columns: port.People | port.Names, After: int64(len(m.list)) / 3},
		} {
			s.HasSpareCPU = func() bool { return true }
			scans = append(scans, s, s)
		}
		for i, got := range scansOf(t, m.store, 1, scans) {
			if want := plainScan(t, m.list, 1, m.owners, scans[i]); got != want {
				t.Errorf("%s, %+v: %d events, want %d, or other persons", when, scans[i], got.events, want.events)
			}
		}
	}
	seal := func(ids func(i int) string) {
		m.change = func(i int, e *capture.Record) { e.ProjectID, e.DistinctID = 1, ids(i) }
		m.commit(1200)
		indexAll(t, m.store)
		sealAll(t, m.store)
	}
	seal(func(i int) string { return fmt.Sprint("id ", i%400) })
	compare("few distinct ids")
	seal(func(i int) string { return fmt.Sprint("id ", 1000+i) })
	compare("persons are not known")
	for id := range 1200 {
		m.person(fmt.Sprint("id ", 1000+id))
	}
	compare("distinct ids have persons now")
	for i := range 50 {
		m.merge(fmt.Sprint("id ", 2*i), fmt.Sprint("id ", 1000+i))
	}
	compare("persons are merged")
	m.commit(300)
	compare("events that are not sealed")
	m.erase("id 7")
	compare("a person is erased")
	sealAll(t, m.store)
	compare("the files are replaced")
}
