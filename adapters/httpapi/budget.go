package httpapi

import (
	"container/list"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultBudget is Config.Budget where that is zero: 96 MiB, in bytes
	// (decision 14).
	defaultBudget = 96 << 20
	// defaultFlagsBudget is Config.FlagsBudget where that is zero: 48 MiB, in bytes.
	defaultFlagsBudget = 48 << 20
)

// budgetPatience is how long a body waits for memory before its sender is told
// to come again.
const budgetPatience = 2 * time.Second

// budget is the memory that bodies share, in bytes. It has four quarters:
//
//   - three are common. Large bodies, those that hold more than small bytes, get at
//     most two of them, so that small ones always have a lane of their own;
//   - the last one is for the eldest of the large bodies that have arrived, so that
//     one of them always gets to its end, whatever the others hold.
//
// Who asks for more than is left waits in line, but nobody who would hold more than a
// quarter waits: such a body gets what is free, or is told to come again. So those
// who wait cannot wait for one another.
//
// Of the large bodies that have arrived only the eldest few are unpacked and decoded
// at a time, so that they do not take all processors either.
//
// Bodies that are arriving hold at most a quarter for each client address; one body
// of an address may go beyond.
type budget struct {
	total, share, small int64
	atOnce              int // elders that are served
	refused             atomic.Uint64

	mu            sync.Mutex
	common, large int64                        // what is taken of three quarters, and of that by large bodies
	elders        list.List                    // of *lease: large bodies that have arrived, the eldest in front
	lines         [budgetLines]list.List       // of *claim, the oldest in front
	addresses     map[netip.Addr]*addressShare // of bodies with more than their first chunk
}

// addressShare are the bodies of one address that are arriving.
type addressShare struct {
	bytes   int64
	first   *lease // may go beyond the share
	waiting int    // claims in asideLine
}

func newBudget(total, otherwise int64) *budget {
	if total <= 0 {
		total = otherwise
	}
	return &budget{
		total: total, share: total / 4, small: total / 64, atOnce: max(2, runtime.GOMAXPROCS(0)/2),
		addresses: map[netip.Addr]*addressShare{},
	}
}

// verdict is whether a claim can be granted.
type verdict int

const (
	granted verdict = iota
	noMemory
	addressFull
)

// acquire reserves n bytes for a lease. It waits its turn for budgetPatience at most;
// false means that nothing was reserved.
func (b *budget) acquire(l *lease, n int64) bool {
	b.mu.Lock()
	b.sort(l, n)
	line := b.lineOf(l, n)
	answer := noMemory
	if b.turn(line) || b.eldest(l) {
		answer = b.try(l, n)
	}
	if answer == granted {
		b.mu.Unlock()
		return true
	}
	if l.held+n > b.share && l.held > 0 {
		b.mu.Unlock()
		b.refused.Add(1)
		return false
	}
	c := &claim{lease: l, n: n, granted: make(chan struct{})}
	if answer == addressFull {
		line = asideLine
		b.addresses[l.address].waiting++
	}
	b.stand(c, line)
	b.mu.Unlock()
	return b.await(l.ctx, c)
}

// sort puts a body that has arrived among the elders as soon as it is large.
func (b *budget) sort(l *lease, n int64) {
	if !l.arrived || l.place != nil || l.held+n <= b.small {
		return
	}
	b.enlarge(l)
	l.place = b.elders.PushBack(l)
	b.promote()
	b.grant() // that may have made room
}

func (b *budget) enlarge(l *lease) {
	if !l.large {
		l.large = true
		b.large += l.held - l.own
	}
}

func (b *budget) eldest(l *lease) bool { return l.place != nil && l.place == b.elders.Front() }

// served reports whether it is the turn of a body that has arrived.
func (b *budget) served(l *lease) bool {
	e := b.elders.Front()
	for range b.atOnce {
		if e == nil || e == l.place {
			return true
		}
		e = e.Next()
	}
	return l.place == nil
}

// promote gives the eldest its quarter.
func (b *budget) promote() {
	if first := b.elders.Front(); first != nil {
		l := first.Value.(*lease)
		n := min(l.held-l.own, b.share-l.own)
		l.own += n
		b.common -= n
		b.large -= n
	}
}

