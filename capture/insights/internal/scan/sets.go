package scan

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Set is a set of cells, as a hash table with open addressing and linear probing. An entry has the cells of
// a value and bucket with 32 actors whose numbers follow one another: actors who are numbered together often
// are in the same buckets, so the table is much smaller than with an entry for each cell.
type Set struct {
	// The length of table is zero or a power of two.
	table []setEntry
	// used is the number of entries with a cell.
	used int
	// Len is the number of cells.
	Len     int
	Reserve func(int64) error
}

// setEntry is an entry of a Set, free if it has no bits. The actor of its cell is the number of the actors divided
// by entryActors; bits tell which of them are in the set.
type setEntry struct {
	Cell
	bits uint32
}

const (
	entryActors = 32
	// entrySize is the size of a setEntry in bytes.
	entrySize = 16
)

// Put adds a cell. It does nothing if the set already contains the cell.
func (s *Set) Put(c Cell) error {
	// The table is at most three quarters full, so that find always meets a free entry.
	if 4*(s.used+1) > 3*len(s.table) {
		if err := s.grow(); err != nil {
			return err
		}
	}
	bit := uint32(1) << (c.Actor % entryActors)
	c.Actor /= entryActors
	e := &s.table[s.find(c)]
	if e.bits&bit != 0 {
		return nil
	}
	if e.bits == 0 {
		e.Cell = c
		s.used++
	}
	e.bits |= bit
	s.Len++
	return nil
}

// find returns the index of the entry with a cell, or of the free entry where it would be inserted.
func (s *Set) find(c Cell) uint64 {
	mask := uint64(len(s.table) - 1)
	// The multiplier is 2^64 divided by the golden ratio (Fibonacci hashing).
	h := (uint64(c.Actor)<<32 | uint64(c.Bucket)<<12 ^ uint64(c.Value)) * 0x9E3779B97F4A7C15
	i := (h ^ h>>29) & mask
	for s.table[i].bits != 0 && s.table[i].Cell != c {
		i = (i + 1) & mask
	}
	return i
}

// grow doubles the table and inserts all entries again.
func (s *Set) grow() error {
	size := max(1024, 2*len(s.table))
	if err := s.Reserve(entrySize * int64(size-len(s.table))); err != nil {
		return err
	}
	old := s.table
	s.table = make([]setEntry, size)
	for _, e := range old {
		if e.bits != 0 {
			s.table[s.find(e.Cell)] = e
		}
	}
	return nil
}

// Each calls visit for all cells, in no particular order.
func (s *Set) Each(visit func(Cell)) {
	for _, e := range s.table {
		c := e.Cell
		for left := e.bits; left != 0; left &= left - 1 {
			c.Actor = e.Actor*entryActors + uint32(bits.TrailingZeros32(left))
			visit(c)
		}
	}
}

// EachCount calls visit, in no particular order, with numbers of actors of a value and bucket that are the number of all
// its actors together.
func (s *Set) EachCount(visit func(value, bucket uint32, actors int)) {
	for _, e := range s.table {
		if e.bits != 0 {
			visit(e.Value, e.Bucket, bits.OnesCount32(e.bits))
		}
	}
}

// Sorted returns all cells, sorted by value, actor and bucket.
func (s *Set) Sorted() []Cell {
	all := make([]Cell, 0, s.Len)
	s.Each(func(c Cell) { all = append(all, c) })
	slices.SortFunc(all, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Actor, b.Actor), cmp.Compare(a.Bucket, b.Bucket))
	})
	return all
}

// Cell identifies an actor in a bucket of a breakdown value.
type Cell struct{ Value, Bucket, Actor uint32 }

// Strings assigns consecutive numbers, from 0, to distinct strings. Memory that it needs is
// counted with reserve.
type Strings struct {
	numbers map[string]uint32
	All     []string
	Reserve func(bytes int64) error
}

// NewStrings returns an empty table that counts its memory with reserve.
func NewStrings(reserve func(bytes int64) error) *Strings {
	return &Strings{numbers: map[string]uint32{}, Reserve: reserve}
}

// Number returns the number of text and adds it if it is new. The table stores a copy, so the
// caller may reuse the memory of text. The number is valid even if an error is returned.
func (t *Strings) Number(text string) (uint32, error) {
	if n, ok := t.numbers[text]; ok {
		return n, nil
	}
	n := uint32(len(t.All))
	text = strings.Clone(text)
	t.numbers[text] = n
	t.All = append(t.All, text)
	return n, t.Reserve(int64(len(text)) + 72)
}

// Find returns the number of text, and false if the table does not have it.
func (t *Strings) Find(text string) (uint32, bool) {
	n, ok := t.numbers[text]
	return n, ok
}

// Interner assigns consecutive numbers, from 0, to the distinct strings of a value.
type Interner struct {
	*Strings
	value Getter
}

// Number returns the number of the event's string, and false if the value is missing or empty.
func (in *Interner) Number(r *Row) (uint32, bool) {
	text, _ := Text(in.value(r))
	if text == "" {
		return 0, false
	}
	n, _ := in.Strings.Number(text) // the scan checks the memory limit after the batch
	return n, true
}
