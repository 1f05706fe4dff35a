package httpapi

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

// streams are all streams of a handler. For each project with streams, a hub polls the
// definitions. Each key is checked once per keep-alive interval. The goroutines end with the last
// stream.
type streams struct {
	server *frame.Server
	access keyChecker
	timing streamTiming
	ctx    context.Context // canceled by CloseStreams
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	checking bool // whether check is running
	hubs     map[hubID]*hub
	keys     map[keyID]*streamKey
	lookups  map[keyID]*keyLookup

	running              sync.WaitGroup
	definitions, changes streamSlots
	addressSlots         addressSlots // guarded by mu where its fields say so
	dropped              atomic.Uint64
	feeds                feeds
}

// keyChecker checks whether a secret or personal key may read the definitions of a project.
type keyChecker interface {
	Authorize(ctx context.Context, text string, p *flags.Project) error
}

// streamSlots count the open streams of definitions, or of changes, and their events.
type streamSlots struct {
	max    int
	open   atomic.Int64
	events atomic.Uint64
}

// counts returns the number of open streams of definitions, and of the events that they have sent.
func (t *streams) counts() (open, events uint64) { return t.definitions.counts() }

// publicCounts is counts for streams of changes.
func (t *streams) publicCounts() (open, events uint64) { return t.changes.counts() }

// droppedCount returns the number of streams that ended because the client was too slow.
func (t *streams) droppedCount() uint64 { return t.dropped.Load() }

// rejectedCount returns the number of streams of changes that were refused.
func (t *streams) rejectedCount() uint64 { return t.addressSlots.refusals.Load() }

func (s *streamSlots) counts() (open, events uint64) {
	return uint64(max(s.open.Load(), 0)), s.events.Load()
}

func (t *streams) slotsOf(kind streamKind) *streamSlots {
	if kind == changesStream {
		return &t.changes
	}
	return &t.definitions
}

// streamKind is the content of a stream.
type streamKind uint8

const (
	definitionsStream streamKind = iota
	membersStream                // definitions with the members of static cohorts
	changesStream                // only notifications that definitions have changed: see ofrepevents.go
)

func kindOf(members bool) streamKind {
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

func newStreams(s *frame.Server, access keyChecker, maxDefinitions, maxChanges int) *streams {
	t := &streams{server: s, access: access, timing: defaultStreamTiming, feeds: feeds{timing: defaultFeedTiming}, hubs: map[hubID]*hub{}, keys: map[keyID]*streamKey{}, lookups: map[keyID]*keyLookup{}}
	t.definitions.max, t.changes.max = maxDefinitions, maxChanges
	t.addressSlots.addresses = map[netip.Addr]*streamAddress{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// keyCheckInterval is how long the successful check of a key with open streams is reused for
// other requests with the same key.
const keyCheckInterval = time.Second

// authorize checks that a key may read a project. Concurrent requests with the same key share one
// lookup.
func (t *streams) authorize(ctx context.Context, text string, p *flags.Project) error {
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

// streamClient identifies the client of a stream: by its address for changesStream, otherwise by its
// secret key.
type streamClient struct {
	key     string
	address netip.Addr
}

// join reserves a slot for a stream. payload is the initial payload of a new hub.
func (t *streams) join(p *flags.Project, kind streamKind, payload []byte, version string, client streamClient) (*stream, error) {
	slots := t.slotsOf(kind)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, t.withRetryAfter(&problem.Unavailable)
	}
	full := slots.open.Load() >= int64(slots.max)
	switch {
	case kind == changesStream && !t.addressSlots.enter(client.address, full):
		return nil, t.withRetryAfter(&problemOFREPTooMany)
	case full:
		return nil, t.withRetryAfter(&problemTooManyStreams)
	}
	hid := hubID{strings.Clone(p.APIKey), kind}
	h := t.hubs[hid]
	if h == nil {
		h = newHub(t, hid, payload, version)
		t.hubs[hid] = h
		t.running.Go(h.run)
	}
	h.project.Store(p)
	h.clients++
	slots.open.Add(1)
	t.running.Add(1)
	st := &stream{streams: t, hub: h, address: client.address}
	if kind != changesStream {
		st.key = t.retainKey(hid.apiKey, client.key, p)
		st.ended = st.key.ended
	}
	return st, nil
}

// retainKey counts one more stream of a key. The caller must hold t.mu.
func (t *streams) retainKey(apiKey, text string, p *flags.Project) *streamKey {
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
		t.running.Go(t.check)
	}
	return k
}

// withRetryAfter returns a copy of a problem with a random Retry-After.
func (t *streams) withRetryAfter(p *problem.Problem) error {
	late := *p
	late.RetryAfter = int((retryDelay(t.spread()) + time.Second - 1) / time.Second)
	return &late
}

// spread returns the latest delay, in milliseconds, with which clients reconnect. Delays between
// one second and the spread keep the number of clients per second low if all reconnect.
func (t *streams) spread() int64 {
	return min(max(t.definitions.open.Load()+t.changes.open.Load(), 2_000), 30_000)
}

// leave releases the slot of a stream.
func (st *stream) leave() {
	t := st.streams
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slotsOf(st.hub.id.kind).open.Add(-1)
	if st.hub.clients--; st.hub.clients == 0 {
		t.forget(st.hub)
		close(st.hub.idle)
	}
	if st.key == nil {
		t.addressSlots.leave(st.address)
	} else if st.key.refs--; st.key.refs == 0 && t.keys[st.key.id] == st.key {
		delete(t.keys, st.key.id)
	}
	t.running.Done()
}

// forget removes a hub, so that the next client gets a new one. The caller must hold t.mu.
func (t *streams) forget(h *hub) {
	if t.hubs[h.id] == h {
		delete(t.hubs, h.id)
	}
}

// check checks all keys once per keep-alive interval, until there are no more keys.
func (t *streams) check() {
	ticker := time.NewTicker(t.timing.keepAlive)
	defer ticker.Stop()
	for {
		select {
		case <-t.ctx.Done():
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
func (t *streams) recheck(k *streamKey) bool {
	err := t.access.Authorize(t.ctx, k.id.text, k.project)
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

// changed makes the streams of a project, or of all projects if projectID is 0, look for a change at
// once.
func (t *streams) changed(projectID int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, hub := range t.hubs {
		if projectID == 0 || hub.project.Load().ID == projectID {
			hub.nudge()
		}
	}
}

// close ends all streams and waits until they have ended. Further streams are refused.
func (t *streams) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}

var problemTooManyStreams = problem.Problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many streams are open. Please try again later."}
