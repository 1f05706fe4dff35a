package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
)

// Keys are checked repeatedly: a key that is removed ends its streams, other streams remain.
func TestStream_RemovedKeys(t *testing.T) {
	w := streamWorld(t)
	s, h := streamServer(t, w, 10*time.Millisecond, longTime, longTime, nil)
	var leaving []*listener
	for _, key := range []string{"phs_1", "phs_1", "phs_1", "phx_member"} {
		leaving = append(leaving, listen(t, s.Client(), s.URL+streamPath, bearerOf(key)...))
	}
	staying := listen(t, s.Client(), s.URL+streamPath, ownerKey...)
	for _, l := range append(leaving, staying) {
		l.event(t, "definitions")
	}
	w.change("phc_1", func(p *flags.FileProject) { p.SecretKeys, p.PersonalKeys = nil, p.PersonalKeys[:1] })
	for _, l := range leaving {
		l.closes(t, "unauthorized")
	}
	checkError(t, readAll(t, open(t, s.Client(), s.URL+streamPath, bearerOf("phs_1")...).Response), 401)
	w.newFlags(t, h, `{"id": 1, "key": "a"}`)
	staying.event(t, "definitions")
	eventually(t, "one stream remains", func() bool { return h.Stats().Streams == 1 })
}

// Each payload counts ten. A push that exceeds the quota ends the stream, and so does the deletion
// of the project. Reconnecting without a change is free.
func TestStream_Quota(t *testing.T) {
	w := newWorld(t, []byte(quotaFile))
	setLimit(w, 25)
	h := w.handler(t, nil, nil).(*httpapi.Handler)
	h.SetStreamTiming(longTime, longTime, 5*time.Millisecond)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	url, key := s.URL+"/flags/definitions/stream?token=phc_a", bearerOf("phs_a")
	l := listen(t, s.Client(), url, key...)
	l.event(t, "definitions")
	w.change("phc_a", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = true })
	second := l.event(t, "definitions")
	w.change("phc_a", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = false })
	l.closes(t, "quota_limited")
	got := checkError(t, readAll(t, open(t, s.Client(), url, append(slices.Clone(key), "Last-Event-ID", second.id)...).Response), 402)
	if got["type"] != "quota_limited" {
		t.Errorf("%v", got)
	}
	now := download(h, "a", "none").Header().Get("ETag")
	if now != "" {
		t.Error("a download fits though a push did not")
	}
	setLimit(w, 100)
	l = listen(t, s.Client(), url, key...)
	l.event(t, "definitions")
	w.mu.Lock()
	delete(w.projects, "phc_a")
	w.now = w.now.Add(time.Second)
	w.mu.Unlock()
	l.closes(t, "unauthorized")
}

// An error of a store does not end a stream; the next change is sent when the store recovers.
func TestStream_StoreFails(t *testing.T) {
	w := sharedWorld(t)
	var keys failingKeys
	keys.Keys = w
	h := w.handler(t, nil, func(c *httpapi.Config) { c.Keys = &keys }).(*httpapi.Handler)
	h.SetStreamTiming(5*time.Millisecond, longTime, 5*time.Millisecond)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	l := listen(t, s.Client(), s.URL+"/flags/definitions/stream?token=phc_test", bearerOf("phs_test")...)
	l.event(t, "definitions")
	keys.failing.Store(true)
	w.mu.Lock()
	w.failure = flags.ErrUnavailable
	w.now = w.now.Add(time.Second)
	w.mu.Unlock()
	lookups := keys.lookups.Load()
	eventually(t, "the key is looked at while that fails", func() bool { return keys.lookups.Load() > lookups+2 })
	w.mu.Lock()
	w.failure = nil
	w.mu.Unlock()
	w.change("phc_test", func(p *flags.FileProject) { p.Definitions.MinimalFlagCalledEvents = true })
	l.event(t, "definitions")
}

// Streams above the limit are refused, with the time of a retry.
func TestStream_TooMany(t *testing.T) {
	s, h := streamServer(t, streamWorld(t), 10*time.Millisecond, longTime, longTime, func(c *httpapi.Config) { c.MaxStreams = 2 })
	key := ownerKey
	first := listen(t, s.Client(), s.URL+streamPath, key...)
	listen(t, s.Client(), s.URL+streamPath, key...).event(t, "definitions")
	first.event(t, "definitions")
	h.TakeUsage()
	rejection := readAll(t, open(t, s.Client(), s.URL+streamPath, key...).Response)
	if problem := checkError(t, rejection, 503); problem["code"] != "too_many" {
		t.Errorf("%v", problem)
	}
	if after, err := strconv.Atoi(rejection.Header().Get("Retry-After")); err != nil || after < 1 || after > 2 {
		t.Errorf("Retry-After %q", rejection.Header().Get("Retry-After"))
	}
	if usage := h.TakeUsage(); len(usage) > 0 {
		t.Errorf("a refusal is billed: %+v", usage)
	}
	first.disconnect()
	eventually(t, "a place is free", func() bool { return h.Stats().Streams == 1 })
	listen(t, s.Client(), s.URL+streamPath, key...).event(t, "definitions")
}

// When the server stops, every stream gets a message, no new ones are accepted, and no goroutine is
// left.
func TestStream_Shutdown(t *testing.T) {
	w := streamWorld(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, start := range map[string]func(http.Handler) *httptest.Server{"HTTP/1.1": httptest.NewServer, "HTTP/2": newHTTP2Server} {
		h := w.streamHandler(t, longTime, longTime, time.Millisecond, nil)
		s := start(h)
		s.Config.RegisterOnShutdown(h.CloseStreams)
		var all []*listener
		for _, path := range []string{streamPath, streamPath + "&static_cohorts=members", streamPath} {
			all = append(all, listen(t, s.Client(), s.URL+path, ownerKey...))
		}
		all = append(all, listen(t, s.Client(), s.URL+"/flags/definitions/stream/?token=phc_2", bearerOf("phs_2")...))
		for _, l := range all {
			l.event(t, "definitions")
		}
		if err := s.Config.Shutdown(t.Context()); err != nil {
			t.Error(name, err)
		}
		for _, l := range all {
			l.closes(t, "shutdown")
			_ = l.Body.Close()
		}
		h.CloseStreams()
		if st := h.Stats(); st.Streams != 0 || st.StreamsDropped != 0 {
			t.Errorf("%s: %+v", name, st)
		}
		if got := ask(h, "GET", streamPath, "", ownerKey...); checkError(t, got, 503)["code"] != "service_unavailable" || got.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %v", name, got.Header())
		}
		s.Close()
	}
}

func newHTTP2Server(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s
}
