package streams

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
)

// Streams are all streams of a handler. For each project with streams, a hub polls the
// definitions. Each key is checked once per keep-alive interval. The goroutines end with the last
// stream.
type Streams struct {
	server *frame.Server
	access Access
	Timing StreamTiming
	Ctx    context.Context // canceled by CloseStreams
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	checking bool // whether check is running
	hubs     map[hubID]*hub
	keys     map[keyID]*streamKey
	lookups  map[keyID]*keyLookup

	Running              sync.WaitGroup
	Definitions, changes streamSlots
	addressSlots         addressSlots // guarded by mu where its fields say so
	dropped              atomic.Uint64
	Feeds                feeds
}

// Access checks whether a secret or personal key may read the definitions of a project.
type Access interface {
	Authorize(ctx context.Context, text string, p *flags.Project) error
}

// streamSlots count the open streams of definitions, or of changes, and their events.
type streamSlots struct {
	max    int
	Open   atomic.Int64
	events atomic.Uint64
}

// Counts returns the number of open streams of definitions, and of the events that they have sent.
func (t *Streams) Counts() (open, events uint64) { return t.Definitions.counts() }

// PublicCounts is counts for streams of changes.
func (t *Streams) PublicCounts() (open, events uint64) { return t.changes.counts() }

// DroppedCount returns the number of streams that ended because the client was too slow.
func (t *Streams) DroppedCount() uint64 { return t.dropped.Load() }

// RejectedCount returns the number of streams of changes that were refused.
func (t *Streams) RejectedCount() uint64 { return t.addressSlots.refusals.Load() }

func (s *streamSlots) counts() (open, events uint64) {
	return uint64(max(s.Open.Load(), 0)), s.events.Load()
}

func (t *Streams) slotsOf(kind streamKind) *streamSlots {
	if kind == ChangesStream {
		return &t.changes
	}
	return &t.Definitions
}

// streamKind is the content of a stream.
type streamKind uint8

// The kinds of streams.
const (
	definitionsStream streamKind = iota
	membersStream                // definitions with the members of static cohorts
	ChangesStream                // only notifications that definitions have changed: see ofrepevents.go
)

// KindOf returns the kind of streams of definitions, with or without the members of static cohorts.
func KindOf(members bool) streamKind {
	if members {
		return membersStream
	}
	return definitionsStream
}

type hubID struct {
	apiKey string
	kind   streamKind
}

type keyID struct{ apiKey, text string }

// streamKey is a secret key with open streams.
type streamKey struct {
	id      keyID
	project *flags.Project
	masked  string        // the masked key
	refs    int           // the number of streams
	checked time.Time     // the time of the last successful check
	ended   chan struct{} // closed when the key has lost access to the project
}

// keyLookup is a lookup of a key in progress.
type keyLookup struct {
	done chan struct{}
	err  error // valid after done is closed
}

// New returns the streams of a server: at most maxDefinitions of definitions and maxChanges of OFREP.
func New(s *frame.Server, access Access, maxDefinitions, maxChanges int) *Streams {
	t := &Streams{server: s, access: access, Timing: defaultStreamTiming, Feeds: feeds{Timing: defaultFeedTiming}, hubs: map[hubID]*hub{}, keys: map[keyID]*streamKey{}, lookups: map[keyID]*keyLookup{}}
	t.Definitions.max, t.changes.max = maxDefinitions, maxChanges
	t.addressSlots.addresses = map[netip.Addr]*streamAddress{}
	t.Ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// keyCheckInterval is how long the successful check of a key with open streams is reused for
// other requests with the same key.
const keyCheckInterval = time.Second

// Authorize checks that a key may read a project. Concurrent requests with the same key share one
// lookup.
func (t *Streams) Authorize(ctx context.Context, text string, p *flags.Project) error {
	id := keyID{p.APIKey, text}
	t.mu.Lock()
	if k := t.keys[id]; k != nil && time.Since(k.checked) < keyCheckInterval {
		t.mu.Unlock()
		return nil
	}
	l, isPending := t.lookups[id]
	if !isPending {
		l = &keyLookup{done: make(chan struct{}), err: flags.ErrUnavailable}
		t.lookups[id] = l
	}
	t.mu.Unlock()
	if isPending {
		select {
		case <-l.done:
			return l.err
		case <-ctx.Done():
			return errors.Join(flags.ErrUnavailable, ctx.Err())
		}
	}
	began := time.Now()
	defer func() {
		t.mu.Lock()
		delete(t.lookups, id)
		if k := t.keys[id]; k != nil && l.err == nil {
			k.checked = began
		}
		t.mu.Unlock()
		close(l.done)
	}()
	l.err = t.access.Authorize(context.WithoutCancel(ctx), text, p) // other requests wait for the result, so it must not be canceled
	return l.err
}

// Client identifies the client of a stream: by its address for ChangesStream, otherwise by its
// secret key.
type Client struct {
	Key     string
	Address netip.Addr
}

// Join reserves a slot for a stream. payload is the initial payload of a new hub.
func (t *Streams) Join(p *flags.Project, kind streamKind, payload []byte, version string, client Client) (*stream, error) {
	slots := t.slotsOf(kind)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, t.withRetryAfter(&problem.Unavailable)
	}
	full := slots.Open.Load() >= int64(slots.max)
	switch {
	case kind == ChangesStream && !t.addressSlots.enter(client.Address, full):
		return nil, t.withRetryAfter(&problemOFREPTooMany)
	case full:
		return nil, t.withRetryAfter(&problemTooManyStreams)
	}
	hid := hubID{strings.Clone(p.APIKey), kind}
	h := t.hubs[hid]
	if h == nil {
		h = newHub(t, hid, payload, version)
		t.hubs[hid] = h
		t.Running.Go(h.run)
	}
	h.project.Store(p)
	h.clients++
	slots.Open.Add(1)
	t.Running.Add(1)
	st := &stream{streams: t, hub: h, address: client.Address}
	if kind != ChangesStream {
		st.key = t.retainKey(hid.apiKey, client.Key, p)
		st.ended = st.key.ended
	}
	return st, nil
}

