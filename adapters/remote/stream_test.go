package remote_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
)

// With a Bunting server changes arrive by its stream, which resumes from the current version.
func TestSource_Decision5_Streams(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	s := open(t, config(t, net))
	waitUntil(t, "a stream", func() bool { return s.Status().Streaming })
	if st := s.Status(); keys(s) != "one" || st.From != remote.FromPoll || st.Revision != 1 || !st.StaleSince.IsZero() {
		t.Errorf("flags %q, status %+v", keys(s), st)
	}
	dials := net.dials.Load()
	p.set(t, definitions("one", "two"))
	waitUntil(t, "the change", func() bool { return keys(s) == "one two" })
	if st := s.Status(); st.From != remote.FromStream || net.dials.Load() != dials {
		t.Errorf("status %+v, %d more requests", st, net.dials.Load()-dials)
	}
	version := s.Status().Version
	checkStopped(t, s)
	net.redirect(nowhere(t))
	c := config(t, net)
	c.Dir = filepath.Dir(s.CopyPath())
	again := open(t, c)
	if st := again.Status(); keys(again) != "one two" || st.Version != version || st.From != remote.FromCopy {
		t.Errorf("what came by the stream is not in the copy: %q, %+v", keys(again), st)
	}
}

// script is a server with streams that a test writes.
type script struct {
	mu      sync.Mutex
	streams []http.Header // headers of the requests, in order
	polls   int
	// stream serves the n-th stream, from 0, until it returns.
	stream func(n int, w http.ResponseWriter, r *http.Request)
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n := len(s.streams)
	stream := strings.HasSuffix(r.URL.Path, "/stream")
	switch {
	case stream:
		s.streams = append(s.streams, r.Header)
	case r.Method == http.MethodGet:
		s.polls++
	}
	s.mu.Unlock()
	switch {
	case stream:
		s.stream(n, w, r)
	case r.Header.Get("If-None-Match") == "":
		w.Header().Set("ETag", `W/"polled"`)
		_, _ = fmt.Fprint(w, definitions("polled"))
	default:
		w.WriteHeader(http.StatusNotModified)
	}
}

// count returns the number of streams and polls so far.
func (s *script) count() (streams, polls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams), s.polls
}

func (s *script) header(n int, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[n].Get(name)
}

// writeStream sends a part of a stream.
func writeStream(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, format, args...)
	_ = http.NewResponseController(w).Flush()
}

// follow opens a Source with a script as its server. Streams time out after 100 ms without data.
func (s *script) follow(t *testing.T, change func(*remote.Config)) *remote.Source {
	t.Helper()
	net := &network{}
	net.redirect(serve(t, s))
	c := remote.Faster(config(t, net), 100, 100*time.Millisecond, time.Second)
	if change != nil {
		change(&c)
	}
	return open(t, c)
}

// A stream without data for two keep-alives times out; the next one resumes from the same version.
func TestSource_ASilentStreamIsDead(t *testing.T) {
	s := &script{stream: func(n int, w http.ResponseWriter, r *http.Request) {
		switch n {
		case 0:
			writeStream(w, "event: definitions\nid: v1\ndata: %s\n\n", definitions("first"))
			for range 5 { // a keep-alive every 50 ms prevents the timeout
				time.Sleep(50 * time.Millisecond)
				writeStream(w, ":\n\n")
			}
			<-r.Context().Done()
		default:
			writeStream(w, "event: definitions\nid: v2\ndata: %s\n\n", definitions("second"))
			<-r.Context().Done()
		}
	}}
	src := s.follow(t, nil)
	waitUntil(t, "the second stream", func() bool { return keys(src) == "second" })
	if got := s.header(1, "Last-Event-ID"); got != "v1" {
		t.Errorf("Last-Event-ID %q, want v1", got)
	}
	if st := src.Status(); st.Failures != 1 || st.LastErrorAt.IsZero() || st.Version != "v2" {
		t.Errorf("status %+v", st)
	}
}

// A comment confirms that the definitions are current; retry is applied; an event "closing" is not
// a failure.
func TestSource_ClosingAndRetry(t *testing.T) {
	var mu sync.Mutex
	var ends, begins []time.Duration
	var elapsed func() time.Duration
	s := &script{stream: func(n int, w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		begins = append(begins, elapsed())
		mu.Unlock()
		writeStream(w, "retry: 20000\n\n:\n\n")
		if n == 0 {
			mu.Lock()
			ends = append(ends, elapsed())
			mu.Unlock()
			writeStream(w, "event: closing\ndata: {\"code\":\"shutdown\"}\n\n")
			return
		}
		<-r.Context().Done()
	}}
	src := s.follow(t, func(c *remote.Config) {
		c.Poll = time.Hour
		*c, elapsed = remote.WithFakeClock(remote.Faster(*c, 1, time.Hour, time.Second))
	})
	waitUntil(t, "the second stream", func() bool { streams, _ := s.count(); return streams == 2 && src.Status().Streaming })
	mu.Lock()
	defer mu.Unlock()
	if wait := begins[1] - ends[0]; wait != 20*time.Second {
		t.Errorf("it came back after %v", wait)
	}
	if st := src.Status(); st.Failures != 0 || st.LastError != nil || !st.StaleSince.IsZero() || keys(src) != "polled" {
		t.Errorf("flags %q, status %+v", keys(src), st)
	}
	if got := s.header(1, "Last-Event-ID"); got != "polled" {
		t.Errorf("Last-Event-ID %q", got)
	}
}

