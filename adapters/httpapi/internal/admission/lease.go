package admission

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// Lease is the memory that one request has reserved from a budget, in bytes. Only the
// goroutine of the request may use it; the budget updates its counts with the lock of the budget.
type Lease struct {
	Ctx    context.Context
	Budget *Budget
	held   int64 // bytes that are reserved now
	// OnFirstChunk is called, once, with at least the first FirstChunk bytes of the body, if it is
	// longer. It is first called for the body as received, and may set itself again for the
	// unpacked body. Reading stops if it returns an error.
	OnFirstChunk func(text []byte) error
	Body         PacedBody
	// RefusalDelay is how long the response to a rejected body is delayed.
	RefusalDelay time.Duration

	Client      addresser     // finds the address of the client of body.r; may be nil
	address     netip.Addr    // set when it is first needed
	Arrived     bool          // the body has been read completely
	large       bool          // it has held more than budget.small bytes
	oldestBytes int64         // the part of held in the quarter reserved for the oldest
	counted     int64         // the part of held that counts for the address
	element     *list.Element // in budget.largeBodies, or nil
}

// addresser finds the address of the client that sent a request.
type addresser interface {
	ClientIP(r *http.Request) netip.Addr
}

// NewLease returns an empty lease for a request whose body has not been read.
func (b *Budget) NewLease(w http.ResponseWriter, r *http.Request, client addresser) *Lease {
	return &Lease{Ctx: r.Context(), Budget: b, Client: client, Body: PacedBody{W: w, R: r}}
}

// clientAddress returns the address of the client. X-Forwarded-For is used only if a trusted proxy
// has set it.
func (l *Lease) clientAddress() netip.Addr {
	if !l.address.IsValid() && l.Client != nil {
		l.address = Network(l.Client.ClientIP(l.Body.R))
	}
	return l.address
}

// Network returns the address under which a client is counted. For IPv6 that is the
// network /64, since one client may have all of its addresses.
func Network(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() {
		network, _ := a.WithZone("").Prefix(64) // cannot fail for IPv6 addresses
		return network.Addr()
	}
	return a
}

// Reserve is like Acquire for callers that may have no lease; Unreserve undoes it.
func (l *Lease) Reserve(n int64) error {
	if l == nil {
		return nil
	}
	return l.Acquire(n)
}

// Unreserve undoes Reserve.
func (l *Lease) Unreserve(n int64) {
	if l != nil {
		l.Free(n)
	}
}

// Inspect calls OnFirstChunk if it is set and text is long enough. If the result is an error, the
// response is delayed.
func (l *Lease) Inspect(text []byte) error {
	check := l.OnFirstChunk
	if check == nil || len(text) < FirstChunk {
		return nil
	}
	l.OnFirstChunk = nil
	err := check(text)
	if err != nil {
		l.RefusalDelay = earlyDelay
	}
	return err
}

// maxBytes is the largest size of a lease if there are no others.
func (l *Lease) maxBytes() int64 {
	if l.Arrived {
		return 3 * l.Budget.share
	}
	return 2 * l.Budget.share
}

// Acquire reserves n more bytes.
func (l *Lease) Acquire(n int64) error {
	if n == 0 {
		return nil
	}
	if l.held+n > l.maxBytes() {
		return l.tooLarge()
	}
	if !l.Budget.acquire(l, n) {
		return &Busy
	}
	return nil
}

// Free returns n bytes of the lease to the budget.
func (l *Lease) Free(n int64) {
	if n > 0 {
		l.Budget.release(l, n)
	}
}

// Release returns all bytes of the lease to the budget.
func (l *Lease) Release() {
	if l.held > 0 || l.element != nil {
		l.Budget.release(l, l.held)
	}
}

// tooLarge returns the error for a request that needs more memory, for the body and everything
// decoded from it, than the budget allows for one lease.
func (l *Lease) tooLarge() error {
	p := tooLarge
	p.Detail = fmt.Sprintf("maximum event size exceeded: the body and its contents need more than %d bytes of memory at once: send it in smaller parts", l.maxBytes())
	return &p
}

// MarkArrived records that the body has been read completely, so that its client can no longer
// delay the release of the memory.
func (l *Lease) MarkArrived() {
	if l.counted > 0 || l.large {
		l.Budget.markArrived(l)
		return
	}
	l.Arrived = true
}

// The delays of responses to rejected long bodies. They limit how much load a client causes with
// nothing but such bodies: earlyDelay applies if the body was rejected for its beginning, and
// LargeDelay if it was large.
const (
	earlyDelay = 100 * time.Millisecond
	LargeDelay = 2 * time.Second
)

// ReleaseDelayed releases all memory and then waits for RefusalDelay.
func (l *Lease) ReleaseDelayed() {
	if l.large {
		l.RefusalDelay = LargeDelay
	}
	l.Release()
	// No delay without a network connection.
	if l.RefusalDelay == 0 || l.Ctx.Value(http.ServerContextKey) == nil {
		return
	}
	timer := time.NewTimer(l.RefusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.Ctx.Done():
	}
}

// grow moves buf to a new buffer of size bytes, or less if the budget allows no more. Both buffers
// are reserved while they exist.
func (l *Lease) grow(buf []byte, size int64) ([]byte, error) {
	size = min(size, l.maxBytes()-l.held)
	old := int64(cap(buf))
	if size <= old {
		return nil, l.tooLarge()
	}
	if err := l.Acquire(size); err != nil {
		return nil, err
	}
	buf = append(make([]byte, 0, size), buf...)
	l.Free(old)
	return buf, nil
}

// read appends all of src to buf, whose capacity is part of the lease. More than limit bytes are an
// error. first is the size of a new buffer, and expected is the expected total, 0 if unknown. The
// buffer doubles until a part of the expected bytes has been read: an eighth while the body is
// arriving, and at most FirstChunk after that. It then gets the expected size, and doubles beyond
// it if needed. For a body that has arrived, it gets the maximum size as soon as doubling would
// need as much memory.
func (l *Lease) read(buf []byte, src io.Reader, first, expected, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			had := int64(cap(buf))
			err := l.Inspect(buf)
			if err != nil {
				return nil, err
			}
			if buf, err = l.grow(buf, l.nextSize(had, first, expected, limit)); err != nil {
				return nil, err
			}
		}
		n, err := src.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, TooLargeFor(limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// nextSize returns the size of the buffer that follows one of current bytes.
func (l *Lease) nextSize(current, first, expected, limit int64) int64 {
	enough := expected / 8
	if l.Arrived {
		enough = min(enough, FirstChunk)
	}
	size := max(2*current, first, 1)
	if expected > 0 && current <= expected && (current >= max(enough, 1) || size > expected) {
		size = expected + 1 // one more byte to detect the end
	}
	if l.Arrived && 4*current > min(limit, l.maxBytes()) && current > expected {
		size = limit + 1
	}
	return min(size, limit+1)
}

// UnpackInto is like read for the output of a decoder. If OnFirstChunk is set it begins with
// FirstChunk bytes, so that the check precedes the allocation of the rest.
func (l *Lease) UnpackInto(buf []byte, src io.Reader, expected, limit int64) ([]byte, error) {
	first := expected + 1
	if l.OnFirstChunk != nil {
		first = min(first, FirstChunk)
	}
	return l.read(buf, src, first, expected, limit)
}