// retainKey counts one more stream of a key. The caller must hold t.mu.
func (t *Streams) retainKey(apiKey, text string, p *flags.Project) *streamKey {
	kid := keyID{apiKey, text}
	k := t.keys[kid]
	if k == nil {
		kid.text = strings.Clone(text)
		k = &streamKey{id: kid, project: p, masked: frame.UsageKey(kid.text), checked: time.Now(), ended: make(chan struct{})}
		t.keys[kid] = k
	}
	k.refs++
	if !t.checking {
		t.checking = true
		t.Running.Go(t.check)
	}
	return k
}

// withRetryAfter returns a copy of a problem with a random Retry-After.
func (t *Streams) withRetryAfter(p *problem.Problem) error {
	late := *p
	late.RetryAfter = int((RetryDelay(t.Spread()) + time.Second - 1) / time.Second)
	return &late
}

// Spread returns the latest delay, in milliseconds, with which clients reconnect. Delays between
// one second and the spread keep the number of clients per second low if all reconnect.
func (t *Streams) Spread() int64 {
	return min(max(t.Definitions.Open.Load()+t.changes.Open.Load(), 2_000), 30_000)
}

// Leave releases the slot of a stream.
func (st *stream) Leave() {
	t := st.streams
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slotsOf(st.hub.id.kind).Open.Add(-1)
	if st.hub.clients--; st.hub.clients == 0 {
		t.forget(st.hub)
		close(st.hub.idle)
	}
	if st.key == nil {
		t.addressSlots.leave(st.address)
	} else if st.key.refs--; st.key.refs == 0 && t.keys[st.key.id] == st.key {
		delete(t.keys, st.key.id)
	}
	t.Running.Done()
}

// forget removes a hub, so that the next client gets a new one. The caller must hold t.mu.
func (t *Streams) forget(h *hub) {
	if t.hubs[h.id] == h {
		delete(t.hubs, h.id)
	}
}

// check checks all keys once per keep-alive interval, until there are no more keys.
func (t *Streams) check() {
	ticker := time.NewTicker(t.Timing.KeepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-t.Ctx.Done():
			return
		case <-ticker.C:
		}
		t.mu.Lock()
		keys := make([]*streamKey, 0, len(t.keys))
		for _, k := range t.keys {
			keys = append(keys, k)
		}
		if len(keys) == 0 {
			t.checking = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		for _, k := range keys {
			if !t.recheck(k) {
				break
			}
		}
	}
}

// recheck ends the streams of a key that has lost access to its project. It returns false if the
// check failed; the streams then remain open.
func (t *Streams) recheck(k *streamKey) bool {
	err := t.access.Authorize(t.Ctx, k.id.text, k.project)
	var p *problem.Problem
	isRejected := errors.As(err, &p) && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		k.checked = time.Now()
	case isRejected:
		close(k.ended)
		if t.keys[k.id] == k {
			delete(t.keys, k.id)
		}
	}
	return err == nil || isRejected
}

// Changed makes the streams of a project, or of all projects if projectID is 0, look for a change at
// once.
func (t *Streams) Changed(projectID int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, hub := range t.hubs {
		if projectID == 0 || hub.project.Load().ID == projectID {
			hub.nudge()
		}
	}
}

// Close ends all streams and waits until they have ended. Further streams are refused.
func (t *Streams) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.Running.Wait()
}

var problemTooManyStreams = problem.Problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many streams are open. Please try again later."}
