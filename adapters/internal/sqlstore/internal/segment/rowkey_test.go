package segment

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/capture"
)

// An event of a group has its id together with its UUID, name and distinct id, and no other key, whether the
// column of distinct ids has a dictionary or not. Keys in the order of the ids read a page of each
// column and a dictionary a single time.
func TestRows_HasKey(t *testing.T) {
	m := newMaker(11)
	withDictionary, without := m.events(5000), m.events(5000)
	for i := range without {
		withDictionary[i].DistinctID, without[i].DistinctID = fmt.Sprint("id ", i%50), capture.PersonID(1, fmt.Sprint(i)).String()
	}
	f, count := counted(t, withDictionary, without)
	for g, events := range [][]event{withDictionary, without} {
		if got, want := f.groups[g].chunks[distinctColumn].hasDictionary(), g == 0; got != want {
			t.Fatalf("group %d has a dictionary: %t", g, got)
		}
		reads := 0
		for _, at := range [...]int{idColumn, uuidColumn, nameColumn, distinctColumn} {
			c := &f.groups[g].chunks[at]
			if reads += c.count(); c.hasDictionary() {
				reads++
			}
		}
		*count = counter{ReaderAt: count.ReaderAt}
		rows := f.Rows(g)
		has := func(id int64, uuid capture.UUID, name, distinctID string) bool {
			ok, err := rows.HasKey(id, &capture.EventKey{UUID: uuid, Name: name, DistinctID: distinctID})
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		for i := range events {
			e, other := &events[i], capture.UUID{1}
			if !has(e.ID, e.UUID, e.Name, e.DistinctID) {
				t.Fatalf("group %d has no event %d", g, i)
			}
			if has(e.ID, other, e.Name, e.DistinctID) || has(e.ID, e.UUID, e.Name+"x", e.DistinctID) || has(e.ID, e.UUID, e.Name, e.DistinctID+"x") {
				t.Fatalf("group %d: event %d has another key", g, i)
			}
		}
		if count.reads != reads {
			t.Errorf("group %d: %d reads of %d pages", g, count.reads, reads)
		}
		e := &events[len(events)-1]
		if has(e.ID+1, e.UUID, e.Name, e.DistinctID) || has(0, e.UUID, e.Name, e.DistinctID) {
			t.Errorf("group %d has an event with another id", g)
		}
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}
}
