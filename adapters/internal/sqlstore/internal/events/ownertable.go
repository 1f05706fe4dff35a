package events

import (
	"hash/maphash"
	"slices"
)

const (
	// noPerson is the number for distinct ids that belong to no person.
	noPerson = ^uint32(0)
	// unresolved is the number for distinct ids and persons that have not been looked up.
	unresolved = noPerson - 1
	// pieceBits is the binary logarithm of pieceLen, the number of elements of a piece of pieces.
	pieceBits = 12
	pieceLen  = 1 << pieceBits
	// textPiece is the number of bytes of a piece of the distinct ids of an ownerTable, unless one is longer.
	textPiece = 256 << 10
)

// pieces is a list in pieces of memory that never move: while it grows, there is no second copy of its elements. Only
// the first piece grows by copying, so that a short list is small.
type pieces[T any] struct {
	list [][]T
	n    int
}

// at returns the element with an index.
func (p *pieces[T]) at(i uint32) *T { return &p.list[i>>pieceBits][i&(pieceLen-1)] }

// add appends an element.
func (p *pieces[T]) add(v T) {
	switch last := len(p.list) - 1; {
	case last < 0:
		p.list = append(p.list, nil)
	case len(p.list[last]) == pieceLen:
		p.list = append(p.list, make([]T, 0, pieceLen))
	}
	last := &p.list[len(p.list)-1]
	*last = append(*last, v)
	p.n++
}

// cut removes the elements from index n on.
func (p *pieces[T]) cut(n int) {
	for len(p.list) > 0 && p.n-len(p.list[len(p.list)-1]) >= n {
		last := len(p.list) - 1
		p.n -= len(p.list[last])
		p.list[last], p.list = nil, p.list[:last]
	}
	if p.n > n {
		last := &p.list[len(p.list)-1]
		*last, p.n = (*last)[:len(*last)-(p.n-n)], n
	}
}

// ownerTable has the persons of distinct ids, which are numbered from 0. It is a hash table with linear
// probing, and has the strings in a few pieces of memory: a map of strings needs twice the memory and time.
type ownerTable struct {
	seed maphash.Seed
	// The length of slots is zero or a power of two. A slot has the number plus 1 and the upper half of
	// the hash, which also selects the slot; 0 is a free slot.
	slots   []uint64
	entries pieces[ownerEntry]
	text    [][]byte
}

// ownerEntry is a distinct id, which is a part of a piece of the text, and its person: a number, noPerson or
// unresolved.
type ownerEntry struct{ piece, from, length, person uint32 }

// newOwnerTable returns an empty table.
func newOwnerTable() *ownerTable { return &ownerTable{seed: maphash.MakeSeed()} }

// id returns the distinct id of an entry.
func (t *ownerTable) id(e *ownerEntry) []byte {
	return t.text[e.piece][e.from : e.from+e.length]
}

// find returns the index of the slot of a distinct id, or of the free slot for it. There must be a
// free slot.
func (t *ownerTable) find(id string, hash uint64) uint64 {
	mask := uint64(len(t.slots) - 1)
	for i := hash >> 32 & mask; ; i = (i + 1) & mask {
		slot := t.slots[i]
		if slot == 0 || slot>>32 == hash>>32 && string(t.id(t.entries.at(uint32(slot)-1))) == id {
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
	return t.entries.at(uint32(slot) - 1).person
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
			slots[i] = t.slots[hashes[i]>>32&mask]
		}
		for i := range part {
			if entries[i] = (ownerEntry{}); slots[i] != 0 {
				entries[i] = *t.entries.at(uint32(slots[i]) - 1)
			}
		}
		for i, id := range part {
			switch e := &entries[i]; {
			case slots[i] == 0:
				out = append(out, unresolved)
			case slots[i]>>32 == hashes[i]>>32 && string(t.id(e)) == id:
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
	if 4*(t.entries.n+1) > 3*len(t.slots) {
		t.grow()
	}
	hash := maphash.String(t.seed, id)
	i := t.find(id, hash)
	if slot := t.slots[i]; slot != 0 {
		t.entries.at(uint32(slot) - 1).person = person
		return uint32(slot) - 1
	}
	t.entries.add(t.entry(id, person))
	t.slots[i] = hash>>32<<32 | uint64(t.entries.n)
	return uint32(t.entries.n) - 1
}

// entry copies a distinct id to the text and returns its entry.
func (t *ownerTable) entry(id string, person uint32) ownerEntry {
	switch last := len(t.text) - 1; {
	case last < 0:
		t.text = append(t.text, nil)
	case len(t.text[last])+len(id) > textPiece:
		t.text = append(t.text, make([]byte, 0, max(textPiece, len(id))))
	}
	last := len(t.text) - 1
	from := len(t.text[last])
	t.text[last] = append(t.text[last], id...)
	return ownerEntry{uint32(last), uint32(from), uint32(len(id)), person}
}

// grow doubles the slots.
func (t *ownerTable) grow() {
	before := t.slots
	t.slots = make([]uint64, max(1024, 2*len(before)))
	mask := uint64(len(t.slots) - 1)
	for _, slot := range before {
		if slot == 0 {
			continue
		}
		i := slot >> 32 & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = slot
	}
}
