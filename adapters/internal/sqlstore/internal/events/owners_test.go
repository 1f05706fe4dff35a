package events

import (
	"fmt"
	"slices"
	"testing"
)

// The table has the last person of every distinct id, also of empty and long ones and when it grows.
func TestOwnerTable(t *testing.T) {
	table, want := newOwnerTable(), map[string]uint32{}
	if got := table.person("ana"); got != unresolved {
		t.Errorf("an empty table has the person %d", got)
	}
	if got := table.people([]uint32{7}, []string{"ana", "ben"}); !slices.Equal(got, []uint32{7, unresolved, unresolved}) {
		t.Errorf("an empty table has the persons %d", got)
	}
	for i := range uint32(5000) {
		id := fmt.Sprint("id ", i%3000)
		if i == 17 {
			id = ""
		}
		table.set(id, i)
		want[id] = i
	}
	table.set("nobody", noPerson)
	want["nobody"] = noPerson
	for id, person := range want {
		if got := table.person(id); got != person {
			t.Errorf("%q has the person %d, want %d", id, got, person)
		}
	}
	if got := table.person("id 3000"); got != unresolved {
		t.Errorf("a distinct id that is not in the table has the person %d", got)
	}
	ids := []string{"id 3000"}
	for id := range want {
		ids = append(ids, id)
	}
	for i, got := range table.people(nil, ids) {
		if person, ok := want[ids[i]]; ok && got != person || !ok && got != unresolved {
			t.Errorf("among others, %q has the person %d", ids[i], got)
		}
	}
	if len(table.entries) != len(want) {
		t.Errorf("%d distinct ids, want %d", len(table.entries), len(want))
	}
}
