package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file serves the event stream of OFREP (ADR 8 of the protocol), for clients that cache all
// flags: GET /ofrep/v1/events. The project's public key is in a header or in the parameter token,
// since a browser's EventSource cannot send headers. An event reports that the definitions have
// changed, not what has changed; the client then requests its flags. Event streams do not count
// against the quota.
//
//	retry: 1730                    the delay before reconnecting, in ms
//
//	id: 5f3c0a8e9d1b2c47           the current version; without data it is not an event
//
//	id: 6a4d1b9f0e2c3d58           after each change
//	event: message
//	data: {"type":"refetchEvaluation","etag":"6a4d1b9f0e2c3d58"}
//
//	:                              keep-alive: no change
//
// A client that reconnects with the id of another version in Last-Event-ID receives the event at
// once. So does a client without an id within seconds of a change, because its flags may be older
// than the change.

const (
	// defaultMaxPublicStreams is the value of Config.MaxPublicStreams if that is zero.
	defaultMaxPublicStreams = 20_000
	// MaxAddressStreams is the maximum number of open OFREP event streams per client address, or
	// per network /64 of IPv6.
	MaxAddressStreams = 100

	// recentChange is how long a change counts as recent. It is longer than the time between a
	// response with flags, which may be a second old, and the stream that the client opens after
	// it.
	recentChange = 5 * time.Second
	// maxSpread is the longest time over which the event of a change is spread across clients.
	maxSpread = time.Second
	// hintPause is how long after a refused stream responses do not include the address of the
	// stream. A refused client requests its flags, and each response with the address would make
	// it try the stream without end.
	hintPause = time.Minute
	// maxUnheard is the number of responses that include the address of the stream while no
	// client has ever opened one, for example because a proxy does not forward it. After that,
	// responses omit the address for unheardPause.
	maxUnheard   = 1000
	unheardPause = time.Hour
	// renewalDelay is how long a request that needs newer definitions waits for others before the
	// definitions are read. It limits these reads to 20 a second per project.
	renewalDelay = 50 * time.Millisecond
	// maxPrefix is the maximum length in bytes of a path prefix in the stream's address.
	maxPrefix = 256

	versionParameter = "flagConfigEtag"
)

func (s *sdkService) getOFREPEvents(w http.ResponseWriter, r *http.Request) error {
	token := ofrepKey(r)
	if token == "" {
		token = parseQuery(r.URL.RawQuery).Token
	}
	if token == "" {
		return problemOFREPNoKey.with("Event streams also accept it in the parameter token.", "")
	}
	address := s.ClientIP(r)
	if s.limits.enabled && !s.limits.ip.allow(s.server, w, address.String()) {
		return &problemRateLimited
	}
	if s.Partial { // this process does not receive changes
		return &problemUnavailable
	}
	project, _, err := s.Decider.Project(r.Context(), token)
	if err != nil {
		if errors.Is(err, flags.ErrUnknownKey) && usageKey(token) != publicKey {
			return &problemOFREPSecretKey
		}
		return err
	}
	project.APIKey = strings.Clone(token) // token may refer to the request's buffers, which are reused
	_, version, err := s.Decider.Payload(r.Context(), project.APIKey)
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		return headStream(w)
	}
	st, err := s.streams.join(&project, changesStream, nil, version, admission{address: streamAddressOf(address)})
	if err != nil {
		return err
	}
	if err := st.arrive(version); err != nil {
		return err
	}
	st.sent = strings.Clone(r.Header.Get("Last-Event-ID"))
	if st.sent == "" && time.Since(st.state.since) >= recentChange {
		st.sent = st.state.version
	}
	return st.start(w, r)
}

// changedState returns the state for a version. Its event has only the version, not the
// definitions.
func changedState(version string) *definitionsState {
	id := "id: " + version + "\n"
	return &definitionsState{
		version: version, next: make(chan struct{}), greeting: []byte(id + "\n"),
		event: []byte(id + "event: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"" + version + "\"}\n\n"),
	}
}

// spreadOf returns the time over which a change is sent to that many clients. All clients request
// their flags 50 ms after the event, and the protocol has no random delay. The spread limits them
// to ten per millisecond, for up to 10,000 clients.
func spreadOf(clients int) time.Duration {
	return min(time.Duration(clients/10)*time.Millisecond, maxSpread)
}

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

