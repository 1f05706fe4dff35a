package remote_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// staleNews is one call of a function passed to Watch.
type staleNews struct {
	stale   bool
	message string
}

// Watch reports changes, and each time the definitions become stale and current, once.
func TestSource_Watch(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	good := serve(t, p.handler(t))
	net := &network{}
	net.redirect(nowhere(t)) // until the function is registered
	s := open(t, config(t, net))
	heard := make(chan staleNews, 100)
	stop := s.Watch(func(stale bool, message string) { heard <- staleNews{stale, message} })
	net.redirect(good)
	next := func() staleNews {
		t.Helper()
		select {
		case got := <-heard:
			return got
		case <-time.After(time.Minute):
			t.Fatal("waited in vain")
			return staleNews{}
		}
	}
	if got := next(); got != (staleNews{false, "the flag definitions have changed"}) {
		t.Errorf("the first definitions: %+v", got)
	}
	waitUntil(t, "a stream", func() bool { return s.Status().Streaming })
	net.redirect(nowhere(t))
	if got := next(); !got.stale || got.message == "" {
		t.Errorf("the server is gone: %+v", got)
	}
	late := make(chan staleNews, 100)
	defer s.Watch(func(stale bool, message string) { late <- staleNews{stale, message} })()
	if got := <-late; !got.stale {
		t.Errorf("one who comes when they are stale: %+v", got)
	}
	net.redirect(good)
	if got := next(); got != (staleNews{false, "the flag definitions are up to date again"}) {
		t.Errorf("the server is back: %+v", got)
	}
	p.set(t, definitions("one", "two"))
	waitUntil(t, "the change", func() bool { return keys(s) == "one two" })
	if got := next(); got != (staleNews{false, "the flag definitions have changed"}) {
		t.Errorf("a change: %+v", got)
	}
	stop()
	net.redirect(nowhere(t))
	for got := range late { // this function is still called after the other is stopped
		if got.stale {
			break
		}
	}
	if len(heard) > 0 {
		t.Errorf("after stop: %+v", <-heard)
	}
}

// OnChange, OnValue and OnStatus report the keys, the value of one subject and the status when they
// change, and not otherwise.
func TestSource_Listeners(t *testing.T) {
	var p project
	shop := func(rollout, payload string) string {
		return `{"flags": [{"id": 1, "key": "sale", "active": true, "filters": {"groups": [{"rollout_percentage": ` + rollout + `}], "payloads": {"true": "` + payload + `"}}},
			{"id": 2, "key": "other", "active": true, "version": ` + payload + `, "filters": {"groups": [{}]}}]}`
	}
	p.set(t, shop("0", "1"))
	net := &network{}
	net.redirect(nowhere(t))
	s := open(t, config(t, net))
	heard := make(chan string, 100)
	values := func(before, after flags.Detail) {
		show := func(d flags.Detail) string {
			switch {
			case errors.Is(d.Err, flags.ErrNotReady):
				return "not ready"
			case d.Err != nil:
				return d.Err.Error()
			}
			return fmt.Sprint(d.Value(), string(d.Payload))
		}
		heard <- show(before) + " to " + show(after)
	}
	keys := make(chan string, 100)
	stops := []func(){
		s.OnValue("sale", &flags.Subject{DistinctID: "u"}, values),
		s.OnValue("sale", nil, func(_, _ flags.Detail) { t.Error("nobody has a value") }),
		s.OnChange(func(changed []string) { keys <- strings.Join(changed, " ") }),
	}
	next := func(values2 <-chan string, want string) {
		t.Helper()
		select {
		case got := <-values2:
			if got != want {
				t.Errorf("told %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("waited in vain for %q", want)
		}
	}
	net.redirect(serve(t, p.handler(t)))
	next(heard, "not ready to false")
	next(keys, "other sale")
	p.set(t, shop("100", "1"))
	next(heard, "false to true1")
	next(keys, "sale")
	p.set(t, shop("100", "2"))
	next(heard, "true1 to true2")
	next(keys, "other sale")
	p.set(t, `{"flags": [{"id": 2, "key": "other", "active": true, "version": 2, "filters": {"groups": [{}]}}]}`)
	next(heard, "true2 to "+flags.ErrUnknownFlag.Error())
	next(keys, "sale")
	p.set(t, `{"flags": [{"id": 2, "key": "other", "active": true, "version": 3, "filters": {"groups": [{}]}}]}`)
	next(keys, "other")
	for _, stop := range stops {
		stop()
	}
	p.set(t, shop("100", "3"))
	waitUntil(t, "the last change", func() bool { _, ok := s.Set().EvaluateFlag("sale", nil, time.Time{}, nil); return ok })
	if len(heard)+len(keys) > 0 {
		t.Errorf("%d calls more", len(heard)+len(keys))
	}
}

// OnStatus reports each change of a status once.
func TestSource_OnStatus(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	good := serve(t, p.handler(t))
	net := &network{}
	net.redirect(nowhere(t))
	s := open(t, config(t, net))
	heard := make(chan remote.Status, 100)
	defer s.OnStatus(func(st remote.Status) { heard <- st })()
	wait := func(condition string, ok func(remote.Status) bool) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case st := <-heard:
				if ok(st) {
					return
				}
			case <-deadline:
				t.Fatal("never told of", condition)
			}
		}
	}
	net.redirect(good)
	wait("the stream", func(st remote.Status) bool { return st.Ready && st.Streaming && st.LastError == nil })
	net.redirect(nowhere(t))
	wait("the failure", func(st remote.Status) bool {
		return st.Ready && !st.Streaming && st.LastError != nil && !st.StaleSince.IsZero()
	})
	waitUntil(t, "more failures", func() bool { return s.Status().Failures > 6 })
	if n := len(heard); n > 1 {
		t.Errorf("%d calls for failures like the first", n)
	}
	net.redirect(good)
	wait("that it is current again", func(st remote.Status) bool {
		return st.LastError == nil && st.StaleSince.IsZero() && slices.Contains([]remote.Origin{remote.FromStream, remote.FromPoll}, st.From)
	})
}
