package events

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
)

const (
	// ownersBytes limits the cache of owners of distinct ids, for all projects together, to 48 MiB. For
	// 500,000 distinct ids and as many persons, everything is cached. Of a project with more, only the owners by
	// groups of segments are, as long as these are not too many.
	ownersBytes = 48 << 20
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
	people    []capture.UUID
	numbers   []uint32 // hash table of people: slots with the number plus 1, or 0; as long as a power of two
	seed      maphash.Seed
	table     *ownerTable
	// groups are the owners of the distinct ids of groups of segments, in the order of their dictionaries. All of
	// these distinct ids have owners.
	groups map[groupKey][]uint32
	// size is the approximate size in memory, in bytes, and tableSize that of the table.
	size, tableSize int64
	// unknown are the numbers in the table of distinct ids without a row. They may get a row later
	// without a change of the counter, so they are looked up again by the next query.
	unknown []uint32
}

// groupKey identifies a group of a segment, whose file never changes.
type groupKey struct {
	file  string
	group int
}

// newOwners returns owners that are valid for a value of the counter rewritten.
func newOwners(rewritten int64) *owners {
	return &owners{rewritten: rewritten, seed: maphash.MakeSeed(), table: newOwnerTable(), groups: map[groupKey][]uint32{}}
}

// ownerTable has the persons of distinct ids, which are numbered from 0. It is a hash table with linear
// probing, and has all strings in one piece of memory: a map of strings needs twice the memory and time.
type ownerTable struct {
	seed maphash.Seed
	// The length of slots is zero or a power of two. A slot has the number plus 1 and the upper half of
	// the hash; 0 is a free slot.
	slots   []uint64
	entries []ownerEntry
	text    []byte
}

// ownerEntry is a distinct id, which is a part of a text, and its person: a number, noPerson or
// unresolved.
type ownerEntry struct {
	from   int64
	length uint32
	person uint32
}

// newOwnerTable returns an empty table.
func newOwnerTable() *ownerTable { return &ownerTable{seed: maphash.MakeSeed()} }

// at returns the distinct id with a number.
func (t *ownerTable) at(n uint32) []byte {
	e := &t.entries[n]
	return t.text[e.from : e.from+int64(e.length)]
}

// find returns the index of the slot of a distinct id, or of the free slot for it. There must be a
// free slot.
func (t *ownerTable) find(id string, hash uint64) uint64 {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := t.slots[i]
		if slot == 0 || slot>>32 == hash>>32 && string(t.at(uint32(slot)-1)) == id {
			return i
		}
	}
}

// person returns the number of the person of a distinct id, noPerson or unresolved.
func (t *ownerTable) person(id string) uint32 {
	if len(t.slots) == 0 {
		return unresolved
	}
	slot := t.slots[t.find(id, maphash.String(t.seed, id))]
	if slot == 0 {
		return unresolved
	}
	return t.entries[uint32(slot)-1].person
}

// lookUpStep is the number of distinct ids that people searches together.
const lookUpStep = 64

// people appends the results of person for some distinct ids. A large table is not in the caches of the
// processor, so it executes each step for many ids before the next step, and their accesses to memory overlap.
func (t *ownerTable) people(out []uint32, ids []string) []uint32 {
	if len(t.slots) == 0 {
		return append(out, slices.Repeat([]uint32{unresolved}, len(ids))...)
	}
	var hashes [lookUpStep]uint64
	var slots [lookUpStep]uint64
	var entries [lookUpStep]ownerEntry
	mask := uint64(len(t.slots) - 1)
	for part := range slices.Chunk(ids, lookUpStep) {
		for i, id := range part {
			hashes[i] = maphash.String(t.seed, id)
			slots[i] = t.slots[hashes[i]&mask]
		}
		for i := range part {
			if entries[i] = (ownerEntry{}); slots[i] != 0 {
				entries[i] = t.entries[uint32(slots[i])-1]
			}
		}
		for i, id := range part {
			switch e := &entries[i]; {
			case slots[i] == 0:
				out = append(out, unresolved)
			case slots[i]>>32 == hashes[i]>>32 && string(t.text[e.from:e.from+int64(e.length)]) == id:
				out = append(out, e.person)
			default: // it is in a later slot
				out = append(out, t.person(id))
			}
		}
	}
	return out
}

