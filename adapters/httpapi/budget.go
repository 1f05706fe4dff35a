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

// budgetWaitTimeout is how long a body waits for memory before its sender is told
// to come again.
const budgetWaitTimeout = 2 * time.Second

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
	maxServed           int // elders that are served
	rejections          atomic.Uint64

	mu            sync.Mutex
	common, large int64                        // what is taken of three quarters, and of that by large bodies
	largeBodies   list.List                    // of *lease: large bodies that have arrived, the eldest in front
	lines         [budgetLines]list.List       // of *claim, the oldest in front
	addresses     map[netip.Addr]*addressShare // of bodies with more than their first chunk
}

// addressShare are the bodies of one address that are arriving.
type addressShare struct {
	bytes   int64
	first   *memoryLease // may go beyond the share
	waiting int          // claims in addressLimitLine
}

func newBudget(total, fallback int64) *budget {
	if total <= 0 {
		total = fallback
	}
	return &budget{
		total: total, share: total / 4, small: total / 64, maxServed: max(2, runtime.GOMAXPROCS(0)/2),
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

// acquire reserves n bytes for a lease. It waits its turn for budgetWaitTimeout at most;
// false means that nothing was reserved.
func (b *budget) acquire(l *memoryLease, n int64) bool {
	b.mu.Lock()
	b.trackLarge(l, n)
	line := b.lineOf(l, n)
	answer := noMemory
	if b.isTurn(line) || b.isOldest(l) {
		answer = b.try(l, n)
	}
	if answer == granted {
		b.mu.Unlock()
		return true
	}
	if l.held+n > b.share && l.held > 0 {
		b.mu.Unlock()
		b.rejections.Add(1)
		return false
	}
	c := &claim{lease: l, n: n, granted: make(chan struct{})}
	if answer == addressFull {
		line = addressLimitLine
		b.addresses[l.address].waiting++
	}
	b.enqueue(c, line)
	b.mu.Unlock()
	return b.await(l.ctx, c)
}

// trackLarge puts a body that has arrived among the elders as soon as it is large.
func (b *budget) trackLarge(l *memoryLease, n int64) {
	if !l.arrived || l.element != nil || l.held+n <= b.small {
		return
	}
	b.markLarge(l)
	l.element = b.largeBodies.PushBack(l)
	b.promoteOldest()
	b.grantWaiting() // that may have made room
}

func (b *budget) markLarge(l *memoryLease) {
	if !l.large {
		l.large = true
		b.large += l.held - l.oldestBytes
	}
}

func (b *budget) isOldest(l *memoryLease) bool {
	return l.element != nil && l.element == b.largeBodies.Front()
}

// isServed reports whether it is the turn of a body that has arrived.
func (b *budget) isServed(l *memoryLease) bool {
	e := b.largeBodies.Front()
	for range b.maxServed {
		if e == nil || e == l.element {
			return true
		}
		e = e.Next()
	}
	return l.element == nil
}

// promoteOldest gives the eldest its quarter.
func (b *budget) promoteOldest() {
	if first := b.largeBodies.Front(); first != nil {
		l := first.Value.(*memoryLease)
		n := min(l.held-l.oldestBytes, b.share-l.oldestBytes)
		l.oldestBytes += n
		b.common -= n
		b.large -= n
	}
}

// try reserves n bytes if they are there and the lease may have them.
func (b *budget) try(l *memoryLease, n int64) verdict {
	if !b.canAddressHold(l, n) {
		return addressFull
	}
	if !b.isServed(l) {
		return noMemory
	}
	own := int64(0)
	if b.isOldest(l) {
		own = min(n, b.share-l.oldestBytes)
	}
	remaining, large := n-own, int64(0)
	switch {
	case l.large:
		large = remaining
	case l.held+n > b.small:
		large = l.held + remaining
	}
	if remaining > 0 && (b.common+remaining > 3*b.share || large > 0 && b.large+large > 2*b.share) {
		return noMemory
	}
	if large > 0 {
		l.large = true
		b.large += large
	}
	b.common += remaining
	l.oldestBytes += own
	l.held += n
	if l.counted > 0 || !l.arrived && l.held > firstChunk {
		b.count(l)
	}
	return granted
}

// count counts a body that is arriving for its address.
func (b *budget) count(l *memoryLease) {
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

// canAddressHold reports whether a body that is arriving may hold n bytes more for the
// sake of its address.
func (b *budget) canAddressHold(l *memoryLease, n int64) bool {
	if l.arrived || l.held+n <= firstChunk {
		return true
	}
	a := b.addresses[l.clientAddress()]
	return a == nil || a.first == nil || a.first == l || a.bytes+l.held-l.counted+n <= b.share
}

// release gives n bytes of a lease back.
func (b *budget) release(l *memoryLease, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	common := min(n, l.held-l.oldestBytes)
	b.common -= common
	if l.large {
		b.large -= common
	}
	l.oldestBytes -= n - common
	l.held -= n
	if l.held > 0 && l.counted > 0 {
		b.count(l)
	}
	if l.held == 0 {
		b.uncount(l)
		if l.element != nil {
			b.largeBodies.Remove(l.element)
			l.element = nil
			b.promoteOldest()
		}
		l.large = false
	}
	b.grantWaiting()
}

// markArrived is for bodies that have arrived: they count no more for their address.
func (b *budget) markArrived(l *memoryLease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.arrived = true
	b.uncount(l)
	if l.large {
		b.trackLarge(l, 0)
	}
	b.grantWaiting()
}

// uncount ends what a body counts for its address.
func (b *budget) uncount(l *memoryLease) {
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
		b.wakeAddress(l.address)
	}
	b.forgetAddress(l.address)
}

// wakeAddress lets those of an address who wait for its share ask again.
func (b *budget) wakeAddress(address netip.Addr) {
	for e := b.lines[addressLimitLine].Front(); e != nil; {
		c := e.Value.(*claim)
		e = e.Next()
		if c.lease.address != address {
			continue
		}
		switch b.try(c.lease, c.n) {
		case granted:
			b.confirm(c)
		case noMemory:
			b.dequeue(c)
			b.enqueue(c, b.lineOf(c.lease, c.n))
		case addressFull:
			return
		}
	}
}

func (b *budget) forgetAddress(address netip.Addr) {
	if a := b.addresses[address]; a != nil && a.bytes == 0 && a.first == nil && a.waiting == 0 {
		delete(b.addresses, address)
	}
}

// grantWaiting serves those who wait, in their order, as far as the memory goes.
func (b *budget) grantWaiting() {
	for line := range addressLimitLine {
		for e := b.lines[line].Front(); e != nil; e = b.lines[line].Front() {
			c := e.Value.(*claim)
			switch b.try(c.lease, c.n) {
			case granted:
				b.confirm(c)
			case addressFull:
				b.dequeue(c)
				b.addresses[c.lease.address].waiting++
				b.enqueue(c, addressLimitLine)
			case noMemory:
				b.grantOldest()
				return
			}
		}
	}
}

// grantOldest serves the eldest, who waits for nobody.
func (b *budget) grantOldest() {
	for e := b.lines[arrivedLine].Front(); e != nil; e = e.Next() {
		c := e.Value.(*claim)
		if b.isOldest(c.lease) {
			if b.try(c.lease, c.n) == granted {
				b.confirm(c)
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
	if first := b.largeBodies.Front(); first != nil {
		n += first.Value.(*memoryLease).oldestBytes
	}
	return uint64(n)
}
