package insights

import "math"

// chains keeps what was seen of each actor, in one arena, until all is read. Actors
// are numbers from 0 on without great gaps.
type chains[T any] struct {
	pieces  [][]link[T]
	counts  []uint32 // by actor
	count   uint32
	size    int64 // bytes of a link
	reserve func(bytes int64) error
}

type link[T any] struct {
	value T
	actor uint32
}

// A piece of the arena has 1 << pieceBits links.
const pieceBits = 12

// newChains makes chains of values whose links have size bytes; spend is asked for memory.
func newChains[T any](size int64, reserve func(bytes int64) error) *chains[T] {
	return &chains[T]{size: size, reserve: reserve}
}

// add appends to what is known of an actor.
func (c *chains[T]) add(actor uint32, value T) error {
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

func (c *chains[T]) grow(actor uint32) (err error) {
	if c.counts, err = growTo(c.counts, actor, 8, c.reserve); err != nil { // also for its place in each
		return err
	}
	if int(c.count>>pieceBits) == len(c.pieces) {
		if c.count > math.MaxUint32-1<<pieceBits {
			return newError(tooLarge, "", "The query needs more than %d events at once: ask for a shorter time or a narrower filter.", c.count)
		}
		if err := c.reserve((c.size + 4) << pieceBits); err != nil { // 4: of each in its place
			return err
		}
		c.pieces = append(c.pieces, make([]link[T], 0, 1<<pieceBits))
	}
	return nil
}

// growTo makes room in a list by actor, whose elements have size bytes.
func growTo[T any](list []T, actor uint32, size int64, reserve func(bytes int64) error) ([]T, error) {
	if int(actor) < len(list) {
		return list, nil
	}
	more := max(int(actor)+1, 2*len(list), 1024)
	if err := reserve(size * int64(more-len(list))); err != nil {
		return list, err
	}
	return append(make([]T, 0, more), list...)[:more], nil
}

// longest is the most that is known of one actor.
func (c *chains[T]) longest() int64 {
	most := uint32(0)
	for _, n := range c.counts {
		most = max(most, n)
	}
	return int64(most)
}

// each gives what is known of each actor, in the order in which it was added. see may
// change it and may not keep it.
func (c *chains[T]) each(yield func(actor uint32, values []T) error) error {
	one := 2 * c.size * c.longest() // what one actor did, in a list that grows
	defer func() { _ = c.reserve(-one) }()
	if err := c.reserve(one); err != nil {
		return err
	}
	next := make([]uint32, len(c.counts)) // by actor: the place of its next one
	sum := uint32(0)
	for actor, n := range c.counts {
		next[actor] = sum
		sum += n
	}
	positions := make([]uint32, c.count)
	for i, piece := range c.pieces {
		for k := range piece {
			actor := piece[k].actor
			positions[next[actor]] = uint32(i<<pieceBits + k)
			next[actor]++
		}
	}
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
