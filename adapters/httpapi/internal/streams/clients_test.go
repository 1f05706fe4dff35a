package streams

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/flags"
)

// keyAccess counts the lookups of keys and returns an error for each.
type keyAccess struct {
	lookups int
	err     error
}

func (a *keyAccess) Authorize(context.Context, string, *flags.Project) error {
	a.lookups++
	return a.err
}

// openStreams returns streams without running goroutines, so that only the test changes them.
func openStreams(t *testing.T, access Access, definitions, changes int) *Streams {
	t.Helper()
	s := New(&frame.Server{}, access, definitions, changes)
	s.cancel()
	t.Cleanup(s.Running.Wait)
	return s
}

// refusalOf returns the status and the code of a refused stream.
func refusalOf(err error) string {
	var p *problem.Problem
	if !errors.As(err, &p) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d %s", p.Status, p.Code)
}

// Streams of definitions and of OFREP have limits of their own. Streams of one project share a hub,
// and streams of one key share its state, until the last has left.
func TestStreams_Join(t *testing.T) {
	t.Parallel()
	s := openStreams(t, &keyAccess{}, 3, 1)
	one, two := &flags.Project{ID: 1, APIKey: "phc_1"}, &flags.Project{ID: 2, APIKey: "phc_2"}
	join := func(p *flags.Project, kind streamKind, key string) *stream {
		t.Helper()
		st, err := s.Join(p, kind, []byte("{}"), "v1", Client{Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	a, b, c := join(one, definitionsStream, "phx_1"), join(one, definitionsStream, "phx_1"), join(one, membersStream, "phx_2")
	if a.hub != b.hub || a.hub == c.hub || a.hub.clients != 2 || a.key != b.key || a.key == c.key || a.key.refs != 2 || len(s.keys) != 2 || len(s.hubs) != 2 {
		t.Errorf("%d clients of a hub, %d streams of a key, %d keys, %d hubs", a.hub.clients, a.key.refs, len(s.keys), len(s.hubs))
	}
	if _, err := s.Join(two, definitionsStream, nil, "v1", Client{Key: "phx_3"}); refusalOf(err) != "503 too_many" {
		t.Errorf("the fourth of three: %v", err)
	}
	address := Client{Address: netip.MustParseAddr("192.0.2.1")}
	ofrep, err := s.Join(two, ChangesStream, nil, "v1", address)
	if err != nil || ofrep.key != nil || ofrep.ended != nil || ofrep.address != address.Address {
		t.Fatalf("%+v, %v", ofrep, err)
	}
	if _, err := s.Join(two, ChangesStream, nil, "v1", address); refusalOf(err) != "503 GENERAL" || s.RejectedCount() != 1 {
		t.Errorf("the second of one: %v, %d are counted", err, s.RejectedCount())
	}
	if open, _ := s.Definitions.counts(); open != 3 {
		t.Errorf("%d are open", open)
	}
	a.Leave()
	if a.hub.clients != 1 || s.hubs[a.hub.id] != a.hub || s.keys[a.key.id] != a.key {
		t.Error("the first that leaves ends the hub or the key of the other")
	}
	b.Leave()
	select {
	case <-b.hub.idle:
	default:
		t.Error("the hub without clients is not idle")
	}
	if len(s.hubs) != 2 || len(s.keys) != 1 {
		t.Errorf("%d hubs, %d keys", len(s.hubs), len(s.keys))
	}
	c.Leave()
	ofrep.Leave()
	if open, _ := s.Definitions.counts(); open != 0 || len(s.hubs)+len(s.keys)+len(s.addressSlots.addresses) != 0 {
		t.Errorf("%d are open, %d hubs", open, len(s.hubs))
	}
	s.Close()
	if _, err := s.Join(one, definitionsStream, nil, "v1", Client{}); refusalOf(err) != "503 service_unavailable" || s.enter() {
		t.Errorf("after the end: %v", err)
	}
}

// There is one lookup of a key for the requests of a second while it has open streams, and its streams
// end when it loses access. A failed lookup does not end them.
func TestStreams_Keys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testKeys)
}

func testKeys(t *testing.T) {
	access := &keyAccess{}
	s := openStreams(t, access, 10, 10)
	p := &flags.Project{ID: 1, APIKey: "phc_1"}
	authorize := func() error { return s.Authorize(context.Background(), "phx_1", p) }
	if err := errors.Join(authorize(), authorize()); err != nil || access.lookups != 2 {
		t.Errorf("a key without streams: %v after %d lookups", err, access.lookups)
	}
	st, err := s.Join(p, definitionsStream, nil, "v1", Client{Key: "phx_1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := authorize(); err != nil || access.lookups != 2 {
		t.Errorf("a key with a stream: %v after %d lookups", err, access.lookups)
	}
	if err := s.Authorize(context.Background(), "phx_1", &flags.Project{APIKey: "phc_2"}); err != nil || access.lookups != 3 {
		t.Errorf("another project: %v after %d lookups", err, access.lookups)
	}
	isEnded := func() bool {
		select {
		case <-st.ended:
			return true
		default:
			return false
		}
	}
	for _, c := range []struct {
		err            error
		goesOn, isOver bool
	}{
		{nil, true, false}, {errors.New("the store is down"), false, false}, {&problem.Problem{Status: 503}, false, false}, {&problem.Problem{Status: 429}, false, false}, {&problem.Problem{Status: 403}, true, true},
	} {
		access.err = c.err
		if got := s.recheck(st.key); got != c.goesOn || isEnded() != c.isOver {
			t.Errorf("%v: %v, ended %v", c.err, got, isEnded())
		}
	}
	if len(s.keys) != 0 {
		t.Error("a key without access is still known")
	}
	access.err = &problem.Problem{Status: 401, Code: "authentication_failed"}
	if err := authorize(); refusalOf(err) != "401 authentication_failed" {
		t.Error(err)
	}
	st.Leave()
}

// The messages of a stream: the comment that keeps it alive, with a new retry line when the number
// of clients has doubled, and the reason of its end, which streams of OFREP do not have.
func TestStream_Messages(t *testing.T) {
	t.Parallel()
	s := openStreams(t, &keyAccess{}, 10, 10)
	project := &flags.Project{ID: 1, APIKey: "phc_1"}
	for kind, want := range map[streamKind]string{
		definitionsStream: `^:\n\nretry: [0-9]+\n:\n\n:\n\nretry: [0-9]+\nevent: closing\ndata: \{"code":"shutdown"\}\n\n$`,
		ChangesStream:     `^:\n\nretry: [0-9]+\n:\n\n:\n\nretry: [0-9]+\n\n$`,
	} {
		st, err := s.Join(project, kind, []byte("{}"), "v1", Client{Key: "phx_1"})
		if err != nil {
			t.Fatal(err)
		}
		out := &memoryStream{}
		st.out, st.spread = out, 1001 // of a time with fewer clients: the spread is 2000 now
		ok := st.keepAlive()
		s.Definitions.Open.Add(4000)
		ok = ok && st.keepAlive() && st.keepAlive()
		s.Definitions.Open.Add(-4000)
		st.closing(closingShutdown)
		if got := out.String(); !ok || !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%q", got)
		}
		st.Leave()
	}
}

// Each version is counted and sent one time; a client that does not read in time is dropped.
func TestStream_Send(t *testing.T) {
	t.Parallel()
	s := openStreams(t, &keyAccess{}, 10, 10)
	st, err := s.Join(&flags.Project{APIKey: "phc_1"}, definitionsStream, []byte("{}"), "v1", Client{Key: "phx_1"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Leave()
	out := &memoryStream{}
	st.out = out
	if err := st.Arrive("v1"); err != nil || st.State.Version != "v1" || st.Sent != "" {
		t.Fatalf("%+v, %v", st.State, err)
	}
	if !st.send(st.State.event) || !st.send(st.State.greeting) || st.Sent != "v1" {
		t.Errorf("the client has %q", st.Sent)
	}
	if _, events := s.Definitions.counts(); events != 1 || strings.Count(out.String(), "event: definitions") != 1 {
		t.Errorf("%d events are counted: %q", events, out)
	}
	out.err = fmt.Errorf("x: %w", os.ErrDeadlineExceeded)
	if st.send(st.State.event) || s.DroppedCount() != 1 {
		t.Errorf("%d are dropped", s.DroppedCount())
	}
	out.err = errors.New("closed")
	if st.send(st.State.event) || s.DroppedCount() != 1 {
		t.Errorf("a closed connection is dropped: %d", s.DroppedCount())
	}
	// The hub ends for a project that does not exist.
	st.hub.state.Store(&definitionsState{end: closingUnauthorized})
	if st.hub.poll() {
		t.Error("a hub that has ended polls")
	}
}

// A change of a project wakes its hubs, and 0 wakes the hubs of all projects; a second change before the hub
// has read the first has no effect.
func TestStreams_Changed(t *testing.T) {
	t.Parallel()
	s := openStreams(t, &keyAccess{}, 10, 10)
	hubs := map[int64]*hub{}
	for id, key := range map[int64]string{1: "phc_1", 2: "phc_2"} {
		h := newHub(s, hubID{key, ChangesStream}, nil, "v1") // not running, so that it does not poll
		h.project.Store(&flags.Project{ID: id, APIKey: key})
		hubs[id], s.hubs[h.id] = h, h
	}
	for _, c := range []struct {
		changed []int64
		first   bool
		second  bool
	}{{nil, false, false}, {[]int64{1}, true, false}, {[]int64{2, 2, 2}, false, true}, {[]int64{3}, false, false}, {[]int64{0}, true, true}} {
		for _, id := range c.changed {
			s.Changed(id)
		}
		for id, want := range map[int64]bool{1: c.first, 2: c.second} {
			if got := len(hubs[id].nudged); (got == 1) != want {
				t.Errorf("after changes of %v, the hub of %d has %d", c.changed, id, got)
			}
			for len(hubs[id].nudged) > 0 {
				<-hubs[id].nudged
			}
		}
	}
}

// A published change is for the streams of OFREP only.
func TestStreams_Publish(t *testing.T) {
	t.Parallel()
	s := openStreams(t, &keyAccess{}, 10, 10)
	before := map[streamKind]*definitionsState{}
	for _, kind := range []streamKind{ChangesStream, definitionsStream, membersStream} {
		h := newHub(s, hubID{"phc_1", kind}, []byte("{}"), "v1")
		s.hubs[h.id], before[kind] = h, h.state.Load()
	}
	s.Publish(time.Minute, "v2")
	for id, h := range s.hubs {
		state, isPublished := h.state.Load(), id.kind == ChangesStream
		select {
		case <-before[id.kind].next:
			if !isPublished || state.Version != "v2" || state.spread != time.Minute {
				t.Errorf("kind %d: %+v", id.kind, state)
			}
		default:
			if isPublished || state != before[id.kind] {
				t.Errorf("kind %d is not notified of the change", id.kind)
			}
		}
	}
}
