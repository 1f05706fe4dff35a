package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// streams are all streams that a handler serves. For each project that is
// listened to a hub looks at the definitions; each key is looked at again once per
// keep-alive. Their goroutines end with the last stream.
type streams struct {
	server *server
	max    int
	timing streamTiming
	ctx    context.Context // ends with CloseStreams
	cancel context.CancelFunc

	mu       sync.Mutex
	closed   bool
	checking bool // check runs
	hubs     map[hubID]*hub
	keys     map[keyID]*streamKey
	looking  map[keyID]*keyLookup

	running         sync.WaitGroup
	open            atomic.Int64
	events, dropped atomic.Uint64
}

type hubID struct {
	apiKey  string
	members bool
}

type keyID struct{ apiKey, text string }

// streamKey is a key with which streams are open.
type streamKey struct {
	id      keyID
	project *flags.Project
	shown   string        // what may be shown of it
	refs    int           // streams
	checked time.Time     // when it opened the project last
	ended   chan struct{} // closed when it does so no more
}

// keyLookup is a key that is being looked up.
type keyLookup struct {
	done chan struct{}
	err  error // once done is closed
}

func newStreams(s *server, limit int) *streams {
	if limit <= 0 {
		limit = DefaultMaxStreams
	}
	t := &streams{server: s, max: limit, timing: defaultStreamTiming, hubs: map[hubID]*hub{}, keys: map[keyID]*streamKey{}, looking: map[keyID]*keyLookup{}}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// knownFor is how long a key with which a stream is open does not have to be looked
// up again for others who come with it.
const knownFor = time.Second

// authorize checks that a key opens a project. Of a herd that comes with one key
// only the first looks it up.
func (t *streams) authorize(ctx context.Context, text string, p *flags.Project) error {
	id := keyID{p.APIKey, text}
	t.mu.Lock()
	if k := t.keys[id]; k != nil && time.Since(k.checked) < knownFor {
		t.mu.Unlock()
		return nil
	}
	l, others := t.looking[id]
	if !others {
		l = &keyLookup{done: make(chan struct{}), err: flags.ErrUnavailable}
		t.looking[id] = l
	}
	t.mu.Unlock()
	if others {
		select {
		case <-l.done:
			return l.err
		case <-ctx.Done():
			return errors.Join(flags.ErrUnavailable, ctx.Err())
		}
	}
	defer func() {
		t.mu.Lock()
		delete(t.looking, id)
		t.mu.Unlock()
		close(l.done)
	}()
	l.err = t.server.authorize(context.WithoutCancel(ctx), text, p) // others wait for it
	return l.err
}

// join takes a place for one more stream. The payload is what a hub begins with.
func (t *streams) join(p *flags.Project, text string, members bool, payload []byte, version string) (*stream, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, t.comeLater(&problemUnavailable)
	}
	if t.open.Load() >= int64(t.max) {
		return nil, t.comeLater(&problemTooManyStreams)
	}
	hid := hubID{strings.Clone(p.APIKey), members}
	h := t.hubs[hid]
	if h == nil {
		h = newHub(t, hid, payload, version)
		t.hubs[hid] = h
		t.running.Go(h.run)
	}
	h.project.Store(p)
	h.clients++
	kid := keyID{hid.apiKey, text}
	k := t.keys[kid]
	if k == nil {
		kid.text = strings.Clone(text)
		k = &streamKey{id: kid, project: p, shown: spentKey(kid.text), checked: time.Now(), ended: make(chan struct{})}
		t.keys[kid] = k
	}
	k.refs++
	if !t.checking {
		t.checking = true
		t.running.Go(t.check)
	}
	t.open.Add(1)
	t.running.Add(1)
	return &stream{streams: t, hub: h, key: k}, nil
}

// comeLater is a refusal with a Retry-After of its own.
func (t *streams) comeLater(p *problem) error {
	late := *p
	late.RetryAfter = int((comeBack(t.spread()) + time.Second - 1) / time.Second)
	return &late
}

// spread is over how many milliseconds, from the first second on, as many clients
// as there are have to come back so that no second sees too many of them.
func (t *streams) spread() int64 { return min(max(t.open.Load(), 2_000), 30_000) }

// leave gives the place of a stream back.
func (st *stream) leave() {
	t := st.streams
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open.Add(-1)
	if st.hub.clients--; st.hub.clients == 0 {
		t.forget(st.hub)
		close(st.hub.idle)
	}
	if st.key.refs--; st.key.refs == 0 && t.keys[st.key.id] == st.key {
		delete(t.keys, st.key.id)
	}
	t.running.Done()
}

