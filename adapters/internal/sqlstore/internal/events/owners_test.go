package events

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/capture"
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

// Persons have numbers from 0 in the order in which they are found, also when there are many.
func TestOwners_Numbers(t *testing.T) {
	o := newOwners(0)
	for range 2 {
		for i := range uint32(5000) {
			if n := o.number(personOf(i)); n != i || o.people[n] != personOf(i) {
				t.Fatalf("person %d has the number %d", i, n)
			}
		}
	}
	if len(o.people) != 5000 {
		t.Errorf("%d persons, want 5000", len(o.people))
	}
}

// personOf returns a UUID that differs in its last bytes only.
func personOf(i uint32) (u capture.UUID) {
	binary.BigEndian.PutUint32(u[12:], i)
	return u
}

// Owners that are too large for the cache lose the distinct ids, but keep the groups and persons; if these are too
// large, too, the cache does not store them. The cache removes the owners of the project that was used least recently.
func TestOwnersCache_Sizes(t *testing.T) {
	c := newOwnersCache()
	key := groupKey{"a.parquet", 3}
	fill := func(table, other int64) *owners {
		o := newOwners(7)
		o.table.set("ana", o.number(personOf(1)))
		o.unknown = append(o.unknown, o.table.set("nobody", noPerson))
		o.groups[key] = []uint32{0}
		o.size, o.tableSize = table+other, table
		return o
	}
	c.put(1, fill(ownersBytes/2, ownersBytes/4))
	o := c.take(1, 7)
	if o.table.person("ana") != 0 || o.table.person("nobody") != unresolved || len(o.groups[key]) != 1 {
		t.Error("owners within the limit are not there")
	}
	c.put(1, o)
	if o := c.take(1, 8); len(o.people) != 0 || len(o.groups) != 0 {
		t.Error("owners of another value of the counter are there")
	}
	c.put(1, fill(ownersBytes, ownersBytes/4))
	o = c.take(1, 7)
	if o.table.person("ana") != unresolved || len(o.groups[key]) != 1 || o.people[0] != personOf(1) || o.size != ownersBytes/4 {
		t.Errorf("without the distinct ids: %d groups, %d bytes", len(o.groups), o.size)
	}
	c.put(1, fill(1, ownersBytes+1))
	if o := c.take(1, 7); len(o.groups) != 0 {
		t.Error("owners beyond the limit are there")
	}
	for project := range int64(3) {
		c.put(project, fill(0, ownersBytes/2))
	}
	if o := c.take(0, 7); len(o.groups) != 0 {
		t.Error("three halves of the limit are there")
	}
	if o := c.take(2, 7); len(o.groups) != 1 {
		t.Error("the last owners are not there")
	}
}
