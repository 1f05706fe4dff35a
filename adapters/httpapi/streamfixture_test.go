package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// resultsTimeout is the maximum time that a test waits for an expected result.
const resultsTimeout = time.Minute

// longTime is a time that does not pass during a test.
const longTime = time.Hour

// block is a part of a stream up to an empty line.
type block struct {
	event, id, data string
	retry           int
	comment         bool
}

// listener is a client of a stream.
type listener struct {
	*http.Response
	blocks     chan block // closed at the end of the stream
	disconnect context.CancelFunc
}

// listen opens a stream and reads it. headers are alternating names and values.
func listen(t testing.TB, c *http.Client, url string, headers ...string) *listener {
	t.Helper()
	l := open(t, c, url, headers...)
	go l.read()
	return l
}

// open opens a stream without reading it.
func open(t testing.TB, c *http.Client, url string, headers ...string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return &listener{res, make(chan block, 1000), cancel}
}

func (l *listener) read() {
	defer close(l.blocks)
	in := bufio.NewReader(l.Body)
	var b block
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		name, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		v = strings.TrimPrefix(v, " ")
		switch {
		case line == "\n":
			l.blocks <- b
			b = block{}
		case name == "":
			b.comment = true
		case name == "event":
			b.event = v
		case name == "id":
			b.id = v
		case name == "data":
			b.data += v
		case name == "retry":
			b.retry, _ = strconv.Atoi(v)
		}
	}
}

// next returns the next block; ok is false at the end of the stream.
func (l *listener) next(t testing.TB) (b block, ok bool) {
	t.Helper()
	return l.nextWithin(t, time.After(resultsTimeout))
}

func (l *listener) nextWithin(t testing.TB, late <-chan time.Time) (b block, ok bool) {
	t.Helper()
	select {
	case b, ok = <-l.blocks:
		return b, ok
	case <-late:
		t.Fatal("what is waited for does not come")
		return b, false
	}
}

// event returns the next event, skipping comments and retry delays.
func (l *listener) event(t testing.TB, name string) block {
	t.Helper()
	for late := time.After(resultsTimeout); ; {
		b, ok := l.nextWithin(t, late)
		if !ok {
			t.Fatalf("the stream ends before an event %s", name)
		}
		if b.event == "" {
			continue
		}
		if b.event != name {
			t.Fatalf("event %s %s, want %s", b.event, truncate([]byte(b.data)), name)
		}
		return b
	}
}

// closes waits for the event closing with a code, and the end of the stream.
func (l *listener) closes(t testing.TB, code string) {
	t.Helper()
	b := l.event(t, "closing")
	if want := `{"code":"` + code + `"}`; b.data != want || b.retry < 1000 {
		t.Errorf("closing %s, retry %d; want %s", b.data, b.retry, want)
	}
	if b, ok := l.next(t); ok {
		t.Errorf("after closing: %+v", b)
	}
}

// eventually waits until a condition is true.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(resultsTimeout); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never happens: " + what)
		}
	}
}

// streamFile has the projects of streamWorld.
const streamFile = `{"projects": [
	{"id": 1, "api_key": "phc_1", "personal_api_keys": [{"key": "phx_owner", "scopes": ["*"]}, {"key": "phx_member", "scopes": ["feature_flag:read"]}],
	 "secret_api_keys": ["phs_1"], "flags": []},
	{"id": 2, "api_key": "phc_2", "secret_api_keys": ["phs_2"], "flags": []}]}`

var ownerKey = bearerOf("phx_owner")

// streamWorld returns a world with streamFile, in which project 1 has these flags.
func streamWorld(t testing.TB, list ...string) *world {
	t.Helper()
	w := newWorld(t, []byte(streamFile))
	w.setFlags(t, list...)
	return w
}

// setFlags replaces the flags of project 1. A handler is not notified.
func (w *world) setFlags(t testing.TB, list ...string) {
	t.Helper()
	file, err := flags.ParseFile([]byte(`{"projects": [{"id": 1, "api_key": "phc_1", "flags": [` + strings.Join(list, ",") + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	w.change("phc_1", func(p *flags.FileProject) { p.Definitions = file.Projects[0].Definitions })
}

// newFlags is setFlags with a notification of a handler, as by the store of a server.
func (w *world) newFlags(t testing.TB, h *httpapi.Handler, list ...string) {
	t.Helper()
	w.setFlags(t, list...)
	h.DefinitionsChanged(1)
}

// streamHandler returns a handler with these intervals. change modifies its configuration; it may
// be nil.
func (w *world) streamHandler(t testing.TB, keepAlive, write, look time.Duration, change func(*httpapi.Config)) *httpapi.Handler {
	t.Helper()
	h := w.handler(t, func(c *serving.Config) { c.Members = &serving.Memory{} }, change).(*httpapi.Handler)
	h.SetStreamTiming(keepAlive, write, look)
	t.Cleanup(h.CloseStreams)
	return h
}

// streamer is a world or an office.
type streamer interface {
	streamHandler(t testing.TB, keepAlive, write, look time.Duration, change func(*httpapi.Config)) *httpapi.Handler
}

// streamServer serves a streamHandler.
func streamServer(t testing.TB, of streamer, keepAlive, write, look time.Duration, change func(*httpapi.Config)) (*httptest.Server, *httpapi.Handler) {
	t.Helper()
	h := of.streamHandler(t, keepAlive, write, look, change)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, h
}

// failingKeys returns errors while failing is set.
type failingKeys struct {
	httpapi.Keys
	failing atomic.Bool
	lookups atomic.Int64
}

func (k *failingKeys) Key(ctx context.Context, key string) (httpapi.Key, error) {
	k.lookups.Add(1)
	if k.failing.Load() {
		return httpapi.Key{}, errors.New("the store of keys is down")
	}
	return k.Keys.Key(ctx, key)
}
