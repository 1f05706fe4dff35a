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
	unknown := func(int64, int64, int64) ([]capture.UUID, bool) { return nil, false }
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
	o := c.take(1, 7, unknown)
	if o.table.person("ana") != 0 || o.table.person("nobody") != unresolved || len(o.groups[key]) != 1 {
		t.Error("owners within the limit are not there")
	}
	c.put(1, o)
	if o := c.take(1, 8, unknown); len(o.people) != 0 || len(o.groups) != 0 {
		t.Error("owners of another value of the counter are there")
	}
	c.put(1, fill(ownersBytes, ownersBytes/4))
	o = c.take(1, 7, unknown)
	if o.table.person("ana") != unresolved || len(o.groups[key]) != 1 || o.people[0] != personOf(1) || o.size != ownersBytes/4 {
		t.Errorf("without the distinct ids: %d groups, %d bytes", len(o.groups), o.size)
	}
	c.put(1, fill(1, ownersBytes+1))
	if o := c.take(1, 7, unknown); len(o.groups) != 0 {
		t.Error("owners beyond the limit are there")
	}
	for project := range int64(3) {
		c.put(project, fill(0, ownersBytes/2))
	}
	if o := c.take(0, 7, unknown); len(o.groups) != 0 {
		t.Error("three halves of the limit are there")
	}
	if o := c.take(2, 7, unknown); len(o.groups) != 1 {
		t.Error("the last owners are not there")
	}
}

// After merges, the cache has the persons into whom others were merged: also after several merges of a
// person, and if the person was not there before. Distinct ids without a person are looked up again. If the merges
// are not known, or contradict each other, the owners are not there.
func TestOwnersCache_Merges(t *testing.T) {
	key := groupKey{"a.parquet", 3}
	for what, test := range map[string]struct {
		merged    []uint32 // pairs
		isUnknown bool
		want      []uint32 // the persons of the distinct ids 0 to 3 afterwards; nil if there are no owners
	}{
		"no merge":                        {nil, false, []uint32{0, 1, 2, 3}},
		"a merge":                         {[]uint32{1, 2}, false, []uint32{0, 2, 2, 3}},
		"a merge of who was merged into":  {[]uint32{1, 2, 2, 3}, false, []uint32{0, 3, 3, 3}},
		"into a person who was not there": {[]uint32{0, 9}, false, []uint32{9, 1, 2, 3}},
		"of a person who was not there":   {[]uint32{9, 0}, false, []uint32{0, 1, 2, 3}},
		"unknown merges":                  {nil, true, nil},
		"a person is merged twice":        {[]uint32{1, 2, 1, 3}, false, nil},
		"persons into each other":         {[]uint32{1, 2, 2, 1}, false, nil},
	} {
		o, c := newOwners(7), newOwnersCache()
		for i := range uint32(4) {
			n := o.number(personOf(i))
			o.table.set(fmt.Sprint("id ", i), n)
			o.groups[key] = append(o.groups[key], n)
		}
		o.table.set("nobody", noPerson)
		c.put(1, o)
		o = c.take(1, 9, func(project, from, to int64) (pairs []capture.UUID, ok bool) {
			if project != 1 || from != 7 || to != 9 {
				t.Errorf("%s: the merges of project %d from %d to %d", what, project, from, to)
			}
			for _, person := range test.merged {
				pairs = append(pairs, personOf(person))
			}
			return pairs, !test.isUnknown
		})
		if o.rewritten != 9 || o.table.person("nobody") != unresolved || (len(o.groups) > 0) != (test.want != nil) {
			t.Errorf("%s: %d groups, for the value %d", what, len(o.groups), o.rewritten)
			continue
		}
		for i, want := range test.want {
			n := o.table.person(fmt.Sprint("id ", i))
			if o.people[n] != personOf(want) || o.groups[key][i] != n {
				t.Errorf("%s: the distinct id %d has the person %s", what, i, o.people[n])
			}
		}
	}
}
