package ofprovider

import (
	"sync"
	"sync/atomic"

	"github.com/open-feature/go-sdk/openfeature"
)

const maxEvents = 16

// events sends events to OpenFeature.
type events struct {
	out    chan openfeature.Event
	mu     sync.Mutex // guards sending
	stop   atomic.Pointer[func()]
	broken atomic.Bool // the last result was an error
	stale  atomic.Bool
}

// send sends an event without blocking. If the channel is full, the oldest event is dropped.
func (e *events) send(kind openfeature.EventType, message string, code openfeature.ErrorCode) {
	event := openfeature.Event{ProviderName: name, EventType: kind, ProviderEventDetails: openfeature.ProviderEventDetails{Message: message, ErrorCode: code}}
	e.mu.Lock()
	defer e.mu.Unlock()
	for {
		select {
		case e.out <- event:
			return
		default:
		}
		select {
		case <-e.out: // the oldest
		default:
		}
	}
}

// handleChange is the function that is passed to Config.Watch.
func (e *events) handleChange(stale bool, message string) {
	if stale {
		if !e.stale.Swap(true) {
			e.send(openfeature.ProviderStale, message, "")
		}
		return
	}
	broken, stale := e.broken.Swap(false), e.stale.Swap(false)
	if broken || stale {
		e.send(openfeature.ProviderReady, message, "")
	}
	e.send(openfeature.ProviderConfigChange, message, "")
}

// recordSuccess records that there are definitions. An evaluation does not show whether they are
// current.
func (e *events) recordSuccess() {
	if e.broken.Load() && e.broken.Swap(false) { // Load avoids a write in the common case
		e.send(openfeature.ProviderReady, "", "")
	}
}

// recordFailure records that there are no definitions.
func (e *events) recordFailure(err error) {
	if !e.broken.Swap(true) {
		e.send(openfeature.ProviderError, err.Error(), openfeature.GeneralCode)
	}
}
