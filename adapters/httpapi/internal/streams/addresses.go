package streams

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

const (
	// DefaultMaxPublicStreams is the value of Config.MaxPublicStreams if that is zero.
	DefaultMaxPublicStreams = 20_000
	// MaxAddressStreams is the maximum number of open event streams of OFREP per client address, or
	// per network /64 of IPv6.
	MaxAddressStreams = 100

	// hintPause is how long after a refused stream responses do not include the address of the
	// stream. A refused client requests its flags, and each response with the address would make
	// it try the stream without end.
	hintPause = time.Minute
	// maxUnheard is the number of responses that include the address of the stream while no
	// client has ever opened one, for example because a proxy does not forward it. After that,
	// responses omit the address for unheardPause.
	maxUnheard   = 1000
	unheardPause = time.Hour
)

// problemOFREPTooMany is the error of OFREP for a stream above a limit; Code is the error code of
// OpenFeature.
var problemOFREPTooMany = problem.Problem{Status: 503, Code: "GENERAL", Detail: "Too many event streams are open, here or from this address. Please poll instead, or try again later.", Quiet: true}

// addressSlots counts the open public streams by client address and records refused clients.
type addressSlots struct {
	addresses map[netip.Addr]*streamAddress // addresses with open streams; guarded by streams.mu
	// The times of the last refusals, in Unix nanoseconds: lastRefusal for lack of free slots,
	// lastAddressRefusal because of the limit of an address.
	lastRefusal, lastAddressRefusal atomic.Int64
	refusals                        atomic.Uint64 // since the start

	hasVisitor   atomic.Bool  // whether any client has ever opened a stream
	hints        atomic.Int64 // responses with a hint while no client has opened a stream
	unheardSince atomic.Int64 // when hints reached maxUnheard, in Unix nanoseconds
}

// streamAddress is the state of one client address.
type streamAddress struct {
	open        int
	lastRefusal int64
}

// enter reserves a slot for an address; full reports that no slot is free at all. It returns
// false if there is no slot for the address. The caller must hold streams.mu.
func (c *addressSlots) enter(address netip.Addr, full bool) bool {
	c.hasVisitor.Store(true)
	now := time.Now().UnixNano()
	if full {
		c.lastRefusal.Store(now)
		c.refusals.Add(1)
		return false
	}
	a := c.addresses[address]
	if a == nil {
		a = &streamAddress{}
		c.addresses[address] = a
	}
	if a.open >= MaxAddressStreams {
		a.lastRefusal = now
		c.lastAddressRefusal.Store(now)
		c.refusals.Add(1)
		return false
	}
	a.open++
	return true
}

// leave releases a slot that enter reserved. The caller must hold streams.mu.
func (c *addressSlots) leave(address netip.Addr) {
	if a := c.addresses[address]; a.open > 1 {
		a.open--
	} else {
		delete(c.addresses, address)
	}
}

// isUnheard reports whether many responses have had the stream's address, but no client has
// opened a stream.
func (c *addressSlots) isUnheard(now int64) bool {
	switch {
	case c.hasVisitor.Load():
		return false
	case within(unheardPause, c.unheardSince.Load(), now):
		return true
	case c.hints.Add(1) > maxUnheard:
		c.unheardSince.Store(now)
		c.hints.Store(0)
		return true
	}
	return false
}

func within(d time.Duration, since, now int64) bool { return since != 0 && now-since < int64(d) }

// MayHint reports whether the response to a request may include the address of the stream. It may
// not while slots are lacking, and if clients cannot reach the stream.
func (t *Streams) MayHint(r *http.Request) bool {
	now, c := time.Now().UnixNano(), &t.addressSlots
	if within(hintPause, c.lastRefusal.Load(), now) || within(hintPause, c.lastAddressRefusal.Load(), now) && t.hasRecentRefusal(admission.Network(t.server.ClientIP(r)), now) {
		return false
	}
	return !c.isUnheard(now)
}

// hasRecentRefusal reports whether a stream of the address was refused less than hintPause ago.
func (t *Streams) hasRecentRefusal(address netip.Addr, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.addressSlots.addresses[address]
	return a != nil && within(hintPause, a.lastRefusal, now)
}
