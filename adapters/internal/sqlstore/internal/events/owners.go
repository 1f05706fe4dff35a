package events

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
)

const (
	// ownerEntrySize, personEntrySize, detailSize and groupEntrySize are the approximate sizes in memory of the entry
	// for a distinct id, without its string, for a person, for its time of creation, and for a group, in bytes.
	ownerEntrySize, personEntrySize, detailSize, groupEntrySize = 32, 24, 32, 128
	// ownersProjects is the maximum number of projects in the cache.
	ownersProjects = 1024
	// ownersStep is the number of distinct ids in one lookup.
	ownersStep = 500
)

// owners maps distinct ids of a project to their persons, which are numbered from 0. It
// is used by one query at a time, which adds entries. The entries are valid as long as
// the project's counter rewritten has the value that it had before the first of them
// was read: a new event cannot change the owner of a known distinct id without
// incrementing the counter. If it changes because persons were merged, merge changes the entries.
type owners struct {
	// rewritten is the value of the counter for which the entries are valid.
	rewritten int64
	people    pieces[capture.UUID]
	numbers   []uint32 // hash table of people: slots with the number plus 1, or 0; as long as a power of two
	seed      maphash.Seed
	table     *ownerTable
	groups    map[groupKey]*ownerGroup
	// size is the approximate size in memory, in bytes, tableSize that of the table, and usedSize that of the groups
	// that the present query has used.
	size, tableSize, usedSize int64
	// queries is the number of queries that have used the owners, and added that of the groups that were added.
	queries, added int
	// unknown are the numbers in the table of distinct ids without a row. They may get a row later
	// without a change of the counter, so they are looked up again by the next query.
	unknown []uint32
}

// groupKey identifies a group of a segment, whose file never changes.
type groupKey struct {
	file  string
	group int
}

// ownerGroup are the owners of the distinct ids of a group, in the order of its dictionary. All of these distinct ids
// have owners.
type ownerGroup struct {
	owners []uint32
	// added is the number of groups that were added before, and used that of the last query that has used it.
	added, used int
}

// size returns the approximate size of a group in memory, in bytes.
func (g *ownerGroup) size() int64 { return groupEntrySize + 4*int64(len(g.owners)) }

// newOwners returns owners that are valid for a value of the counter rewritten.
func newOwners(rewritten int64) *owners {
	return &owners{rewritten: rewritten, seed: maphash.MakeSeed(), table: newOwnerTable(), groups: map[groupKey]*ownerGroup{}}
}

// number returns the number of a person, and assigns one if the person is new.
func (o *owners) number(person capture.UUID) uint32 {
	if 4*(o.people.n+1) > 3*len(o.numbers) {
		o.index(max(1024, 2*len(o.numbers)))
	}
	at := o.slot(person)
	if o.numbers[at] == 0 {
		o.people.add(person)
		o.numbers[at] = uint32(o.people.n)
	}
	return o.numbers[at] - 1
}

// index creates numbers with n slots.
func (o *owners) index(n int) {
	o.numbers = make([]uint32, n)
	for i := range uint32(o.people.n) {
		o.numbers[o.slot(*o.people.at(i))] = i + 1
	}
}

// slot returns the index of a person in numbers, or of the free slot for it.
func (o *owners) slot(person capture.UUID) uint64 {
	mask := uint64(len(o.numbers) - 1)
	for i := maphash.Bytes(o.seed, person[:]) & mask; ; i = (i + 1) & mask {
		if n := o.numbers[i]; n == 0 || *o.people.at(n - 1) == person {
			return i
		}
	}
}

// find returns the number of a person, if the person has one.
func (o *owners) find(person capture.UUID) (number uint32, ok bool) {
	if len(o.numbers) == 0 {
		return 0, false
	}
	n := o.numbers[o.slot(person)]
	return n - 1, n > 0
}

// merge changes the owners after merges, which are pairs as returned by Reader.Merged. Distinct ids without an owner
// become unresolved, because they may have an owner now. It returns false if the pairs contradict each other.
func (o *owners) merge(pairs []capture.UUID) bool {
	before, into := o.people.n, map[uint32]uint32{}
	last := func(n uint32) uint32 {
		for next, ok := into[n]; ok; next, ok = into[n] {
			n = next
		}
		return n
	}
	for pair := range slices.Chunk(pairs, 2) {
		from, ok := o.find(pair[0])
		if !ok {
			continue
		}
		to := last(o.number(pair[1]))
		if _, again := into[from]; again || to == from {
			return false
		}
		into[from] = to
	}
	o.size += int64(o.people.n-before) * personEntrySize
	owner := make([]uint32, o.people.n)
	for n := range owner {
		owner[n] = uint32(n)
	}
	for from := range into {
		owner[from] = last(from)
	}
	for _, piece := range o.table.entries.list {
		for i := range piece {
			switch e := &piece[i]; {
			case e.person == noPerson:
				e.person = unresolved
			case e.person != unresolved:
				e.person = owner[e.person]
			}
		}
	}
	if len(into) == 0 {
		return true
	}
	for _, g := range o.groups {
		for i, n := range g.owners {
			g.owners[i] = owner[n]
		}
	}
	return true
}

