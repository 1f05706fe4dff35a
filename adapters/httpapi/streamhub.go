package httpapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// definitionsState is a version of the definitions. It is shared by all streams and immutable.
type definitionsState struct {
	version  string
	event    []byte
	greeting []byte        // the first message to a client that already has this version
	spread   time.Duration // the time over which the event is spread across clients
	since    time.Time     // when it was published; zero if unknown
	end      string        // if not empty, all streams end with this code
	next     chan struct{} // closed when there is a newer state
}

// hub publishes the states of one project's definitions to its streams.
type hub struct {
	streams *streams
	id      hubID
	project atomic.Pointer[flags.Project] // the project as last read; its quota may change without its definitions
	state   atomic.Pointer[definitionsState]
	polling sync.Mutex    // held while state is replaced
	clients int           // guarded by streams.mu
	idle    chan struct{} // closed when the last client has left
	nudged  chan struct{}
}

func newHub(t *streams, id hubID, payload []byte, version string) *hub {
	h := &hub{streams: t, id: id, idle: make(chan struct{}), nudged: make(chan struct{}, 1)}
	h.state.Store(newState(id.kind, payload, version))
	return h
}

// newState encodes the event of a version. The payload must not contain line breaks.
func newState(kind streamKind, payload []byte, version string) *definitionsState {
	if kind == changesStream {
		return changedState(version)
	}
	event := slices.Concat([]byte("event: definitions\nid: "+version+"\ndata: "), payload, []byte("\n\n"))
	return &definitionsState{version: version, event: event, greeting: keepAliveComment, next: make(chan struct{})}
}

// nudge makes the hub poll at once.
func (h *hub) nudge() {
	select {
	case h.nudged <- struct{}{}:
	default: // a poll is already pending
	}
}

// run polls the definitions until the last client has left.
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

// poll publishes the definitions if they have changed. If they cannot be read, the last state
// remains. It returns false if the project does not exist.
func (h *hub) poll() bool {
	h.polling.Lock()
	defer h.polling.Unlock()
	t := h.streams
	old := h.state.Load()
	if old.end != "" {
		return false
	}
	decider := t.server.Decider
	payload, version, err := payload(t.ctx, decider, h.id.apiKey, h.id.kind == membersStream)
	var project flags.Project
	if err == nil { // after the payload, because reading that waits until a concurrent read of a change is done
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

// maxSpread is the longest time over which the event of a change is spread across clients.
const maxSpread = time.Second

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

// payload returns the serialized definitions of a project, and their version.
func payload(ctx context.Context, d *flags.Decider, apiKey string, members bool) ([]byte, string, error) {
	if members {
		return d.MembersPayload(ctx, apiKey)
	}
	return d.Payload(ctx, apiKey)
}
