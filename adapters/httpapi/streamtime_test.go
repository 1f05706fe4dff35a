package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
)

// The tests of this file use the fake clock of synctest.

// pipes is a net.Listener with in-memory connections, so that the fake clock advances while they
// are idle.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close must be called only once, as http.Server does.
func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p <- there
	return here, nil
}

// serveInMemory serves a handler until the test ends, and returns a client for it.
func serveInMemory(t *testing.T, h http.Handler, http2 bool, limit time.Duration) *http.Client {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetUnencryptedHTTP2(http2)
	p := make(pipes)
	s := &http.Server{Handler: h, Protocols: &protocols, ReadTimeout: limit, WriteTimeout: limit}
	transport := &http.Transport{DialContext: p.dial, Protocols: &protocols}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(p) })
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = s.Close()
		serving.Wait()
	})
	return &http.Client{Transport: transport}
}

// If the connection cannot be hijacked, as with HTTP/2, a stream works the same, and the server's
// own timeouts do not end it.
func TestStream_WithoutHijack(t *testing.T) {
	const limit, keepAlive = time.Minute, 10 * time.Second
	for name, http2 := range map[string]bool{"HTTP/2": true, "wrapped": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := sharedWorld(t)
				h := w.handler(t, nil, nil).(*httpapi.Handler)
				h.SetStreamTiming(keepAlive, longTime, longTime)
				var handler http.Handler = h
				if !http2 {
					handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(onlyFlush{w}, r) })
				}
				client := serveInMemory(t, handler, http2, limit)
				t.Cleanup(h.CloseStreams)
				l := listen(t, client, "http://flags.test/flags/definitions/stream?token=phc_test", bearerOf("phs_test")...)
				if l.Header.Get("Content-Type") != "text/event-stream" || (l.ProtoMajor == 2) != http2 {
					t.Error(l.Proto, l.Header)
				}
				before := l.event(t, "definitions")
				for range 3 * limit / keepAlive {
					if b, ok := l.next(t); !ok || !b.comment {
						t.Fatalf("%v %+v", ok, b)
					}
				}
				w.change("phc_test", func(p *flags.FileProject) { p.Definitions.Flags = p.Definitions.Flags[1:] })
				h.DefinitionsChanged(0)
				if after := l.event(t, "definitions"); after.id == before.id {
					t.Error("the same version twice")
				}
				l.disconnect()
				eventually(t, "the client that has gone is noticed", func() bool { return h.Stats().Streams == 0 })
			})
		})
	}
}

// No stream is started if the response cannot be flushed.
func TestStream_WithoutFlush(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil).(*httpapi.Handler)
	t.Cleanup(h.CloseStreams)
	w := &struct{ http.ResponseWriter }{httptest.NewRecorder()}
	r := httptest.NewRequest("GET", "/flags/definitions/stream?token=phc_test", nil)
	r.Header.Set("Authorization", "Bearer phs_test")
	h.ServeHTTP(w, r)
	checkError(t, w.ResponseWriter.(*httptest.ResponseRecorder), 500)
	if n := h.Stats().Streams; n != 0 {
		t.Errorf("%d streams", n)
	}
}

// onlyFlush is a wrapper that hides the connection.
type onlyFlush struct{ http.ResponseWriter }

func (w onlyFlush) Flush() { w.ResponseWriter.(http.Flusher).Flush() }
func (w onlyFlush) SetReadDeadline(at time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetReadDeadline(at)
}
func (w onlyFlush) SetWriteDeadline(at time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(at)
}

// Concurrent connections with one key cause one look-up, and another one after a second.
func TestStream_HerdLooksUpItsKeyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := sharedWorld(t)
		keys := &countedKeys{Keys: w}
		h := w.handler(t, nil, func(c *httpapi.Config) { c.Keys = keys }).(*httpapi.Handler)
		var streams sync.WaitGroup
		defer streams.Wait()
		defer h.CloseStreams()
		connect := func(clients int) {
			for range clients {
				streams.Go(func() {
					r := httptest.NewRequest("GET", "/flags/definitions/stream?token=phc_test", nil)
					r.Header.Set("Authorization", "Bearer phs_test")
					h.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
			synctest.Wait()
		}
		connect(1) // a stream with the key is open
		connect(50)
		if open, lookups := h.Stats().Streams, keys.lookups.Load(); open != 51 || lookups != 1 {
			t.Fatalf("%d streams with %d look-ups, want 51 with 1", open, lookups)
		}
		time.Sleep(time.Second)
		for range 10 { // sequentially
			connect(1)
		}
		if open, lookups := h.Stats().Streams, keys.lookups.Load(); open != 61 || lookups != 2 {
			t.Errorf("%d streams with %d look-ups, want 61 with 2", open, lookups)
		}
	})
}

// countedKeys counts look-ups.
type countedKeys struct {
	httpapi.Keys
	lookups atomic.Int64
}

func (k *countedKeys) Key(ctx context.Context, key string) (httpapi.Key, error) {
	k.lookups.Add(1)
	return k.Keys.Key(ctx, key)
}
