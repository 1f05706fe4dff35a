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

// This file is the event stream of OFREP (ADR 8 of the protocol), for clients that
// keep all flags: GET /ofrep/v1/events, with the project's public key in a header
// or, as a browser's EventSource sends none, in the parameter token. An event says
// that the definitions have changed, not what they are; the client then asks for its
// flags again. Nothing here is counted.
//
//	retry: 1730                    how long to wait before coming back, in ms
//
//	id: 5f3c0a8e9d1b2c47           the version now; without data it is no event
//
//	id: 6a4d1b9f0e2c3d58           after each change
//	event: message
//	data: {"type":"refetchEvaluation","etag":"6a4d1b9f0e2c3d58"}
//
//	:                              nothing has changed
//
// A client that comes back with the id of another version as Last-Event-ID gets the
// event at once, as does one without an id within seconds of a change, which the
// flags that it has may lack.

const (
	// defaultMaxPublicStreams is Config.MaxPublicStreams where that is zero.
	defaultMaxPublicStreams = 20_000
	// MaxAddressStreams is how many event streams of OFREP one client address, or
	// network /64 of IPv6, may have open at once.
	MaxAddressStreams = 100

	// recentChange is longer than the time between an answer with flags, which may be
	// a second old, and the stream that its reader opens.
	recentChange = 5 * time.Second
	// maxSpread is the longest time over which clients are told of a change.
	maxSpread = time.Second
	// hintPause is how long after a refusal answers do not name the stream. Clients
	// who are refused ask for their flags again, without end where they keep being
	// told of a stream.
	hintPause = time.Minute
	// maxUnheard is in how many answers the stream is named while nobody has ever
	// come, as where a proxy hides it, and unheardPause how long it is not named then.
	maxUnheard   = 1000
	unheardPause = time.Hour
	// renewalDelay is how long who waits for definitions to be read again waits for
	// others: they are read for such at most 20 times a second and project.
	renewalDelay = 50 * time.Millisecond
	// maxPrefix is the longest path prefix that is told, in bytes.
	maxPrefix = 256

	versionParameter = "flagConfigEtag"
)

func getOFREPEvents(s *server, w http.ResponseWriter, r *http.Request) error {
	token := ofrepKey(r)
	if token == "" {
		token = parseQuery(r.URL.RawQuery).Token
	}
	if token == "" {
		return problemOFREPNoKey.with("An event stream takes it in the parameter token too.", "")
	}
	address := s.clientIP(r)
	if s.limits.enabled && !s.limits.ip.allow(s, w, address.String()) {
		return &problemRateLimited
	}
	if s.Partial { // nobody would tell it of changes
		return &problemUnavailable
	}
	project, _, err := s.Decider.Project(r.Context(), token)
	if err != nil {
		if errors.Is(err, flags.ErrUnknownKey) && usageKey(token) != publicKey {
			return &problemOFREPSecretKey
		}
		return err
	}
	project.APIKey = strings.Clone(token) // a part of the request's memory
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

// changedState is the state of a version that is only named.
func changedState(version string) *definitionsState {
	id := "id: " + version + "\n"
	return &definitionsState{
		version: version, next: make(chan struct{}), greeting: []byte(id + "\n"),
		event: []byte(id + "event: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"" + version + "\"}\n\n"),
	}
}

// spreadOf is over how long so many clients are told of a change. They all ask for
// their flags 50 ms later, and the protocol does not part them: ten a millisecond do,
// up to 10,000 clients.
func spreadOf(clients int) time.Duration {
	return min(time.Duration(clients/10)*time.Millisecond, maxSpread)
}

// addressSlots are the addresses that listen to changes, and who found no place lately.
type addressSlots struct {
	addresses map[netip.Addr]*streamAddress // with open streams; under streams.mu
	// When somebody was refused last, in nanoseconds: because all places were taken,
	// because those of an address were.
	lastRefusal, lastAddressRefusal atomic.Int64
	refusals                        atomic.Uint64 // since the start

	hasVisitor   atomic.Bool  // somebody did
	hints        atomic.Int64 // answers with a hint, while nobody has come
	unheardSince atomic.Int64 // when there were maxUnheard of them, in nanoseconds
}

type streamAddress struct {
	open        int
	lastRefusal int64
}

// streamAddressOf is as what an address counts: of IPv6 a client has 2^64.
func streamAddressOf(a netip.Addr) netip.Addr {
	if a = a.Unmap(); a.Is6() {
		network, _ := a.WithZone("").Prefix(64) // fails for no address of IPv6
		return network.Addr()
	}
	return a
}

// enter takes a place for an address; false when it may have no more, or when all
// places are taken.
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

func (c *addressSlots) leave(address netip.Addr) {
	if a := c.addresses[address]; a.open > 1 {
		a.open--
	} else {
		delete(c.addresses, address)
	}
}

// isUnheard reports whether the stream has been named to many, and none of them came.
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

// streamHint tells a client where its project's event stream is. The zero value
// tells nothing.
type streamHint struct{ prefix, token string }

// hint is what an answer tells of the event stream. It is the same for all of a
// project, as the answer's ETag depends on it, except while places are lacking, or
// where the stream is not found.
func (s *server) hint(r *http.Request) streamHint {
	if s.Partial {
		return streamHint{}
	}
	prefix, ok := outerPrefix(r)
	if !ok {
		return streamHint{}
	}
	t, now := s.streams, time.Now().UnixNano()
	c := &t.addressSlots
	if within(hintPause, c.lastRefusal.Load(), now) || within(hintPause, c.lastAddressRefusal.Load(), now) && t.hasRecentRefusal(streamAddressOf(s.clientIP(r)), now) || c.isUnheard(now) {
		return streamHint{}
	}
	return streamHint{prefix, ofrepKey(r)}
}

func (t *streams) hasRecentRefusal(address netip.Addr, now int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.addressSlots.addresses[address]
	return a != nil && within(hintPause, a.lastRefusal, now)
}

// outerPrefix is what stands before a path of ours where the client sees it: what an
// outer router has cut off the target of the request, behind what a proxy has and
// says so. False where that cannot be known.
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
	// Two slashes, or what browsers take for them, would name another host.
	ok = ok && prefix[0] == '/' && len(prefix) > 1 && len(prefix) <= maxPrefix && prefix[1] != '/' && !strings.ContainsAny(prefix, "\\?#, \t\r\n")
	return prefix, ok
}

// append writes the member eventStreams behind another one.
func (h streamHint) append(b []byte) []byte {
	if h.token == "" {
		return b
	}
	b = append(b, `,"eventStreams":[{"type":"sse","endpoint":{"requestUri":`...)
	b = wire.AppendQuoted(b, h.prefix+ofrepEvents+"?token="+url.QueryEscape(h.token))
	return append(b, `},"inactivityDelaySec":120}]`...)
}

// catchUp reads a project's definitions again where the client has heard of a
// version, maybe from another server, that is not the one here. Twice: what reads
// them already may have begun too early.
func (s *server) catchUp(r *http.Request, token string) {
	query, _ := url.ParseQuery(r.URL.RawQuery) // what can be read of it
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

// renewals let requests wait for definitions that are read after they came. Anybody
// may ask for that: those who come meanwhile share one.
type renewals struct {
	mu      sync.Mutex
	pending map[int64]chan struct{} // by project; closed when it was read
}

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
	_, _, _ = d.Project(context.WithoutCancel(ctx), apiKey) // others wait for it; who decides sees the error
}