// streamAddressOf returns the address under which a client is counted. For IPv6 that is the
// network /64, since one client may have all of its addresses.
func streamAddressOf(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() {
		network, _ := a.WithZone("").Prefix(64) // cannot fail for IPv6 addresses
		return network.Addr()
	}
	return a
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

// streamHint is the part of a response with the address of the project's event stream. The zero
// value appends no address.
type streamHint struct{ prefix, token string }

// hint returns the streamHint of a response. It must be the same for all clients of a project, as
// it is part of the ETag of the response. It is zero while slots are lacking, if clients cannot
// reach the stream, and if the path prefix is unknown.
func (s *sdkService) hint(r *http.Request) streamHint {
	if s.Partial {
		return streamHint{}
	}
	prefix, ok := outerPrefix(r)
	if !ok {
		return streamHint{}
	}
	t, now := s.streams, time.Now().UnixNano()
	c := &t.addressSlots
	if within(hintPause, c.lastRefusal.Load(), now) || within(hintPause, c.lastAddressRefusal.Load(), now) && t.hasRecentRefusal(streamAddressOf(s.ClientIP(r)), now) || c.isUnheard(now) {
		return streamHint{}
	}
	return streamHint{prefix, ofrepKey(r)}
}

// hasRecentRefusal reports whether a stream of the address was refused less than hintPause ago.
func (t *streams) hasRecentRefusal(address netip.Addr, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.addressSlots.addresses[address]
	return a != nil && within(hintPause, a.lastRefusal, now)
}

// outerPrefix returns the path prefix of this API as the client sees it: the X-Forwarded-Prefix
// of a proxy, followed by the part of the request target that an outer router has stripped. It
// returns false if the prefix cannot be determined.
func outerPrefix(r *http.Request) (string, bool) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(oneSlash(path), "/"), ofrepBulk)
	ok = ok && (prefix == "" || !strings.HasPrefix(path, "//"))
	if cut := r.Header["X-Forwarded-Prefix"]; len(cut) > 0 {
		prefix = strings.TrimSuffix(cut[0], "/") + prefix
	}
	if prefix == "" {
		return "", ok
	}
	// A prefix with two slashes, or with characters that browsers treat as slashes, would name
	// another host.
	ok = ok && prefix[0] == '/' && len(prefix) > 1 && len(prefix) <= maxPrefix && prefix[1] != '/' && !strings.ContainsAny(prefix, "\\?#, \t\r\n")
	return prefix, ok
}

// append appends the member eventStreams. It must follow another member.
func (h streamHint) append(b []byte) []byte {
	if h.token == "" {
		return b
	}
	b = append(b, `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":`...)
	b = wire.AppendQuoted(b, h.prefix+ofrepEvents+"?token="+url.QueryEscape(h.token))
	return append(b, `},"inactivityDelaySec":120}]`...)
}

// catchUp reads a project's definitions again if the client has seen a version, possibly of
// another server, that differs from the version here. It reads them up to twice, because a read
// that is already in progress may have started before the change.
func (s *sdkService) catchUp(r *http.Request, token string) {
	query, _ := url.ParseQuery(r.URL.RawQuery) // malformed parts are ignored
	clientVersion := query.Get(versionParameter)
	for range 2 {
		project, _, err := s.Decider.Project(r.Context(), token)
		if clientVersion == "" || err != nil {
			return
		}
		if _, version, err := s.Decider.Payload(r.Context(), token); err != nil || version == clientVersion {
			return
		}
		s.renewals.wait(r.Context(), s.Decider, project.ID, token)
	}
}

// renewals let requests wait until the definitions of a project have been read again. As any
// client may cause such reads, concurrent requests share one.
type renewals struct {
	mu      sync.Mutex
	pending map[int64]chan struct{} // by project; closed after the read
}

// wait returns when the definitions have been read. Other requests of the project end their wait
// early if their context ends; the one that reads does not.
func (n *renewals) wait(ctx context.Context, d *flags.Decider, projectID int64, apiKey string) {
	n.mu.Lock()
	done, isPending := n.pending[projectID]
	if !isPending {
		done = make(chan struct{})
		if n.pending == nil {
			n.pending = map[int64]chan struct{}{}
		}
		n.pending[projectID] = done
	}
	n.mu.Unlock()
	if isPending {
		select {
		case <-done:
		case <-ctx.Done():
		}
		return
	}
	defer close(done)
	time.Sleep(renewalDelay)
	n.mu.Lock()
	delete(n.pending, projectID)
	n.mu.Unlock()
	d.Renew(projectID)
	_, _, _ = d.Project(context.WithoutCancel(ctx), apiKey) // this fills the cache; the caller's own evaluation reports errors
}