// set sets the person of a distinct id, and returns the number of the distinct id.
func (t *ownerTable) set(id string, person uint32) uint32 {
	if 4*(len(t.entries)+1) > 3*len(t.slots) {
		t.grow()
	}
	hash := maphash.String(t.seed, id)
	i := t.find(id, hash)
	if slot := t.slots[i]; slot != 0 {
		t.entries[uint32(slot)-1].person = person
		return uint32(slot) - 1
	}
	t.entries = append(t.entries, ownerEntry{int64(len(t.text)), uint32(len(id)), person})
	t.text = append(t.text, id...)
	t.slots[i] = hash>>32<<32 | uint64(len(t.entries))
	return uint32(len(t.entries)) - 1
}

// grow doubles the slots.
func (t *ownerTable) grow() {
	t.slots = make([]uint64, max(1024, 2*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for n := range uint32(len(t.entries)) {
		hash := maphash.Bytes(t.seed, t.at(n))
		i := hash & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = hash>>32<<32 | uint64(n+1)
	}
}

// number returns the number of a person, and assigns one if the person is new.
func (o *owners) number(person capture.UUID) uint32 {
	if 4*(len(o.people)+1) > 3*len(o.numbers) {
		o.numbers = make([]uint32, max(1024, 2*len(o.numbers)))
		for i := range o.people {
			o.numbers[o.slot(o.people[i])] = uint32(i) + 1
		}
	}
	at := o.slot(person)
	if o.numbers[at] == 0 {
		o.people = append(o.people, person)
		o.numbers[at] = uint32(len(o.people))
	}
	return o.numbers[at] - 1
}

// slot returns the index of a person in numbers, or of the free slot for it.
func (o *owners) slot(person capture.UUID) uint64 {
	mask := uint64(len(o.numbers) - 1)
	for i := maphash.Bytes(o.seed, person[:]) & mask; ; i = (i + 1) & mask {
		if n := o.numbers[i]; n == 0 || o.people[n-1] == person {
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
	before, into := len(o.people), map[uint32]uint32{}
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
	o.size += int64(len(o.people)-before) * personEntrySize
	owner := make([]uint32, len(o.people))
	for n := range owner {
		owner[n] = uint32(n)
	}
	for from := range into {
		owner[from] = last(from)
	}
	for i := range o.table.entries {
		switch e := &o.table.entries[i]; {
		case e.person == noPerson:
			e.person = unresolved
		case e.person != unresolved:
			e.person = owner[e.person]
		}
	}
	if len(into) == 0 {
		return true
	}
	for _, list := range o.groups {
		for i, n := range list {
			list[i] = owner[n]
		}
	}
	return true
}

// shrink removes the table if the owners are too large for the cache.
func (o *owners) shrink() {
	if o.size > ownersBytes {
		o.size -= o.tableSize
		o.table, o.tableSize, o.unknown = newOwnerTable(), 0, nil
	}
}

// ownersCache is an LRU cache of owners by project. Owners in use by a query are not in
// the cache.
type ownersCache struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[int64, *owners]
	bytes int64
}

// newOwnersCache returns an empty cache.
func newOwnersCache() *ownersCache {
	c := &ownersCache{}
	c.lru, _ = simplelru.NewLRU(ownersProjects, func(_ int64, o *owners) { c.bytes -= o.size }) // fails only for sizes below 1
	return c
}

// take removes and returns the owners of a project, after changes up to the value of the counter rewritten. If
// there are no owners, or merged does not return all changes, the result is empty.
func (c *ownersCache) take(project, rewritten int64, merged func(project, from, to int64) ([]capture.UUID, bool)) *owners {
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

// put returns owners to the cache after a query, unless they are too large. If another query has added owners of the project meanwhile, they are replaced.
func (c *ownersCache) put(project int64, o *owners) {
	if o.shrink(); o.size > ownersBytes {
		return
	}
	for _, n := range o.unknown {
		o.table.entries[n].person = unresolved
	}
	o.unknown = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(project)
	c.lru.Add(project, o)
	for c.bytes += o.size; c.bytes > ownersBytes; {
		c.lru.RemoveOldest()
	}
}
