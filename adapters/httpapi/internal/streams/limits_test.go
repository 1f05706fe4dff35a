package streams

import (
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// A change is spread over a millisecond for each ten clients, and over at most a second.
func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for clients, want := range map[int]time.Duration{
		0: 0, 9: 0, 10: time.Millisecond, 19: time.Millisecond, 1000: 100 * time.Millisecond, 9999: 999 * time.Millisecond, 10_000: time.Second, 1_000_000: time.Second,
	} {
		if got := SpreadOf(clients); got != want {
			t.Errorf("%d clients: %s, want %s", clients, got, want)
		}
	}
}

// Clients reconnect between one second and the spread, which is a millisecond for each open stream:
// at least two seconds, at most thirty.
func TestRetryDelay(t *testing.T) {
	t.Parallel()
	for open, want := range map[[2]int64]int64{{0, 0}: 2000, {1000, 1000}: 2000, {1000, 1001}: 2001, {15_000, 14_999}: 29_999, {30_000, 0}: 30_000, {20_000, 20_000}: 30_000} {
		s := New(&frame.Server{}, nil, 1, 1)
		s.Definitions.Open.Store(open[0])
		s.changes.Open.Store(open[1])
		if got := s.Spread(); got != want {
			t.Errorf("%v streams: %d ms, want %d", open, got, want)
		}
		s.cancel()
	}
	for _, spread := range []int64{1000, 2000, 30_000} {
		least, most := time.Duration(math.MaxInt64), time.Duration(0)
		for range 2000 {
			d := RetryDelay(spread)
			least, most = min(least, d), max(most, d)
		}
		limit := time.Duration(spread) * time.Millisecond
		if least < time.Second || most > limit || spread > 1000 && (least > limit/2+time.Second || most < limit/2) {
			t.Errorf("spread %d: from %s to %s", spread, least, most)
		}
	}
}

// Retry-After is in whole seconds, rounded up, so that it is never below the delay.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := New(&frame.Server{}, nil, 1, 1)
	defer s.cancel()
	original := problem.Unavailable
	for range 100 {
		err := s.withRetryAfter(&original)
		var p *problem.Problem
		if !errors.As(err, &p) || p.RetryAfter < 1 || p.RetryAfter > 2 || p.Code != original.Code {
			t.Fatalf("%+v", err)
		}
	}
	if original.RetryAfter != problem.Unavailable.RetryAfter {
		t.Error("the problem itself is changed")
	}
}

// At most four feeds of one kind for each session or key, and a thousand in all.
func TestFeedSlots(t *testing.T) {
	t.Parallel()
	var s feedSlots
	for i := range maxCallerFeeds {
		if !s.enter("a") {
			t.Fatalf("the feed %d of a caller is refused", i+1)
		}
	}
	if s.enter("a") || !s.enter("b") {
		t.Error("the limit of one caller is not its own")
	}
	s.leave("a")
	if !s.enter("a") || s.enter("a") {
		t.Error("a slot is not free after its feed has ended")
	}
	for i := s.open; i < maxFeeds; i++ {
		if !s.enter(fmt.Sprint(i)) {
			t.Fatalf("the feed %d is refused", i+1)
		}
	}
	if s.enter("new") || s.byCaller["new"] > 0 {
		t.Error("more than the limit are open")
	}
	s.leave("b")
	if _, there := s.byCaller["b"]; there || !s.enter("new") || s.enter("other") {
		t.Error("a slot of another caller is not free, or the caller is still counted")
	}
}

// At most a hundred streams of OFREP for an address. A refused stream keeps responses to that
// address without the stream's address for a minute, and without a free slot all responses.
func TestAddressSlots(t *testing.T) {
	t.Parallel()
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	slots := &addressSlots{addresses: map[netip.Addr]*streamAddress{}}
	for i := range MaxAddressStreams {
		if !slots.enter(a, false) {
			t.Fatalf("the stream %d is refused", i+1)
		}
	}
	if slots.lastAddressRefusal.Load() != 0 || slots.enter(a, false) || slots.lastAddressRefusal.Load() == 0 || slots.lastRefusal.Load() != 0 || slots.refusals.Load() != 1 {
		t.Error("the stream 101 of an address is not refused, or not counted as one of an address")
	}
	if !slots.enter(b, false) {
		t.Error("another address is refused")
	}
	slots.leave(a)
	if !slots.enter(a, false) || slots.enter(a, false) {
		t.Error("a slot is not free after its stream has ended")
	}
	for range MaxAddressStreams {
		slots.leave(a)
	}
	if len(slots.addresses) != 1 {
		t.Errorf("%d addresses are counted", len(slots.addresses))
	}
	slots.leave(b)
	if len(slots.addresses) != 0 || slots.enter(b, true) || slots.lastRefusal.Load() == 0 || len(slots.addresses) != 0 || slots.refusals.Load() != 3 {
		t.Errorf("%d addresses, %d refusals", len(slots.addresses), slots.refusals.Load())
	}
}