// If the server offers no stream, or another kind, polls continue, and a stream is tried every ten
// minutes (6 s here, at a hundredth).
func TestSource_WithoutStreams(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"404":  func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"405":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"page": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") },
		"other events": func(w http.ResponseWriter, r *http.Request) {
			writeStream(w, "event: connected\ndata: {\"team_id\":1}\n\n")
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{stream: func(_ int, w http.ResponseWriter, r *http.Request) { answer(w, r) }}
			src := s.follow(t, nil)
			waitUntil(t, "polls", func() bool { _, polls := s.count(); return polls > 5 })
			if streams, _ := s.count(); streams != 1 {
				t.Errorf("asked for %d streams", streams)
			}
			if st := src.Status(); keys(src) != "polled" || st.Failures != 0 || st.Streaming {
				t.Errorf("flags %q, status %+v", keys(src), st)
			}
			waitUntil(t, "another look for a stream", func() bool { streams, _ := s.count(); return streams == 2 })
		})
	}
}

// A stream that a proxy buffers delivers no data: polls continue, and after three attempts it
// counts as not offered.
func TestSource_StreamsHeldBack(t *testing.T) {
	s := &script{stream: func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	src := s.follow(t, func(c *remote.Config) { c.Timeout = 50 * time.Millisecond })
	waitUntil(t, "three streams", func() bool { streams, _ := s.count(); return streams == 3 })
	_, before := s.count()
	waitUntil(t, "polls", func() bool { _, polls := s.count(); return polls > before+5 })
	if streams, _ := s.count(); streams != 3 || keys(src) != "polled" {
		t.Errorf("%d streams, flags %q", streams, keys(src))
	}
}

// Invalid definitions in a stream are not applied; polls continue.
func TestSource_BadEventIsIgnored(t *testing.T) {
	s := &script{stream: func(n int, w http.ResponseWriter, r *http.Request) {
		writeStream(w, "event: definitions\nid: bad\ndata: {\"flags\": {}}\n\n")
		<-r.Context().Done()
	}}
	src := s.follow(t, nil)
	waitUntil(t, "two streams and polls", func() bool { streams, polls := s.count(); return streams >= 2 && polls >= 2 })
	if st := src.Status(); keys(src) != "polled" || st.Version != "polled" || st.Failures == 0 {
		t.Errorf("flags %q, status %+v", keys(src), st)
	}
}

// While the server rejects streams, polls find the changes.
func TestSource_RejectedStreams(t *testing.T) {
	s := &script{stream: func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "100") // 1 s here
		w.WriteHeader(http.StatusServiceUnavailable)
	}}
	src := s.follow(t, nil)
	waitUntil(t, "polls", func() bool { _, polls := s.count(); return polls > 10 })
	if streams, _ := s.count(); streams != 1 || keys(src) != "polled" || !src.Status().StaleSince.IsZero() {
		t.Errorf("%d streams, flags %q, status %+v", streams, keys(src), src.Status())
	}
}

// An unresponsive server is probed every second, and polled as soon as it responds: after at most
// two seconds, if a probe in progress has to time out first.
func TestSource_NoticesThatTheServerIsBack(t *testing.T) {
	for name, away := range map[string]func(*http.Request) error{
		"refusing":    func(*http.Request) error { return errors.New("connection refused") },
		"black-holed": func(r *http.Request) error { <-r.Context().Done(); return r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var back atomic.Bool
				var probes atomic.Int64
				s := open(t, remote.Faster(remote.Config{
					URL: "http://flags.test", ProjectKey: projectKey, Key: secretKey, NoCopy: true, NoStream: true,
					HTTPClient: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						probes.Add(1)
						if !back.Load() {
							return nil, away(r)
						}
						w := httptest.NewRecorder()
						_, _ = fmt.Fprint(w, definitions("one"))
						return w.Result(), nil
					})},
				}, 1, time.Minute, 900*time.Millisecond))
				time.Sleep(30 * time.Second)
				looks := probes.Load()
				if got := s.Status().Failures; got != 1 || looks < 20 || looks > 32 {
					t.Errorf("%d whole attempts with %d requests in 30 seconds, want 1 and a look a second", got, looks)
				}
				back.Store(true)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if keys(s) != "one" {
					t.Error("it has not noticed")
				}
				// A probe in progress is canceled; the next one succeeds; then there is a poll.
				if got := probes.Load() - looks; got > 3 {
					t.Errorf("%d requests until the definitions were had", got)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
