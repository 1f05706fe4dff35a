package httpapi

import (
	"container/list"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"
)

// memoryLease is the memory that one request has reserved from a budget, in bytes. Only the
// goroutine of the request may use it; the budget updates its counts with the lock of the budget.
type memoryLease struct {
	ctx    context.Context
	budget *budget
	held   int64 // bytes that are reserved now
	// onFirstChunk is called, once, with at least the first firstChunk bytes of the body, if it is
	// longer. It is first called for the body as received, and may set itself again for the
	// unpacked body. Reading stops if it returns an error.
	onFirstChunk func(text []byte) error
	body         pacedBody
	// refusalDelay is how long the response to a rejected body is delayed.
	refusalDelay time.Duration

	client      addresser     // finds the address of the client of body.r; may be nil
	address     netip.Addr    // set when it is first needed
	arrived     bool          // the body has been read completely
	large       bool          // it has held more than budget.small bytes
	oldestBytes int64         // the part of held in the quarter reserved for the oldest
	counted     int64         // the part of held that counts for the address
	element     *list.Element // in budget.largeBodies, or nil
}

// addresser finds the address of the client that sent a request.
type addresser interface {
	ClientIP(r *http.Request) netip.Addr
}

// newLease returns an empty lease for a request whose body has not been read.
func (b *budget) newLease(w http.ResponseWriter, r *http.Request, client addresser) *memoryLease {
	return &memoryLease{ctx: r.Context(), budget: b, client: client, body: pacedBody{w: w, r: r}}
}

// clientAddress returns the address of the client. X-Forwarded-For is used only if a trusted proxy
// has set it.
func (l *memoryLease) clientAddress() netip.Addr {
	if !l.address.IsValid() && l.client != nil {
		l.address = streamAddressOf(l.client.ClientIP(l.body.r))
	}
	return l.address
}

// streamAddressOf returns the address under which a client is counted. For IPv6 that is the
// network /64, since one client may have all of its addresses.
func streamAddressOf(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() {
		network, _ := a.WithZone("").Prefix(64) // cannot fail for IPv6 addresses
		return network.Addr()
	}
	return a
}

// Reserve is like acquire for callers that may have no lease; unreserve undoes it.
func (l *memoryLease) Reserve(n int64) error {
	if l == nil {
		return nil
	}
	return l.acquire(n)
}

func (l *memoryLease) unreserve(n int64) {
	if l != nil {
		l.free(n)
	}
}

// inspect calls onFirstChunk if it is set and text is long enough. If the result is an error, the
// response is delayed.
func (l *memoryLease) inspect(text []byte) error {
	check := l.onFirstChunk
	if check == nil || len(text) < firstChunk {
		return nil
	}
	l.onFirstChunk = nil
	err := check(text)
	if err != nil {
		l.refusalDelay = earlyDelay
	}
	return err
}

// maxBytes is the largest size of a lease if there are no others.
func (l *memoryLease) maxBytes() int64 {
	if l.arrived {
		return 3 * l.budget.share
	}
	return 2 * l.budget.share
}

// acquire reserves n more bytes.
func (l *memoryLease) acquire(n int64) error {
	if n == 0 {
		return nil
	}
	if l.held+n > l.maxBytes() {
		return l.tooLarge()
	}
	if !l.budget.acquire(l, n) {
		return &problemBusy
	}
	return nil
}

func (l *memoryLease) free(n int64) {
	if n > 0 {
		l.budget.release(l, n)
	}
}

func (l *memoryLease) release() {
	if l.held > 0 || l.element != nil {
		l.budget.release(l, l.held)
	}
}

// tooLarge returns the error for a request that needs more memory, for the body and everything
// decoded from it, than the budget allows for one lease.
func (l *memoryLease) tooLarge() error {
	p := problemPayload
	p.Detail = fmt.Sprintf("maximum event size exceeded: the body and its contents need more than %d bytes of memory at once: send it in smaller parts", l.maxBytes())
	return &p
}

// markArrived records that the body has been read completely, so that its client can no longer
// delay the release of the memory.
func (l *memoryLease) markArrived() {
	if l.counted > 0 || l.large {
		l.budget.markArrived(l)
		return
	}
	l.arrived = true
}

// The delays of responses to rejected long bodies. They limit how much load a client causes with
// nothing but such bodies: earlyDelay applies if the body was rejected for its beginning, and
// largeDelay if it was large.
const (
	earlyDelay = 100 * time.Millisecond
	largeDelay = 2 * time.Second
)

// releaseDelayed releases all memory and then waits for refusalDelay.
func (l *memoryLease) releaseDelayed() {
	if l.large {
		l.refusalDelay = largeDelay
	}
	l.release()
	// No delay without a network connection.
	if l.refusalDelay == 0 || l.ctx.Value(http.ServerContextKey) == nil {
		return
	}
	timer := time.NewTimer(l.refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// grow moves buf to a new buffer of size bytes, or less if the budget allows no more. Both buffers
// are reserved while they exist.
func (l *memoryLease) grow(buf []byte, size int64) ([]byte, error) {
	size = min(size, l.maxBytes()-l.held)
	old := int64(cap(buf))
	if size <= old {
		return nil, l.tooLarge()
	}
	if err := l.acquire(size); err != nil {
		return nil, err
	}
	buf = append(make([]byte, 0, size), buf...)
	l.free(old)
	return buf, nil
}

// read appends all of src to buf, whose capacity is part of the lease. More than limit bytes are an
// error. first is the size of a new buffer, and expected is the expected total, 0 if unknown. The
// buffer doubles until a part of the expected bytes has been read: an eighth while the body is
// arriving, and at most firstChunk after that. It then gets the expected size, and doubles beyond
// it if needed. For a body that has arrived, it gets the maximum size as soon as doubling would
// need as much memory.
func (l *memoryLease) read(buf []byte, src io.Reader, first, expected, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			had := int64(cap(buf))
			err := l.inspect(buf)
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
			return nil, payloadTooLarge(limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, err
		}
	}
}

// nextSize returns the size of the buffer that follows one of current bytes.
func (l *memoryLease) nextSize(current, first, expected, limit int64) int64 {
	enough := expected / 8
	if l.arrived {
		enough = min(enough, firstChunk)
	}
	size := max(2*current, first, 1)
	if expected > 0 && current <= expected && (current >= max(enough, 1) || size > expected) {
		size = expected + 1 // one more byte to detect the end
	}
	if l.arrived && 4*current > min(limit, l.maxBytes()) && current > expected {
		size = limit + 1
	}
	return min(size, limit+1)
}

// unpackInto is like read for the output of a decoder. If onFirstChunk is set it begins with
// firstChunk bytes, so that the check precedes the allocation of the rest.
func (l *memoryLease) unpackInto(buf []byte, src io.Reader, expected, limit int64) ([]byte, error) {
	first := expected + 1
	if l.onFirstChunk != nil {
		first = min(first, firstChunk)
	}
	return l.read(buf, src, first, expected, limit)
}
