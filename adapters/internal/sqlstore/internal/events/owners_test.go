package events

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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
	if table.entries.n != len(want) {
		t.Errorf("%d distinct ids, want %d", table.entries.n, len(want))
	}
}

// Persons have numbers from 0 in the order in which they are found, also when there are many.
func TestOwners_Numbers(t *testing.T) {
	o := newOwners(0)
	for range 2 {
		for i := range uint32(5000) {
			if n := o.number(personOf(i)); n != i || *o.people.at(n) != personOf(i) {
				t.Fatalf("person %d has the number %d", i, n)
			}
		}
	}
	if o.people.n != 5000 {
		t.Errorf("%d persons, want 5000", o.people.n)
	}
}

// personOf returns a UUID that differs in its last bytes only.
func personOf(i uint32) (u capture.UUID) {
	binary.BigEndian.PutUint32(u[12:], i)
	return u
}

// The elements of a long list stay where they are while it grows, and after some were cut off.
func TestPieces(t *testing.T) {
	var p pieces[int]
	var first, later *int
	for i := range 3 * pieceLen {
		switch p.add(i); i {
		case pieceLen - 1:
			first = p.at(0)
		case pieceLen:
			later = p.at(pieceLen)
		}
	}
	if p.at(0) != first || p.at(pieceLen) != later {
		t.Error("elements have moved")
	}
	for _, n := range []int{3 * pieceLen, 3*pieceLen - 1, 2 * pieceLen, pieceLen + 5, pieceLen, 3, 0} {
		p.cut(n)
		p.add(-1)
		if p.n != n+1 || *p.at(uint32(n)) != -1 || n > 0 && *p.at(uint32(n) - 1) != n-1 {
			t.Errorf("cut to %d elements: %d with the next one", n, p.n)
		}
		p.cut(n)
	}
}

