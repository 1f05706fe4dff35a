package remote_test

import (
	"testing"
	"time"
)

// told is one call of a function of Watch.
type told struct {
	stale   bool
	message string
}

// Watch tells of changes, and when the definitions become stale and current again,
// each once.
func TestSource_Watch(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	good := serve(t, p.handler(t))
	net := &network{}
	net.lead(nowhere(t)) // until somebody listens
	s := open(t, config(t, net))
	heard := make(chan told, 100)
	stop := s.Watch(func(stale bool, message string) { heard <- told{stale, message} })
	net.lead(good)
	next := func() told {
		t.Helper()
		select {
		case got := <-heard:
			return got
		case <-time.After(20 * time.Second):
			t.Fatal("waited in vain")
			return told{}
		}
	}
	if got := next(); got != (told{false, "the flag definitions have changed"}) {
		t.Errorf("the first definitions: %+v", got)
	}
	until(t, "a stream", func() bool { return s.Status().Streaming })
	net.lead(nowhere(t))
	if got := next(); !got.stale || got.message == "" {
		t.Errorf("the server is gone: %+v", got)
	}
	late := make(chan told, 100)
	defer s.Watch(func(stale bool, message string) { late <- told{stale, message} })()
	if got := <-late; !got.stale {
		t.Errorf("one who comes when they are stale: %+v", got)
	}
	net.lead(good)
	if got := next(); got != (told{false, "the flag definitions are current again"}) {
		t.Errorf("the server is back: %+v", got)
	}
	p.set(t, definitions("one", "two"))
	until(t, "the change", func() bool { return keys(s) == "one two" })
	if got := next(); got != (told{false, "the flag definitions have changed"}) {
		t.Errorf("a change: %+v", got)
	}
	stop()
	net.lead(nowhere(t))
	for got := range late { // it hears more than the one that is stopped
		if got.stale {
			break
		}
	}
	if len(heard) > 0 {
		t.Errorf("after stop: %+v", <-heard)
	}
}
