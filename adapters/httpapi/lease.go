package httpapi

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

// memoryLease is what one request holds of a budget. All but held belongs to the budget.
type memoryLease struct {
	ctx    context.Context
	budget *budget
	held   int64
	// onFirstChunk is shown the first firstChunk bytes of a body's text when there are more.
	// Its error ends the reading.
	onFirstChunk func(text []byte) error
	// key is set for a request for flags, whose key stands in the body: it gets one
	// that nobody has.
	key          *string
	isKeyChecked bool
	body         pacedBody
	// refusalDelay is how long the sender of a body that is refused has to wait for the
	// answer.
	refusalDelay time.Duration

	server      *server       // with body.r it finds the address
	address     netip.Addr    // set when it counts
	arrived     bool          // all of the body is there
	large       bool          // it has held more than budget.small
	oldestBytes int64         // what of held lies in the quarter of the eldest
	counted     int64         // what of held counts for its address
	element     *list.Element // among the elders
}

// newLease begins with nothing. The request is one whose body arrives.
func (b *budget) newLease(s *server, w http.ResponseWriter, r *http.Request) *memoryLease {
	return &memoryLease{ctx: r.Context(), budget: b, server: s, body: pacedBody{w: w, r: r}}
}

// clientAddress finds the address, by the strict reading: only trusted proxies speak for
// others.
func (l *memoryLease) clientAddress() netip.Addr {
	if !l.address.IsValid() && l.server != nil {
		l.address = streamAddressOf(l.server.clientIP(l.body.r))
	}
	return l.address
}

// Reserve is take, and unreserve give, for who may have no lease.
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

// inspect takes the first look at a text.
func (l *memoryLease) inspect(text []byte) error {
	check := l.onFirstChunk
	l.onFirstChunk = nil
	return l.noteCheck(check(text))
}

// inspectKey takes the first look at a body of /flags: its key may be nobody's.
func (l *memoryLease) inspectKey(text []byte) error {
	l.isKeyChecked = l.arrived || startsObject(text) // else it may be packed
	if !startsObject(text) {
		return nil
	}
	if token := leadingFlagsKey(string(text[:firstChunk])); token != "" {
		return l.noteCheck(l.checkKey(token))
	}
	return nil
}

// checkKey looks for the project of a key. Other errors than that there is none are told
// in their time.
func (l *memoryLease) checkKey(token string) error {
	_, _, err := l.server.Decider.Project(l.ctx, token)
	if !errors.Is(err, flags.ErrUnknownKey) {
		return nil
	}
	*l.key = token
	return err
}

// noteCheck notes what came of a look.
func (l *memoryLease) noteCheck(err error) error {
	if err != nil {
		l.refusalDelay = earlyDelay
	}
	return err
}

// maxBytes is what the body could have were it alone.
func (l *memoryLease) maxBytes() int64 {
	if l.arrived {
		return 3 * l.budget.share
	}
	return 2 * l.budget.share
}

// acquire reserves n bytes more.
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

// tooLarge is for requests that would not fit were they alone: the body together with what
// is made of it.
func (l *memoryLease) tooLarge() error {
	p := problemPayload
	p.Detail = fmt.Sprintf("maximum event size exceeded: the body and what it holds take more than %d bytes of memory at once: send it in smaller parts", l.maxBytes())
	return &p
}

// markArrived: what follows is not for its sender to delay.
func (l *memoryLease) markArrived() {
	if l.counted > 0 || l.large {
		l.budget.markArrived(l)
		return
	}
	l.arrived = true
}

// Who sends a long body that is refused hears of it this much later, so that those
// who send nothing else cost others little: one that is refused for its beginning,
// and one that was large.
const (
	earlyDelay = 100 * time.Millisecond
	largeDelay = 2 * time.Second
)

// releaseDelayed gives all back and keeps the sender of a body that is refused waiting.
func (l *memoryLease) releaseDelayed() {
	if l.large {
		l.refusalDelay = largeDelay
	}
	l.release()
	if l.refusalDelay == 0 || l.ctx.Value(http.ServerContextKey) == nil { // nobody waits without a network
		return
	}
	timer := time.NewTimer(l.refusalDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

// eventMemory is about what an event takes on its way into the store beside its
// text, in bytes.
const eventMemory = 600

// acquireForStoring reserves what the events of a body take while they are stored,
// beside the body and its items: the texts that are stored, and the events
// themselves, a piece of the submission at a time.
func (l *memoryLease) acquireForStoring(text, items int) error {
	bytes, events := capture.PieceSize(text, items)
	return l.acquire(int64(bytes) + int64(bytes)/8 + eventMemory*int64(events))
}

// grow moves buf into a new buffer of size bytes, of less where the budget has
// less at all. Both count while they are in memory.
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

// read appends all of src to buf, whose capacity is part of the lease, until it
// has more than limit bytes, which is an error. first is how many bytes a new
// buffer gets, expected how many are expected in all, 0 when that is not known: the
// buffer doubles until it has a part of them, an eighth of what arrives and the first
// chunk of what has arrived, then gets them all, and doubles beyond if it has to.
// What has arrived gets all that there may be once doubling would take as much.
func (l *memoryLease) read(buf []byte, src io.Reader, first, expected, limit int64) ([]byte, error) {
	for {
		if len(buf) == cap(buf) {
			had := int64(cap(buf))
			if had >= firstChunk && l.onFirstChunk != nil {
				if err := l.inspect(buf); err != nil {
					return nil, err
				}
			}
			var err error
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

// nextSize is the size of the buffer after one of had bytes.
func (l *memoryLease) nextSize(current, first, expected, limit int64) int64 {
	enough := expected / 8
	if l.arrived {
		enough = min(enough, firstChunk)
	}
	size := max(2*current, first, 1)
	if expected > 0 && current <= expected && (current >= max(enough, 1) || size > expected) {
		size = expected + 1 // one more, to see the end
	}
	if l.arrived && 4*current > min(limit, l.maxBytes()) && current > expected {
		size = limit + 1
	}
	return min(size, limit+1)
}

// unpackInto is read for what comes out of a packed body: it begins with the first
// chunk, so that a look at it comes before the memory for the rest.
func (l *memoryLease) unpackInto(buf []byte, src io.Reader, expected, limit int64) ([]byte, error) {
	first := expected + 1
	if l.onFirstChunk != nil {
		first = min(first, firstChunk)
	}
	return l.read(buf, src, first, expected, limit)
}