// Almost all of the memory that was allocated for a large table is in use: 16 bytes for each distinct id, its string,
// and the slots, of which the last allocation has as many as all before. Two mebibytes are for the first pieces, which
// grow by copying, and for the unused ends of the last ones.
func TestOwnerTable_Memory(t *testing.T) {
	const n, length = 200_000, 40
	slots := 1024
	for 3*slots < 4*n {
		slots *= 2
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%*d", length, i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	table := newOwnerTable()
	for i, id := range ids {
		table.set(id, uint32(i))
	}
	runtime.ReadMemStats(&after)
	if got, want := after.TotalAlloc-before.TotalAlloc, uint64(n*(16+length)+2*8*slots)+2<<20; got > want {
		t.Errorf("%d bytes were allocated, want at most %d", got, want)
	}
	runtime.KeepAlive(table)
}

// groupOf returns the key of a group with a number.
func groupOf(number int) groupKey { return groupKey{"a.parquet", number} }

// addGroup adds a group whose distinct ids belong to some persons, as a query does that finds it.
func addGroup(o *owners, number int, most int64, people ...uint32) int64 {
	var list []uint32
	for _, p := range people {
		before := o.people.n
		list = append(list, o.number(personOf(p)))
		o.size += int64(o.people.n-before) * personEntrySize
	}
	return o.add(groupOf(number), list, most)
}

// addDistinctID adds a distinct id without a group.
func addDistinctID(o *owners, id string, person uint32) uint32 {
	size := int64(len(id)) + ownerEntrySize
	o.size, o.tableSize = o.size+size, o.tableSize+size
	return o.table.set(id, person)
}

// peopleIn returns the persons of the distinct ids of a group, nil if the owners do not have it.
func peopleIn(o *owners, number int) (people []capture.UUID) {
	for _, n := range o.group(groupOf(number)) {
		people = append(people, *o.people.at(n))
	}
	return people
}

// noMerges returns that no changes are known.
func noMerges(int64, int64, int64) ([]capture.UUID, bool) { return nil, false }

// The next query finds owners within the limit, except for distinct ids without a person, which it looks up. Of owners
// that are too large, it finds the groups and persons, but not the distinct ids. The cache removes the owners of the
// project that was used least recently, and of another value of the counter.
func TestOwnersCache_Sizes(t *testing.T) {
	// Two persons, a group of three distinct ids, and the distinct ids ana and nobody.
	const people, group, ids = 2 * personEntrySize, groupEntrySize + 3*4, 3 + 6 + 2*ownerEntrySize
	fill := func() *owners {
		o := newOwners(7)
		addGroup(o, 3, people+group, 5, 6, 5)
		addDistinctID(o, "ana", o.number(personOf(5)))
		o.unknown = append(o.unknown, addDistinctID(o, "nobody", noPerson))
		return o
	}
	want := []capture.UUID{personOf(5), personOf(6), personOf(5)}
	for most, size := range map[int64]int64{people + group + ids: people + group + ids, people + group + ids - 1: people + group} {
		c := newOwnersCache(most)
		c.put(1, fill())
		o := c.take(1, 7, noMerges)
		person := uint32(0)
		if size == people+group {
			person = unresolved
		}
		if o.size != size || o.table.person("ana") != person || o.table.person("nobody") != unresolved || !slices.Equal(peopleIn(o, 3), want) {
			t.Errorf("with %d bytes: %d bytes, ana has the person %d, and the group the persons %v", most, o.size, o.table.person("ana"), peopleIn(o, 3))
		}
		if c.put(1, o); peopleIn(c.take(1, 8, noMerges), 3) != nil {
			t.Error("owners of another value of the counter are there")
		}
	}
	c := newOwnersCache(3*(people+group+ids) - 1)
	for project := range int64(3) {
		c.put(project, fill())
	}
	if peopleIn(c.take(0, 7, noMerges), 3) != nil || peopleIn(c.take(2, 7, noMerges), 3) == nil {
		t.Error("of three projects, not the last two are there")
	}
}

// If the groups do not fit, the cache has as many as fit with their persons, who get new numbers: before other groups,
// those that the last query has used, and of these the groups that were added first. A query adds no groups that would
// not fit with the groups that it has used.
func TestOwnersCache_Groups(t *testing.T) {
	// The sizes of the groups 0 to 2, the persons of those before not counted.
	const zero, one, two = groupEntrySize + 2*4 + 2*personEntrySize, groupEntrySize + 2*4 + personEntrySize, groupEntrySize + 3*4 + 2*personEntrySize
	groups := [][]uint32{{11, 12}, {12, 13}, {11, 14, 15}}
	check := func(what string, o *owners, size int64, people int, there ...int) {
		t.Helper()
		if o.size != size || o.people.n != people {
			t.Errorf("%s: %d bytes and %d persons, want %d and %d", what, o.size, o.people.n, size, people)
		}
		for number, ids := range groups {
			var want []capture.UUID
			if slices.Contains(there, number) {
				for _, id := range ids {
					want = append(want, personOf(id))
				}
			}
			if got := peopleIn(o, number); !slices.Equal(got, want) {
				t.Errorf("%s: the group %d has %v, want %v", what, number, got, want)
			}
		}
	}
	c := newOwnersCache(zero + one + two - 1)
	o := c.take(1, 7, noMerges)
	for _, person := range []uint32{15, 14, 13} { // found first, for other events
		o.number(personOf(person))
		o.size += personEntrySize
	}
	for number, ids := range groups {
		addGroup(o, number, c.most, ids...)
	}
	c.put(1, o)

	o = c.take(1, 7, noMerges)
	check("after the first query", o, zero+one, 3, 0, 1)
	c.put(1, o)

	o = c.take(1, 7, noMerges)
	o.group(groupOf(0))
	if size := addGroup(o, 2, c.most, groups[2]...); size != groupEntrySize+3*4 {
		t.Errorf("the group 2 has %d bytes, want %d", size, groupEntrySize+3*4)
	}
	if size := addGroup(o, 2, c.most, groups[2]...); size != 0 {
		t.Errorf("the group 2 was added again, with %d bytes", size)
	}
	c.put(1, o)
	o = c.take(1, 7, noMerges)
	check("after a query of others", o, zero+two, 4, 0, 2)
	if n, ok := o.find(personOf(14)); !ok || *o.people.at(n) != personOf(14) {
		t.Error("a person of a group has no number")
	}
	if _, ok := o.find(personOf(13)); ok {
		t.Error("a person without a group has a number")
	}

	o = newOwnersCache(0).take(1, 7, noMerges)
	if size := addGroup(o, 0, 2*(groupEntrySize+2*4)-1, 11, 12) + addGroup(o, 1, 2*(groupEntrySize+2*4)-1, 12, 13); size != groupEntrySize+2*4 {
		t.Errorf("a query adds groups of %d bytes, want %d", size, groupEntrySize+2*4)
	}
	c = newOwnersCache(groupEntrySize)
	c.put(1, o)
	check("without room for a group", c.take(1, 7, noMerges), 0, 0)
}

// The remaining groups have their persons also when there are many, in several pieces.
func TestOwnersCache_ManyGroups(t *testing.T) {
	const groups, each = 20, 3000
	room := int64(7 * (groupEntrySize + each*(4+personEntrySize)))
	c := newOwnersCache(room)
	o := c.take(1, 7, noMerges)
	for i := range uint32(groups) {
		var people []uint32
		for k := range uint32(each) {
			people = append(people, k*groups+i) // the persons of all groups take turns
			o.number(personOf(k*groups + i))
		}
		addGroup(o, int(i), math.MaxInt64, people...)
	}
	o.size = int64(groups * (groupEntrySize + each*(4+personEntrySize)))
	c.put(1, o)
	o = c.take(1, 7, noMerges)
	if o.size != room || o.people.n != 7*each || len(o.groups) != 7 {
		t.Fatalf("%d bytes, %d persons and %d groups", o.size, o.people.n, len(o.groups))
	}
	for i := range uint32(7) {
		for k, person := range peopleIn(o, int(i)) {
			if person != personOf(uint32(k)*groups+i) {
				t.Fatalf("the distinct id %d of the group %d has the person %s", k, i, person)
			}
			if n, ok := o.find(person); !ok || *o.people.at(n) != person {
				t.Fatalf("the person %s has the number %d", person, n)
			}
		}
	}
}

// After merges, the cache has the persons into whom others were merged: also after several merges of a
// person, and if the person was not there before. Distinct ids without a person are looked up again. If the merges
// are not known, or contradict each other, the owners are not there.
func TestOwnersCache_Merges(t *testing.T) {
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
		o, c := newOwners(7), newOwnersCache(1<<20)
		for i := range uint32(4) {
			o.table.set(fmt.Sprint("id ", i), o.number(personOf(i)))
		}
		o.add(groupOf(3), []uint32{0, 1, 2, 3}, 1<<20)
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
			if *o.people.at(n) != personOf(want) || o.group(groupOf(3))[i] != n {
				t.Errorf("%s: the distinct id %d has the person %s", what, i, o.people.at(n))
			}
		}
	}
}

// BenchmarkOwnerTable sets a million distinct ids, and looks up the persons of each of them in lists of 3,000.
func BenchmarkOwnerTable(b *testing.B) {
	ids := make([]string, 1_000_000)
	for i := range ids {
		ids[i] = fmt.Sprintf("%08x-0000-7000-8000-%012x", uint32(i)*2654435761, i)
	}
	fill := func() *ownerTable {
		table := newOwnerTable()
		for i, id := range ids {
			table.set(id, uint32(i))
		}
		return table
	}
	b.Run("set", func(b *testing.B) {
		for b.Loop() {
			fill()
		}
	})
	b.Run("people", func(b *testing.B) {
		table, shuffled := fill(), slices.Clone(ids)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		var out []uint32
		for b.Loop() {
			for part := range slices.Chunk(shuffled, 3000) {
				out = table.people(out[:0], part)
			}
		}
	})
}