// Whether responses have the address of the stream: not after a refusal for lack of slots, not for
// an address after its own refusal, and not if a thousand responses have had it in vain.
func TestMayHint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testMayHint)
}

func testMayHint(t *testing.T) {
	s := New(&frame.Server{}, nil, 1, 1)
	defer s.cancel()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "192.0.2.1:5"
	other := httptest.NewRequest("GET", "/", nil)
	other.RemoteAddr = "192.0.2.2:5"
	address := netip.MustParseAddr("192.0.2.1")
	for i := range maxUnheard {
		if !s.MayHint(r) {
			t.Fatalf("the response %d has no address", i+1)
		}
	}
	for range 2 {
		if s.MayHint(r) {
			t.Error("a response after a thousand still has the address")
		}
	}
	now := time.Now().UnixNano()
	s.addressSlots.unheardSince.Store(now - int64(unheardPause) - 1)
	if !s.MayHint(r) {
		t.Error("after an hour a response has no address")
	}
	s.mu.Lock()
	for range MaxAddressStreams {
		s.addressSlots.enter(address, false)
	}
	s.addressSlots.enter(address, false) // refused
	s.mu.Unlock()
	if s.MayHint(r) || !s.MayHint(other) {
		t.Error("a refusal of one address is not one of that address only")
	}
	s.addressSlots.addresses[address].lastRefusal = time.Now().UnixNano() - int64(hintPause) - 1
	if !s.MayHint(r) {
		t.Error("after a minute a response has no address")
	}
	s.mu.Lock()
	s.addressSlots.enter(netip.MustParseAddr("192.0.2.3"), true)
	s.mu.Unlock()
	if s.MayHint(other) {
		t.Error("while no slot is free, a response has the address")
	}
	s.addressSlots.hasVisitor.Store(true)
	s.addressSlots.lastRefusal.Store(0)
	s.addressSlots.unheardSince.Store(time.Now().UnixNano())
	if !s.MayHint(other) {
		t.Error("once a client has opened a stream, responses have no address")
	}
}

// The text of events (the format of the HTML standard, §9.2): lines, and an empty line at the end.
func TestEvents_Encoding(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, id string
		data     any
		want     string
	}{
		{"event", "", map[string]any{"id": 1}, "event: event\ndata: {\"id\":1}\n\n"},
		{"change", "7", "two\nlines", "event: change\nid: 7\ndata: \"two\\nlines\"\n\n"},
		{"x", "", nil, "event: x\ndata: null\n\n"},
	} {
		if got, err := Encode(c.name, c.id, c.data); err != nil || string(got) != c.want {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := Encode("x", "", math.NaN()); err == nil {
		t.Error("NaN is JSON")
	}
	definitions := newState(definitionsStream, []byte(`{"flags":[]}`), "v1")
	if want := "event: definitions\nid: v1\ndata: {\"flags\":[]}\n\n"; string(definitions.event) != want || string(definitions.greeting) != ":\n\n" || definitions.Version != "v1" {
		t.Errorf("%q, %q", definitions.event, definitions.greeting)
	}
	changes := newState(ChangesStream, []byte("not sent"), "v1")
	if want := "id: v1\nevent: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"v1\"}\n\n"; string(changes.event) != want || string(changes.greeting) != "id: v1\n\n" {
		t.Errorf("%q, %q", changes.event, changes.greeting)
	}
	if KindOf(true) != membersStream || KindOf(false) != definitionsStream {
		t.Error("the kinds of streams")
	}
}

// Only a refusal of access ends a feed: not an unavailable store, and not a limit on the rate.
func TestFeeds_AccessEnds(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{400: true, 401: true, 403: true, 404: true, 429: false, 499: true, 500: false, 503: false, 302: false} {
		if got := isAccessEnded(fmt.Errorf("x: %w", &problem.Problem{Status: status})); got != want {
			t.Errorf("%d: %v", status, got)
		}
	}
	if isAccessEnded(nil) || isAccessEnded(errors.New("x")) {
		t.Error("another error ends a feed")
	}
}

// memoryStream is a client that stores its messages, or fails to read them.
type memoryStream struct {
	strings.Builder
	err error
}

func (m *memoryStream) write(text []byte) error {
	if m.err == nil {
		m.Write(text)
	}
	return m.err
}

func (m *memoryStream) close() {}
