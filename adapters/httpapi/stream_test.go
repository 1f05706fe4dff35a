package httpapi_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const streamPath = "/flags/definitions/stream?token=phc_1"

func bearerOf(key string) []string { return []string{"Authorization", "Bearer " + key} }

// Decision 5: the first messages, the messages for a client that reconnects, and the number of
// billed requests (§10.1).
func TestStream_ConnectAndResume(t *testing.T) {
	w := streamWorld(t, `{"id": 1, "key": "a", "name": "two\nlines"}`)
	s, h := streamServer(t, w, longTime, longTime, longTime, nil)
	key := ownerKey
	headers := append(slices.Clone(key), "Origin", "https://app.example", "User-Agent", "posthog-node/5.0")
	want := readAll(t, open(t, s.Client(), s.URL+"/flags/definitions?token=phc_1", key...).Response)
	h.TakeUsage()

	l := listen(t, s.Client(), s.URL+streamPath, headers...)
	for name, v := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Length": "", "Content-Encoding": "",
		"Access-Control-Allow-Origin": "https://app.example", "Vary": "Origin", "ETag": "",
	} {
		if got := l.Header.Get(name); got != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
	if _, err := http.ParseTime(l.Header.Get("Date")); err != nil || l.StatusCode != 200 {
		t.Error(l.StatusCode, err)
	}
	if first, _ := l.next(t); first.retry < 1000 || first.retry > 2000 || first.event != "" {
		t.Errorf("first %+v", first)
	}
	got := l.event(t, "definitions")
	if tag := want.Header().Get("ETag"); `W/"`+got.id+`"` != tag || got.data != want.Body.String() {
		t.Errorf("id %s, data %s; want %s, %s", got.id, got.data, tag, want.Body)
	}
	if usage := h.TakeUsage(); len(usage) != 1 || usage[0].N != 10 || usage[0].Token != "phc_1" || usage[0].Resource != "feature_flags" || usage[0].SDK != "posthog-node" || usage[0].Key == "project" {
		t.Errorf("spent %+v", usage)
	}

	again := listen(t, s.Client(), s.URL+streamPath, append(slices.Clone(key), "Last-Event-ID", got.id)...)
	for i, want := range []bool{false, true} {
		if b, _ := again.next(t); b.comment != want || b.event != "" || b.retry > 0 == want {
			t.Errorf("block %d after coming back: %+v", i, b)
		}
	}
	if usage := h.TakeUsage(); len(usage) > 0 {
		t.Errorf("spent by coming back: %+v", usage)
	}
	other := listen(t, s.Client(), s.URL+streamPath, append(slices.Clone(key), "Last-Event-ID", "0123456789abcdef")...)
	if got := other.event(t, "definitions"); got.data != want.Body.String() {
		t.Errorf("another version: %s", got.data)
	}
	eventually(t, "two events are counted", func() bool { return h.Stats().StreamEvents == 2 })
	if stats := h.Stats(); stats.Streams != 3 || stats.StreamsDropped != 0 {
		t.Errorf("%+v", stats)
	}
}

// A change without a notification, for example by another server, is found by polling.
func TestStream_ChangesOfOtherServers(t *testing.T) {
	w := streamWorld(t, `{"id": 1, "key": "a"}`)
	s, _ := streamServer(t, w, longTime, longTime, 5*time.Millisecond, nil)
	l := listen(t, s.Client(), s.URL+streamPath, ownerKey...)
	before := l.event(t, "definitions")
	w.setFlags(t, `{"id": 1, "key": "a", "active": false}`)
	if after := l.event(t, "definitions"); after.id == before.id {
		t.Error("the same version twice")
	}
}

