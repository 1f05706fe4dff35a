package admission

import (
	"container/list"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// DefaultBudget is the default of Config.Budget: 96 MiB, in bytes (decision 14).
	DefaultBudget = 96 << 20
	// defaultFlagsBudget is the default of Config.FlagsBudget: 48 MiB, in bytes.
	defaultFlagsBudget = 48 << 20
)

// budgetWaitTimeout is how long a body waits for memory before the request is rejected with a
// request to retry.
const budgetWaitTimeout = 2 * time.Second

// Budget is the memory that request bodies share, in bytes. It has four quarters:
//
//   - Three quarters are common. Large bodies, which hold more than small bytes, get at most two of
//     them, so that one is always available to small bodies.
//   - The last quarter is reserved for the oldest of the large bodies that have arrived completely,
//     so that at least one of them can always finish, regardless of what the others hold.
//
// A claim for more memory than is free waits in a queue. A body that already holds memory and would
// hold more than a quarter does not wait: its claim is granted at once or rejected. This prevents
// deadlocks between waiting bodies.
//
// Of the large bodies that have arrived, only the oldest maxServed are unpacked and decoded at the
// same time, so that they do not occupy all processors.
//
// Bodies that are still arriving hold at most a quarter for each client address; one body of an
// address may exceed that.
//
// mu guards the fields below it. The methods acquire, await, release, MarkArrived and InUse lock
// it; all others must be called with it locked.
type Budget struct {
	// Total is the size of the budget, share a quarter of it; bodies above small are large.
	Total, share, small int64
	maxServed           int // oldest large bodies that may be decoded at the same time
	rejections          atomic.Uint64

	mu sync.Mutex
	// common is the number of bytes used of the three common quarters; large is the part of them
	// that large bodies use.
	common, large int64
	largeBodies   list.List                    // of *Lease: large bodies that have arrived, the oldest first
	lines         [budgetLines]list.List       // of *claim, the oldest first
	addresses     map[netip.Addr]*addressShare // for bodies that hold more than their first chunk
}

// addressShare counts the bodies that are arriving from one address.
type addressShare struct {
	bytes   int64
	first   *Lease // may exceed the share; nil if there is no such body
	waiting int    // number of claims in addressLimitLine
}

// NewBudget returns a budget of total bytes, or of fallback bytes if total is not positive.
func NewBudget(total, fallback int64) *Budget {
	if total <= 0 {
		total = fallback
	}
	return &Budget{
		Total: total, share: total / 4, small: total / 64, maxServed: max(2, runtime.GOMAXPROCS(0)/2),
		addresses: map[netip.Addr]*addressShare{},
	}
}

// NewFlagsBudget returns the budget of flags requests, of total bytes or the default.
func NewFlagsBudget(total int64) *Budget {
	b := NewBudget(total, defaultFlagsBudget)
	b.maxServed = 1 // long bodies are rare here, and the others need low latency
	return b
}

// verdict is the result of an attempt to grant a claim.
type verdict int

const (
	granted verdict = iota
	noMemory
	addressFull
)

// acquire reserves n bytes for a lease and waits for them at most budgetWaitTimeout. If it returns
// false, no memory was reserved.
func (b *Budget) acquire(l *Lease, n int64) bool {
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
	return b.await(l.Ctx, c)
}

// trackLarge adds a body that has arrived to largeBodies if it would be large with n more bytes.
func (b *Budget) trackLarge(l *Lease, n int64) {
	if !l.Arrived || l.element != nil || l.held+n <= b.small {
		return
	}
	b.markLarge(l)
	l.element = b.largeBodies.PushBack(l)
	b.promoteOldest()
	b.grantWaiting() // the promotion may have freed common memory
}

// markLarge counts the bytes of l as those of a large body.
func (b *Budget) markLarge(l *Lease) {
	if !l.large {
		l.large = true
		b.large += l.held - l.oldestBytes
	}
}

func (b *Budget) isOldest(l *Lease) bool {
	return l.element != nil && l.element == b.largeBodies.Front()
}

// isServed reports whether a body may be decoded now: it is small, or among the oldest maxServed of
// the large bodies that have arrived.
func (b *Budget) isServed(l *Lease) bool {
	e := b.largeBodies.Front()
	for range b.maxServed {
		if e == nil || e == l.element {
			return true
		}
		e = e.Next()
	}
	return l.element == nil
}

// promoteOldest moves bytes of the oldest large body from the common quarters to the reserved one.
func (b *Budget) promoteOldest() {
	if first := b.largeBodies.Front(); first != nil {
		l := first.Value.(*Lease)
		n := min(l.held-l.oldestBytes, b.share-l.oldestBytes)
		l.oldestBytes += n
		b.common -= n
		b.large -= n
	}
}

// try reserves n bytes for the lease if they are available and the limits allow it.
func (b *Budget) try(l *Lease, n int64) verdict {
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
	if l.counted > 0 || !l.Arrived && l.held > FirstChunk {
		b.count(l)
	}
	return granted
}

// count adds the bytes of a body that is arriving to those of its address.
func (b *Budget) count(l *Lease) {
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

// canAddressHold reports whether a body may hold n more bytes within the share of its client
// address. It is always true for bodies that have arrived.
func (b *Budget) canAddressHold(l *Lease, n int64) bool {
	if l.Arrived || l.held+n <= FirstChunk {
		return true
	}
	a := b.addresses[l.clientAddress()]
	return a == nil || a.first == nil || a.first == l || a.bytes+l.held-l.counted+n <= b.share
}

// release returns n bytes of a lease to the budget.
func (b *Budget) release(l *Lease, n int64) {
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

// MarkArrived records that a body has arrived completely, and no longer counts it for its address.
func (b *Budget) markArrived(l *Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.Arrived = true
	b.uncount(l)
	if l.large {
		b.trackLarge(l, 0)
	}
	b.grantWaiting()
}

// uncount subtracts a body from the count of its address.
func (b *Budget) uncount(l *Lease) {
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

// wakeAddress retries the claims of an address that wait for its share.
func (b *Budget) wakeAddress(address netip.Addr) {
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

// forgetAddress deletes the entry of an address that no longer counts any bytes or claims.
func (b *Budget) forgetAddress(address netip.Addr) {
	if a := b.addresses[address]; a != nil && a.bytes == 0 && a.first == nil && a.waiting == 0 {
		delete(b.addresses, address)
	}
}

// grantWaiting grants the waiting claims in the order of the queues until the memory is exhausted.
func (b *Budget) grantWaiting() {
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

// grantOldest grants the claim of the oldest large body, which does not have to wait for its turn.
func (b *Budget) grantOldest() {
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

// Rejected returns the number of claims that were not granted.
func (b *Budget) Rejected() uint64 { return b.rejections.Load() }

// InUse returns the number of bytes that are reserved.
func (b *Budget) InUse() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.common
	if first := b.largeBodies.Front(); first != nil {
		n += first.Value.(*Lease).oldestBytes
	}
	return uint64(n)
}
