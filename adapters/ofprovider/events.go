package ofprovider

import (
	"sync"
	"sync/atomic"

	"github.com/open-feature/go-sdk/openfeature"
)

const maxEvents = 16

// events tells OpenFeature what happens.
type events struct {
	out    chan openfeature.Event
	mu     sync.Mutex // of those who send
	stop   atomic.Pointer[func()]
	broken atomic.Bool // the last thing heard was an error
	stale  atomic.Bool
}

func (e *events) send(kind openfeature.EventType, message string, code openfeature.ErrorCode) {
	event := openfeature.Event{ProviderName: Name, EventType: kind, ProviderEventDetails: openfeature.ProviderEventDetails{Message: message, ErrorCode: code}}
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

// changed is what Config.Watch calls.
func (e *events) changed(stale bool, message string) {
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

// answered notes that there are definitions to answer from: whether they are current
// an answer does not tell.
func (e *events) answered() {
	if e.broken.Load() && e.broken.Swap(false) { // mostly it is only read
		e.send(openfeature.ProviderReady, "", "")
	}
}

// failed notes that there are no definitions.
func (e *events) failed(err error) {
	if !e.broken.Swap(true) {
		e.send(openfeature.ProviderError, err.Error(), openfeature.GeneralCode)
	}
}