// try reserves n bytes if they are there and the lease may have them.
func (b *budget) try(l *lease, n int64) verdict {
	if !b.addressHas(l, n) {
		return addressFull
	}
	if !b.served(l) {
		return noMemory
	}
	own := int64(0)
	if b.eldest(l) {
		own = min(n, b.share-l.own)
	}
	rest, large := n-own, int64(0)
	switch {
	case l.large:
		large = rest
	case l.held+n > b.small:
		large = l.held + rest
	}
	if rest > 0 && (b.common+rest > 3*b.share || large > 0 && b.large+large > 2*b.share) {
		return noMemory
	}
	if large > 0 {
		l.large = true
		b.large += large
	}
	b.common += rest
	l.own += own
	l.held += n
	if l.counted > 0 || !l.arrived && l.held > firstChunk {
		b.count(l)
	}
	return granted
}

// count counts a body that is arriving for its address.
func (b *budget) count(l *lease) {
	a := b.addresses[l.address]
	if a == nil {
		a = &addressShare{}
		b.addresses[l.address] = a
	}
	if a.first == nil {
		a.first = l
	}
	a.bytes += l.held - l.counted
	l.counted = l.held
}

// addressHas reports whether a body that is arriving may hold n bytes more for the
// sake of its address.
func (b *budget) addressHas(l *lease, n int64) bool {
	if l.arrived || l.held+n <= firstChunk {
		return true
	}
	a := b.addresses[l.whose()]
	return a == nil || a.first == nil || a.first == l || a.bytes+l.held-l.counted+n <= b.share
}

// release gives n bytes of a lease back.
func (b *budget) release(l *lease, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	common := min(n, l.held-l.own)
	b.common -= common
	if l.large {
		b.large -= common
	}
	l.own -= n - common
	l.held -= n
	if l.held > 0 && l.counted > 0 {
		b.count(l)
	}
	if l.held == 0 {
		b.left(l)
		if l.place != nil {
			b.elders.Remove(l.place)
			l.place = nil
			b.promote()
		}
		l.large = false
	}
	b.grant()
}

// arrive is for bodies that have arrived: they count no more for their address.
func (b *budget) arrive(l *lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.arrived = true
	b.left(l)
	if l.large {
		b.sort(l, 0)
	}
	b.grant()
}

// left ends what a body counts for its address.
func (b *budget) left(l *lease) {
	a := b.addresses[l.address]
	if a == nil || l.counted == 0 && a.first != l {
		return
	}
	a.bytes -= l.counted
	l.counted = 0
	if a.first == l {
		a.first = nil
	}
	if a.waiting > 0 {
		b.call(l.address)
	}
	b.forget(l.address)
}

// call lets those of an address who wait for its share ask again.
func (b *budget) call(address netip.Addr) {
	for e := b.lines[asideLine].Front(); e != nil; {
		c := e.Value.(*claim)
		e = e.Next()
		if c.lease.address != address {
			continue
		}
		switch b.try(c.lease, c.n) {
		case granted:
			b.reserved(c)
		case noMemory:
			b.leave(c)
			b.stand(c, b.lineOf(c.lease, c.n))
		case addressFull:
			return
		}
	}
}

func (b *budget) forget(address netip.Addr) {
	if a := b.addresses[address]; a != nil && a.bytes == 0 && a.first == nil && a.waiting == 0 {
		delete(b.addresses, address)
	}
}

// grant serves those who wait, in their order, as far as the memory goes.
func (b *budget) grant() {
	for line := range asideLine {
		for e := b.lines[line].Front(); e != nil; e = b.lines[line].Front() {
			c := e.Value.(*claim)
			switch b.try(c.lease, c.n) {
			case granted:
				b.reserved(c)
			case addressFull:
				b.leave(c)
				b.addresses[c.lease.address].waiting++
				b.stand(c, asideLine)
			case noMemory:
				b.grantEldest()
				return
			}
		}
	}
}

// grantEldest serves the eldest, who waits for nobody.
func (b *budget) grantEldest() {
	for e := b.lines[arrivedLine].Front(); e != nil; e = e.Next() {
		c := e.Value.(*claim)
		if b.eldest(c.lease) {
			if b.try(c.lease, c.n) == granted {
				b.reserved(c)
			}
			return
		}
	}
}

// inUse is what is taken, in bytes.
func (b *budget) inUse() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.common
	if first := b.elders.Front(); first != nil {
		n += first.Value.(*lease).own
	}
	return uint64(n)
}
