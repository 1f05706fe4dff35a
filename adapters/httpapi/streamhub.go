package httpapi

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// definitionsState is a version of definitions. It is shared by all streams and
// never changed.
type definitionsState struct {
	version  string
	event    []byte
	greeting []byte        // what a client gets first who needs no event
	spread   time.Duration // over which clients are told
	since    time.Time     // when it was published, zero: nobody knows
	end      string        // instead of a version: why all streams end
	next     chan struct{} // closed when there is a newer state
}

// hub publishes the states of one project's definitions.
type hub struct {
	streams *streams
	id      hubID
	project atomic.Pointer[flags.Project] // as it was read last: its quota changes without its definitions
	state   atomic.Pointer[definitionsState]
	polling sync.Mutex    // held while state is renewed
	clients int           // under streams.mu
	idle    chan struct{} // closed when the last client has left
	nudged  chan struct{}
}

func newHub(t *streams, id hubID, payload []byte, version string) *hub {
	h := &hub{streams: t, id: id, idle: make(chan struct{}), nudged: make(chan struct{}, 1)}
	h.state.Store(newState(id.kind, payload, version))
	return h
}

// newState renders the event of a version. A payload is on one line.
func newState(kind streamKind, payload []byte, version string) *definitionsState {
	if kind == changesStream {
		return changedState(version)
	}
	event := slices.Concat([]byte("event: definitions\nid: "+version+"\ndata: "), payload, []byte("\n\n"))
	return &definitionsState{version: version, event: event, greeting: keepAliveComment, next: make(chan struct{})}
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
	ticker := time.NewTicker(h.streams.timing.poll)
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
		if !h.poll() {
			return
		}
	}
}

// poll publishes the definitions if they have changed. While they cannot be read
// the last good ones stay. False when the project has gone.
func (h *hub) poll() bool {
	h.polling.Lock()
	defer h.polling.Unlock()
	t := h.streams
	old := h.state.Load()
	if old.end != "" {
		return false
	}
	decider := t.server.Decider
	payload, version, err := t.server.payload(t.ctx, h.id.apiKey, h.id.kind == membersStream)
	var project flags.Project
	if err == nil { // after the payload, which waits for a change where others read it
		project, _, err = decider.Project(t.ctx, h.id.apiKey)
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
		state := newState(h.id.kind, payload, version)
		state.since = time.Now()
		if h.id.kind == changesStream {
			state.spread = spreadOf(clients)
		} else {
			decider.ReservePayloads(t.ctx, &project, clients)
		}
		h.state.Store(state)
	}
	close(old.next)
	return err == nil
}