// group returns the owners of a group for the present query, nil if they are not there.
func (o *owners) group(key groupKey) []uint32 {
	g := o.groups[key]
	if g == nil {
		return nil
	}
	o.use(g)
	return g.owners
}

// use notes that the present query uses a group.
func (o *owners) use(g *ownerGroup) {
	if g.used != o.queries {
		g.used = o.queries
		o.usedSize += g.size()
	}
}

// add adds the owners of a group, and returns their size. It returns 0 if they are there, or if those of the present
// query would exceed most bytes, so that some of them would be removed at its end.
func (o *owners) add(key groupKey, list []uint32, most int64) int64 {
	g := &ownerGroup{owners: list, added: o.added}
	size := g.size()
	if o.groups[key] != nil || o.usedSize+size > most {
		return 0
	}
	g.owners = slices.Clone(list)
	o.groups[key] = g
	o.added++
	o.use(g)
	o.size += size
	return size
}

// shrink removes what exceeds most bytes: first the table, then groups.
func (o *owners) shrink(most int64) {
	if o.size <= most {
		return
	}
	o.size -= o.tableSize
	o.table, o.tableSize, o.unknown = newOwnerTable(), 0, nil
	if o.size > most {
		o.shrinkGroups(most)
	}
}

// shrinkGroups removes groups until the rest has room with its persons, and the persons of the removed groups. The
// groups that the last query has used remain before other groups, and of these the groups that were added first: queries
// that use the same groups find the same part of them each time.
func (o *owners) shrinkGroups(most int64) {
	keys := slices.SortedFunc(maps.Keys(o.groups), func(a, b groupKey) int {
		g, h := o.groups[a], o.groups[b]
		return cmp.Or(cmp.Compare(h.used, g.used), cmp.Compare(g.added, h.added))
	})
	o.size = 0
	numbers := make([]uint32, o.people.n) // for each person, the first of the groups that has the person, from 1
	groups := uint32(0)
	for _, key := range keys {
		g := o.groups[key]
		size := g.size()
		for _, n := range g.owners {
			if numbers[n] == 0 {
				numbers[n] = groups + 1
				size += personEntrySize
			}
		}
		if o.size+size > most {
			break
		}
		o.size += size
		groups++
	}
	for _, key := range keys[groups:] {
		delete(o.groups, key)
	}
	o.selectPeople(numbers, groups)
}

// selectPeople removes the persons for whom numbers has 0 or more than most, and changes the numbers of the remaining
// persons in the groups. The table must be empty.
func (o *owners) selectPeople(numbers []uint32, most uint32) {
	next := uint32(0)
	for i, n := range numbers {
		if n > 0 && n <= most {
			*o.people.at(next) = *o.people.at(uint32(i))
			numbers[i] = next
			next++
		}
	}
	o.people.cut(int(next))
	slots := 1024
	for 4*int(next+1) > 3*slots {
		slots *= 2
	}
	o.index(slots)
	for _, g := range o.groups {
		for i, n := range g.owners {
			g.owners[i] = numbers[n]
		}
	}
}

// ownersCache is an LRU cache of owners by project. Owners in use by a query are not in
// the cache. In 48 MiB, 500,000 distinct ids and as many persons fit. Of a project with more, there are only owners by
// groups of segments: those of as many groups as fit, with their persons.
type ownersCache struct {
	most int64 // bytes

	mu    sync.Mutex
	lru   *simplelru.LRU[int64, *owners]
	bytes int64
}

// newOwnersCache returns an empty cache for a number of bytes.
func newOwnersCache(most int64) *ownersCache {
	c := &ownersCache{most: most}
	c.lru, _ = simplelru.NewLRU(ownersProjects, func(_ int64, o *owners) { c.bytes -= o.size }) // fails only for sizes below 1
	return c
}

// take removes and returns the owners of a project for a query, after changes up to the value of the counter
// rewritten. If there are no owners, or merged does not return all changes, the result is empty.
func (c *ownersCache) take(project, rewritten int64, merged func(project, from, to int64) ([]capture.UUID, bool)) *owners {
	o := c.find(project, rewritten, merged)
	o.queries++
	o.usedSize = 0
	return o
}

// find implements take.
func (c *ownersCache) find(project, rewritten int64, merged func(project, from, to int64) ([]capture.UUID, bool)) *owners {
	c.mu.Lock()
	o, ok := c.lru.Peek(project)
	c.lru.Remove(project)
	c.mu.Unlock()
	switch {
	case !ok:
	case o.rewritten >= rewritten: // greater if a query that began later has ended
		return o
	default:
		if pairs, ok := merged(project, o.rewritten, rewritten); ok && o.merge(pairs) {
			o.rewritten = rewritten
			return o
		}
	}
	return newOwners(rewritten)
}

// put returns owners to the cache after a query, as far as they fit. If another query has added owners of the project
// meanwhile, they are replaced.
func (c *ownersCache) put(project int64, o *owners) {
	o.shrink(c.most)
	for _, n := range o.unknown {
		o.table.entries.at(n).person = unresolved
	}
	o.unknown = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(project)
	c.lru.Add(project, o)
	for c.bytes += o.size; c.bytes > c.most; {
		c.lru.RemoveOldest()
	}
}
