package streams

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// definitionsState is a version of the definitions. It is shared by all streams and immutable.
type definitionsState struct {
	Version  string
	event    []byte
	greeting []byte        // the first message to a client that already has this version
	spread   time.Duration // the time over which the event is spread across clients
	Since    time.Time     // when it was published; zero if unknown
	end      string        // if not empty, all streams end with this code
	next     chan struct{} // closed when there is a newer state
}

// hub publishes the states of one project's definitions to its streams.
type hub struct {
	streams *Streams
	id      hubID
	project atomic.Pointer[flags.Project] // the project as last read; its quota may change without its definitions
	state   atomic.Pointer[definitionsState]
	polling sync.Mutex    // held while state is replaced
	clients int           // guarded by streams.mu
	idle    chan struct{} // closed when the last client has left
	nudged  chan struct{}
}

func newHub(t *Streams, id hubID, payload []byte, version string) *hub {
	h := &hub{streams: t, id: id, idle: make(chan struct{}), nudged: make(chan struct{}, 1)}
	h.state.Store(newState(id.kind, payload, version))
	return h
}

// newState encodes the event of a version. The payload must not contain line breaks.
func newState(kind streamKind, payload []byte, version string) *definitionsState {
	if kind == ChangesStream {
		return changedState(version)
	}
	event := slices.Concat([]byte("event: definitions\nid: "+version+"\ndata: "), payload, []byte("\n\n"))
	return &definitionsState{Version: version, event: event, greeting: keepAliveComment, next: make(chan struct{})}
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
	ticker := time.NewTicker(h.streams.Timing.Poll)
	defer ticker.Stop()
	for {
		select {
		case <-h.streams.Ctx.Done():
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
	payload, version, err := Payload(t.Ctx, decider, h.id.apiKey, h.id.kind == membersStream)
	var project flags.Project
	if err == nil { // after the payload, because reading that waits until a concurrent read of a change is done
		project, _, err = decider.Project(t.Ctx, h.id.apiKey)
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
	case err != nil || version == old.Version:
		return true
	default:
		t.mu.Lock()
		clients := h.clients
		t.mu.Unlock()
		state := newState(h.id.kind, payload, version)
		state.Since = time.Now()
		if h.id.kind == ChangesStream {
			state.spread = SpreadOf(clients)
		} else {
			decider.ReservePayloads(t.Ctx, &project, clients)
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
		Version: version, next: make(chan struct{}), greeting: []byte(id + "\n"),
		event: []byte(id + "event: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"" + version + "\"}\n\n"),
	}
}

// SpreadOf returns the time over which a change is sent to that many clients. All clients request
// their flags 50 ms after the event, and the protocol has no random delay. The spread limits them
// to ten per millisecond, for up to 10,000 clients.
func SpreadOf(clients int) time.Duration {
	return min(time.Duration(clients/10)*time.Millisecond, maxSpread)
}

// Payload returns the serialized definitions of a project, and their version.
func Payload(ctx context.Context, d *serving.Decider, apiKey string, members bool) ([]byte, string, error) {
	if members {
		return d.MembersPayload(ctx, apiKey)
	}
	return d.Payload(ctx, apiKey)
}

// Publish sends a change with a version to all streams of OFREP, spread over that time. It is for
// tests.
func (t *Streams) Publish(spread time.Duration, version string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, h := range t.hubs {
		if id.kind == ChangesStream {
			state := changedState(version)
			state.spread = spread
			close(h.state.Swap(state).next)
		}
	}
}