func TestStream_KeepAlive(t *testing.T) {
	s, h := streamServer(t, streamWorld(t), 10*time.Millisecond, longTime, longTime, nil)
	l := listen(t, s.Client(), s.URL+streamPath, ownerKey...)
	l.event(t, "definitions")
	for range 5 {
		if b, _ := l.next(t); !b.comment || b.retry > 0 {
			t.Errorf("%+v", b)
		}
	}
	h.CountStreams(9_999)
	defer h.CountStreams(-9_999)
	for { // retry depends on the number of clients
		if b, _ := l.next(t); b.retry > 0 {
			if b.retry < 1000 || b.retry > 10_000 || !b.comment {
				t.Errorf("%+v", b)
			}
			break
		}
	}
	l.disconnect()
	eventually(t, "the client that has gone is noticed", func() bool { return h.Stats().Streams == 9_999 })
}

// N clients that lose their connections at the same time reconnect within N milliseconds after the
// first second: 10,000 within 9 s, about 1,111 per second.
func TestStream_HerdsAreSpread(t *testing.T) {
	h := streamWorld(t).streamHandler(t, longTime, longTime, longTime, nil)
	for _, n := range []int{1, 2_000, 3_000, 10_000, 20_000, 1_000_000} {
		h.CountStreams(int64(n))
		seconds := map[time.Duration]int{}
		for range min(n, 20_000) {
			wait := h.ComeBackForTest()
			if wait < time.Second || wait > 30*time.Second {
				t.Fatalf("%d clients: %s", n, wait)
			}
			seconds[(wait-time.Second)/(time.Second+time.Millisecond)]++
		}
		for second, clients := range seconds {
			if clients > 2_000 {
				t.Errorf("%d of %d clients in second %d", clients, n, second)
			}
		}
		h.CountStreams(-int64(n))
	}
}

// withBuffers starts a server whose connections buffer few unread bytes.
func withBuffers(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
		return ctx
	}
	s.Start()
	return s
}

// slowReader returns a client whose connections buffer few unread bytes.
func slowReader() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			err = c.(*net.TCPConn).SetReadBuffer(64 << 10)
		}
		return c, err
	}}}
}

// bigFlag is a flag that is larger than the buffers of a connection.
var bigFlag = fmt.Sprintf(`{"id": 1, "key": "a", "filters": {"groups": [{}], "payloads": {"true": %q}}}`, strconv.Quote(strings.Repeat("x", 500_000)))

// A client that reads too slowly is disconnected and counted; others do not wait for it.
func TestStream_SlowReader(t *testing.T) {
	w := streamWorld(t, bigFlag)
	h := w.streamHandler(t, longTime, 100*time.Millisecond, longTime, nil)
	s := withBuffers(h)
	t.Cleanup(s.Close)
	slow := open(t, slowReader(), s.URL+streamPath, ownerKey...)
	fast := listen(t, s.Client(), s.URL+streamPath, ownerKey...)
	fast.event(t, "definitions")
	eventually(t, "the slow reader is dropped", func() bool { st := h.Stats(); return st.StreamsDropped == 1 && st.Streams == 1 })
	w.newFlags(t, h, bigFlag, `{"id": 2, "key": "b"}`)
	fast.event(t, "definitions")
	slow.read()
	for b := range slow.blocks {
		if b.event != "" {
			t.Errorf("the slow reader got a whole event")
		}
	}
}

// A client that was too slow for two changes only gets the newer one.
func TestStream_OnlyTheNewest(t *testing.T) {
	w := streamWorld(t, bigFlag)
	h := w.streamHandler(t, longTime, longTime, longTime, nil)
	s := withBuffers(h)
	t.Cleanup(s.Close)
	slow := open(t, slowReader(), s.URL+streamPath, ownerKey...)
	fast := listen(t, s.Client(), s.URL+streamPath, ownerKey...)
	var ids []string
	for i := range 3 {
		if i > 0 {
			w.newFlags(t, h, bigFlag, fmt.Sprintf(`{"id": 2, "key": "b%d"}`, i))
		}
		ids = append(ids, fast.event(t, "definitions").id)
	}
	go slow.read()
	if first, second := slow.event(t, "definitions").id, slow.event(t, "definitions").id; first != ids[0] || second != ids[2] {
		t.Errorf("%s, %s of %v", first, second, ids)
	}
	slow.disconnect()
	fast.disconnect()
}
