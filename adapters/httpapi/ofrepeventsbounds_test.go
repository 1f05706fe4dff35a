package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/flags"
)

// These streams have slots separate from those of SDKs, and a limit by address. While a limit is
// reached, responses to the affected clients do not include the stream: OpenFeature's web provider
// would otherwise request its flags once per second.
func TestOFREPEvents_Bounds(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, nil, func(c *httpapi.Config) { c.MaxStreams, c.MaxPublicStreams = 1, streams.MaxAddressStreams+1 }).(*httpapi.Handler)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	url := s.URL + ofrepEventsPath + "phc_test"
	from := func(address string) []string { return []string{"X-Forwarded-For", address} }
	hinted := func(address string) bool {
		t.Helper()
		r, err := http.NewRequest("POST", s.URL+ofrepBulkPath, strings.NewReader(ofrepContext))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-API-Key", "phc_test")
		r.Header.Set("X-Forwarded-For", address)
		got := exchange(t, s.Client(), r)
		checkOFREP(t, got)
		return strings.Contains(got.Body.String(), ofrepHint("", "phc_test"))
	}
	wantTooMany := func(address string) {
		t.Helper()
		got := readAll(t, open(t, s.Client(), url, from(address)...).Response)
		checkOFREP(t, got)
		if after, err := strconv.Atoi(got.Header().Get("Retry-After")); got.Code != 503 || err != nil || after < 1 || after > 2 {
			t.Errorf("%s: %d, Retry-After %q", address, got.Code, got.Header().Get("Retry-After"))
		}
	}
	s.Client().Transport.(*http.Transport).DisableCompression = true // the test compares lengths
	var first *listener
	for range streams.MaxAddressStreams {
		if first = open(t, s.Client(), url, from("192.0.2.1")...); first.StatusCode != 200 {
			t.Fatal(first.StatusCode)
		}
	}
	if !hinted("192.0.2.1") {
		t.Error("nobody was refused yet")
	}
	wantTooMany("192.0.2.1")
	if hinted("192.0.2.1") || !hinted("192.0.2.2") {
		t.Error("the hint for the address that has all its places, and for another one")
	}
	other := listen(t, s.Client(), url, from("192.0.2.2")...)
	other.greeted(t)
	listen(t, s.Client(), s.URL+"/flags/definitions/stream?token=phc_test", bearerOf("phs_test")...).event(t, "definitions")
	wantTooMany("192.0.2.3")
	if hinted("192.0.2.1") || hinted("192.0.2.3") {
		t.Error("the hint while there are no places")
	}
	if st := h.Stats(); st.PublicStreams != streams.MaxAddressStreams+1 || st.PublicStreamsRefused != 2 || st.Streams != 1 {
		t.Errorf("%+v", st)
	}
	first.disconnect()
	other.disconnect()
	eventually(t, "places are free", func() bool {
		h.DefinitionsChanged(0)
		w.change("phc_test", func(p *flags.FileProject) {
			p.Definitions.MinimalFlagCalledEvents = !p.Definitions.MinimalFlagCalledEvents
		})
		return h.Stats().PublicStreams == streams.MaxAddressStreams-1
	})
	if got := open(t, s.Client(), url, from("192.0.2.1")...).StatusCode; got != 200 {
		t.Errorf("a free place: %d", got)
	}
}

// An IPv6 network /64 counts as one client.
func TestOFREPEvents_BoundsIPv6(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil).(*httpapi.Handler)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	for i := range streams.MaxAddressStreams + 2 {
		address, want := "2001:db8::"+strconv.FormatInt(int64(i+1), 16), 200
		switch i {
		case streams.MaxAddressStreams:
			want = 503
		case streams.MaxAddressStreams + 1:
			address = "2001:db8:0:1::1"
		}
		if got := open(t, s.Client(), s.URL+ofrepEventsPath+"phc_test", "X-Forwarded-For", address).StatusCode; got != want {
			t.Fatalf("%s: %d, want %d", address, got, want)
		}
	}
}

// A stream that was included in many responses and never opened, as behind a proxy that hides a
// prefix, is no longer included: OpenFeature's web provider would otherwise request its flags once
// per second. After one client has opened it, it is always included.
func TestOFREPEvents_NeverFound(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil).(*httpapi.Handler)
	t.Cleanup(h.CloseStreams)
	answers := func(n int) (hinted int) {
		for range n {
			if strings.Contains(ask(h, "POST", ofrepBulkPath, ofrepContext, "X-Api-Key", "phc_empty").Body.String(), "eventStreams") {
				hinted++
			}
		}
		return hinted
	}
	if n := answers(1200); n != 1000 {
		t.Errorf("%d of 1200 answers name the stream, want 1000", n)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_test").greeted(t)
	if n := answers(1200); n != 1200 {
		t.Errorf("%d of 1200 answers name the stream that was found", n)
	}
}

// Clients are notified of a change within a second, and at a rate of at most ten per millisecond
// for up to 10,000 of them.
func TestOFREPEvents_HerdsAreSpread(t *testing.T) {
	for clients, want := range map[int]time.Duration{1: 0, 9: 0, 100: 10 * time.Millisecond, 5_000: 500 * time.Millisecond, 10_000: time.Second, 1_000_000: time.Second} {
		if got := httpapi.SpreadForTest(clients); got != want {
			t.Errorf("%d clients: %s, want %s", clients, got, want)
		}
	}
	w := streamWorld(t)
	s, h := streamServer(t, w, longTime, longTime, longTime, nil)
	var all []*listener
	for range 60 {
		l := listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_1")
		l.greeted(t)
		all = append(all, l)
	}
	w.newFlags(t, h, `{"id": 1, "key": "a"}`)
	ids := map[string]bool{}
	for _, l := range all {
		ids[l.change(t).id] = true
	}
	if len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	// A client that has not been notified when there is a newer change only gets the newer one.
	eventually(t, "all are counted", func() bool { return h.Stats().PublicStreamEvents == 60 })
	h.PublishForTest(time.Second, "older")
	eventually(t, "one is told", func() bool { return h.Stats().PublicStreamEvents > 60 })
	h.PublishForTest(0, "newer")
	for _, l := range all {
		for l.change(t).id != "newer" {
		}
	}
	eventually(t, "all are counted", func() bool { return h.Stats().PublicStreamEvents >= 120 })
	if n := h.Stats().PublicStreamEvents - 60; n >= 120 {
		t.Errorf("%d events for 60 clients", n)
	}
	// The server's shutdown does not wait for pending notifications.
	h.PublishForTest(longTime, "last")
	h.CloseStreams()
	for _, l := range all {
		if b, ok := l.next(t); !ok || b.retry == 0 || b.event != "" {
			t.Errorf("%v %+v", ok, b)
		}
	}
}
