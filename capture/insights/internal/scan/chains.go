package scan

import (
	"math"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// Chains collects values for each actor until all events are read. The values are stored in the
// order in which they arrive, in one arena, and are grouped by actor only in each. Actors are
// numbers from 0 without large gaps, since there is an entry for each number.
type Chains[T any] struct {
	pieces  [][]link[T]
	counts  []uint32 // by actor: the number of its values
	count   uint32   // of all values
	size    int64    // of a link, in bytes
	reserve func(bytes int64) error
}

// link is one value and its actor.
type link[T any] struct {
	value T
	actor uint32
}

// pieceBits sets the size of the arena's pieces: each has room for 1<<pieceBits links.
const pieceBits = 12

// NewChains returns an empty chains. size is the size of a link in bytes, by which reserve is
// called for the memory.
func NewChains[T any](size int64, reserve func(bytes int64) error) *Chains[T] {
	return &Chains[T]{size: size, reserve: reserve}
}

// Add appends a value to those of an actor.
func (c *Chains[T]) Add(actor uint32, value T) error {
	if c.count&(1<<pieceBits-1) == 0 || int(actor) >= len(c.counts) {
		if err := c.grow(actor); err != nil {
			return err
		}
	}
	piece := &c.pieces[c.count>>pieceBits]
	*piece = append(*piece, link[T]{value, actor})
	c.count++
	c.counts[actor]++
	return nil
}

// grow makes room for another value and for the count of the actor.
func (c *Chains[T]) grow(actor uint32) (err error) {
	if c.counts, err = Grow(c.counts, actor, 8, c.reserve); err != nil { // includes the entry of each's list next
		return err
	}
	if int(c.count>>pieceBits) == len(c.pieces) {
		if c.count > math.MaxUint32-1<<pieceBits {
			return document.NewFault(document.TooLarge, "", "The query needs more than %d events at once: choose a shorter period or a narrower filter.", c.count)
		}
		if err := c.reserve((c.size + 4) << pieceBits); err != nil { // 4: the position of each link in each
			return err
		}
		c.pieces = append(c.pieces, make([]link[T], 0, 1<<pieceBits))
	}
	return nil
}

// Grow returns list with an element for actor, and reserves memory if it has to grow. size is the
// size of an element in bytes.
func Grow[T any](list []T, actor uint32, size int64, reserve func(bytes int64) error) ([]T, error) {
	if int(actor) < len(list) {
		return list, nil
	}
	more := max(int(actor)+1, 2*len(list), 1024)
	if err := reserve(size * int64(more-len(list))); err != nil {
		return list, err
	}
	return append(make([]T, 0, more), list...)[:more], nil
}

// Longest returns the largest number of values of an actor.
func (c *Chains[T]) Longest() int64 {
	most := uint32(0)
	for _, n := range c.counts {
		most = max(most, n)
	}
	return int64(most)
}

// Each calls yield for every actor with its values in the order in which they were added, by a
// counting sort of the links. yield may modify the slice but must not retain it.
func (c *Chains[T]) Each(yield func(actor uint32, values []T) error) error {
	one := 2 * c.size * c.Longest() // the values of one actor, in a slice that grows
	defer func() { _ = c.reserve(-one) }()
	if err := c.reserve(one); err != nil {
		return err
	}
	next := make([]uint32, len(c.counts)) // by actor: the index in positions of its next value
	sum := uint32(0)
	for actor, n := range c.counts {
		next[actor] = sum
		sum += n
	}
	// positions are the positions of the links, grouped by actor.
	positions := make([]uint32, c.count)
	for i, piece := range c.pieces {
		for k := range piece {
			actor := piece[k].actor
			positions[next[actor]] = uint32(i<<pieceBits + k)
			next[actor]++
		}
	}
	// From here on, next is the end of the actor's part of positions.
	var values []T
	for actor, n := range c.counts {
		if n == 0 {
			continue
		}
		values = values[:0]
		for _, position := range positions[next[actor]-n : next[actor]] {
			values = append(values, c.pieces[position>>pieceBits][position&(1<<pieceBits-1)].value)
		}
		if err := yield(uint32(actor), values); err != nil {
			return err
		}
	}
	return nil
}