// forget takes a hub out, so that who comes next gets a new one. t.mu is held.
func (t *streams) forget(h *hub) {
	if t.hubs[h.id] == h {
		delete(t.hubs, h.id)
	}
}

// check looks at the keys again once per keep-alive while there are any.
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

// recheck ends the streams of a key that opens its project no more. False when
// that could not be found out: streams stay open then.
func (t *streams) recheck(k *streamKey) bool {
	err := t.server.authorize(t.ctx, k.id.text, k.project)
	var p *problem
	refused := errors.As(err, &p) && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case err == nil:
		k.checked = time.Now()
	case refused:
		close(k.ended)
		if t.keys[k.id] == k {
			delete(t.keys, k.id)
		}
	}
	return err == nil || refused
}

// DefinitionsChanged makes a change of a project's definitions go out to its
// streams at once instead of within two seconds, after the Decider was told with
// Renew. 0 is all projects.
func (h *Handler) DefinitionsChanged(projectID int64) {
	t := h.server.streams
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, hub := range t.hubs {
		if projectID == 0 || hub.project.Load().ID == projectID {
			hub.nudge()
		}
	}
}

// CloseStreams ends all streams, telling their clients so, and waits for that, ten
// seconds where clients are slow. From then on streams are refused.
// http.Server.Shutdown does not do so: register CloseStreams with it.
func (h *Handler) CloseStreams() {
	t := h.server.streams
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.running.Wait()
}

// definitionsState is a version of definitions. It is shared by all streams and
// never changed.
type definitionsState struct {
	version string
	event   []byte
	end     string        // instead of a version: why all streams end
	next    chan struct{} // closed when there is a newer state
}

// hub publishes the states of one project's definitions.
type hub struct {
	streams *streams
	id      hubID
	project atomic.Pointer[flags.Project] // as it was read last: its quota changes without its definitions
	state   atomic.Pointer[definitionsState]
	looking sync.Mutex    // held while state is renewed
	clients int           // under streams.mu
	idle    chan struct{} // closed when the last client has left
	nudged  chan struct{}
}

func newHub(t *streams, id hubID, payload []byte, version string) *hub {
	h := &hub{streams: t, id: id, idle: make(chan struct{}), nudged: make(chan struct{}, 1)}
	h.state.Store(newState(payload, version))
	return h
}

// newState renders the event of a version. A payload is on one line.
func newState(payload []byte, version string) *definitionsState {
	event := slices.Concat([]byte("event: definitions\nid: "+version+"\ndata: "), payload, []byte("\n\n"))
	return &definitionsState{version: version, event: event, next: make(chan struct{})}
}

// nudge makes the hub look now.
func (h *hub) nudge() {
	select {
	case h.nudged <- struct{}{}:
	default: // it will already
	}
}

// run looks at the definitions until the last client has left.
func (h *hub) run() {
	ticker := time.NewTicker(h.streams.timing.look)
	defer ticker.Stop()
	for {
		select {
		case <-h.streams.ctx.Done():
			return
		case <-h.idle:
			return
		case <-ticker.C:
		case <-h.nudged:
		}
		if !h.look() {
			return
		}
	}
}

// look publishes the definitions if they have changed. While they cannot be read
// the last good ones stay. False when the project has gone.
func (h *hub) look() bool {
	h.looking.Lock()
	defer h.looking.Unlock()
	t := h.streams
	old := h.state.Load()
	if old.end != "" {
		return false
	}
	decider := t.server.Decider
	project, _, err := decider.Project(t.ctx, h.id.apiKey)
	var payload []byte
	var version string
	if err == nil {
		payload, version, err = t.server.payload(t.ctx, h.id.apiKey, h.id.members)
	}
	if err == nil {
		h.project.Store(&project)
	}
	switch {
	case errors.Is(err, flags.ErrUnknownKey):
		t.mu.Lock()
		t.forget(h)
		t.mu.Unlock()
		h.state.Store(&definitionsState{end: closingUnauthorized})
	case err != nil || version == old.version:
		return true
	default:
		t.mu.Lock()
		clients := h.clients
		t.mu.Unlock()
		decider.ReservePayloads(t.ctx, &project, clients)
		h.state.Store(newState(payload, version))
	}
	close(old.next)
	return err == nil
}
