package insights

import "math"

// chains keeps what was seen of each actor, in one arena, until all is read. Actors
// are numbers from 0 on without great gaps.
type chains[T any] struct {
	pieces [][]link[T]
	last   []uint32 // by actor: the number of its newest link + 1, 0 for none
	count  uint32
	size   int64 // bytes of a link
	spend  func(bytes int64) error
}

type link[T any] struct {
	value    T
	previous uint32 // number + 1, 0 for none
}

// A piece of the arena has 1 << pieceBits links.
const pieceBits = 12

// newChains makes chains of values whose links have size bytes; spend is asked for memory.
func newChains[T any](size int64, spend func(bytes int64) error) *chains[T] {
	return &chains[T]{size: size, spend: spend}
}

// add appends to what is known of an actor.
func (c *chains[T]) add(actor uint32, value T) error {
	if c.count&(1<<pieceBits-1) == 0 || int(actor) >= len(c.last) {
		if err := c.grow(actor); err != nil {
			return err
		}
	}
	piece := &c.pieces[c.count>>pieceBits]
	*piece = append(*piece, link[T]{value, c.last[actor]})
	c.count++
	c.last[actor] = c.count
	return nil
}

func (c *chains[T]) grow(actor uint32) error {
	if int(actor) >= len(c.last) {
		more := max(int(actor)+1, 2*len(c.last), 1024)
		if err := c.spend(4 * int64(more-len(c.last))); err != nil {
			return err
		}
		c.last = append(make([]uint32, 0, more), c.last...)[:more]
	}
	if int(c.count>>pieceBits) == len(c.pieces) {
		if c.count > math.MaxUint32-1<<pieceBits {
			return failure(tooLarge, "", "The query needs more than %d events at once: ask for a shorter time or a narrower filter.", c.count)
		}
		if err := c.spend(c.size << pieceBits); err != nil {
			return err
		}
		c.pieces = append(c.pieces, make([]link[T], 0, 1<<pieceBits))
	}
	return nil
}

func (c *chains[T]) at(number uint32) *link[T] {
	return &c.pieces[(number-1)>>pieceBits][(number-1)&(1<<pieceBits-1)]
}

// newest is what was added last of an actor, nil for nothing.
func (c *chains[T]) newest(actor uint32) *T {
	if int(actor) >= len(c.last) || c.last[actor] == 0 {
		return nil
	}
	return &c.at(c.last[actor]).value
}

// gather appends what is known of an actor in the order in which it was added.
func (c *chains[T]) gather(actor uint32, to []T) []T {
	from := len(to)
	for n := c.last[actor]; n != 0; {
		l := c.at(n)
		to = append(to, l.value)
		n = l.previous
	}
	for i, j := from, len(to)-1; i < j; i, j = i+1, j-1 {
		to[i], to[j] = to[j], to[i]
	}
	return to
}
