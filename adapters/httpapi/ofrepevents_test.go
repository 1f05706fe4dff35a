package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

const ofrepEventsPath = "/ofrep/v1/events?token="

// ofrepHint returns the member of a bulk response that describes the stream.
func ofrepHint(prefix, key string) string {
	return `"eventStreams":[{"type":"sse","endpoint":{"requestUri":"` + prefix + ofrepEventsPath + key + `"},"inactivityDelaySec":120}]`
}

// change waits for the event of a change and checks it.
func (l *listener) change(t testing.TB) block {
	t.Helper()
	b := l.event(t, "message")
	if want := `{"type":"refetchEvaluation","etag":"` + b.id + `"}`; b.id == "" || b.data != want {
		t.Errorf("event %+v, want data %s", b, want)
	}
	return b
}

// greeted reads the start of a stream without a change: a retry delay, and an id without an event.
// It returns the id.
func (l *listener) greeted(t testing.TB) string {
	t.Helper()
	wait, _ := l.next(t)
	version, _ := l.next(t)
	if wait.retry < 1000 || wait.event != "" || version.id == "" || version.event != "" || version.data != "" {
		t.Errorf("at connect %+v, %+v", wait, version)
	}
	return version.id
}

// ADR 8: the messages on connection, after a change, and for a client that reconnects. The id is
// that of the definitions; the messages are not counted (§10.1).
func TestOFREPEvents_ConnectChangeResume(t *testing.T) {
	w := streamWorld(t, `{"id": 1, "key": "secret-name"}`)
	s, h := streamServer(t, w, longTime, longTime, longTime, nil)
	version := func() string {
		got := readAll(t, open(t, s.Client(), s.URL+"/flags/definitions?token=phc_1", ownerKey...).Response)
		return strings.Trim(strings.TrimPrefix(got.Header().Get("ETag"), "W/"), `"`)
	}
	first := version()
	h.TakeUsage()
	var all []*listener
	for _, c := range []struct {
		url     string
		headers []string
	}{
		{ofrepEventsPath + "phc_1", []string{"Origin", Range}},
		{"/ofrep/v1/events/", bearerOf("phc_1")},
		{"/ofrep/v1/events", []string{"X-API-Key", "phc_1"}},
		{ofrepEventsPath + "phc_1", []string{"Last-Event-ID", first}},
	} {
		l := listen(t, s.Client(), s.URL+c.url, c.headers...)
		if got := l.greeted(t); got != first || l.StatusCode != 200 || l.Header.Get("Content-Type") != "text/event-stream" || l.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v %s, want %s", c.url, l.StatusCode, l.Header, got, first)
		}
		all = append(all, l)
	}
	if got := all[0].Header.Get("Access-Control-Allow-Origin"); got != Range {
		t.Errorf("a page may not read it: %q", got)
	}
	w.newFlags(t, h, `{"id": 1, "key": "secret-name", "active": false}`)
	for _, l := range all {
		if got := l.change(t).id; got == first {
			t.Error("the same version")
		}
	}
	if usage := h.TakeUsage(); len(usage) > 0 {
		t.Errorf("counted: %+v", usage)
	}
	second := version()
	missed := listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_1", "Last-Event-ID", first)
	if got := missed.change(t); got.id != second {
		t.Errorf("%s, want %s", got.id, second)
	}
	// The client may have flags from before a change of which it was not notified.
	late := listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_1")
	if got := late.change(t); got.id != second {
		t.Errorf("%s, want %s", got.id, second)
	}
	if st := h.Stats(); st.PublicStreams != 6 || st.Streams != 0 || st.StreamEvents != 0 || st.StreamsDropped != 0 {
		t.Errorf("%+v", st)
	}
	eventually(t, "six events are counted", func() bool { return h.Stats().PublicStreamEvents == 6 })
}

// A change by another server is found by polling; before that only comments are sent.
func TestOFREPEvents_KeepAlive(t *testing.T) {
	w := streamWorld(t)
	s, h := streamServer(t, w, 10*time.Millisecond, longTime, 5*time.Millisecond, nil)
	l := listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_1")
	l.greeted(t)
	for range 3 {
		if b, _ := l.next(t); !b.comment || b.retry > 0 {
			t.Errorf("%+v", b)
		}
	}
	w.setFlags(t, `{"id": 1, "key": "a"}`)
	l.change(t)
	l.disconnect()
	eventually(t, "the client that has gone is noticed", func() bool { return h.Stats().PublicStreams == 0 })
}

// A stream ends when its project is deleted and when the server stops; no event is sent for it, as
// all events are changes.
func TestOFREPEvents_End(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for name, start := range map[string]func(http.Handler) *httptest.Server{"HTTP/1.1": httptest.NewServer, "HTTP/2": newHTTP2Server} {
		w := sharedWorld(t)
		h := w.handler(t, nil, nil).(*httpapi.Handler)
		h.SetStreamTiming(longTime, longTime, 5*time.Millisecond)
		s := start(h)
		closed, stays := listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_other"), listen(t, s.Client(), s.URL+ofrepEventsPath+"phc_test")
		closed.greeted(t)
		stays.greeted(t)
		w.mu.Lock()
		delete(w.projects, "phc_other")
		w.now = w.now.Add(time.Second)
		w.mu.Unlock()
		ends := func(l *listener) {
			t.Helper()
			if b, ok := l.next(t); !ok || b.retry < 1000 || b.event != "" {
				t.Errorf("%s: %v %+v", name, ok, b)
			}
			if b, ok := l.next(t); ok {
				t.Errorf("%s: after the end: %+v", name, b)
			}
			_ = l.Body.Close()
		}
		ends(closed)
		h.CloseStreams()
		ends(stays)
		rejection := ask(h, "GET", ofrepEventsPath+"phc_test", "")
		if checkOFREP(t, rejection); rejection.Code != 503 || rejection.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v", name, rejection.Code, rejection.Header())
		}
		s.Close()
		if st := h.Stats(); st.PublicStreams != 0 || st.StreamsDropped != 0 {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// The response has the stream's URL as the client sees it, with any prefix that was stripped, and
// the same for all clients of a project.
func TestOFREPEvents_Hint(t *testing.T) {
	for name, m := range mountings {
		h := m.mount(sharedWorld(t).handler(t, nil, nil))
		for _, c := range []struct {
			path    string
			headers []string
			prefix  string
			none    bool
		}{
			{path: ofrepBulkPath, prefix: m.prefix},
			{path: ofrepBulkPath + "/", prefix: m.prefix},
			{path: ofrepBulkPath + "?flagConfigLastModified=1", prefix: m.prefix},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "/outer"}, prefix: "/outer" + m.prefix},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "/"}, prefix: m.prefix},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "//evil.example"}, none: true},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", `/\evil.example`}, none: true},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "evil.example"}, none: true},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "/a, /b"}, none: true},
			{path: ofrepBulkPath, headers: []string{"X-Forwarded-Prefix", "/" + strings.Repeat("a", 256)}, none: true},
		} {
			for _, user := range []string{"u1", "u2"} {
				got := askOFREP(t, h, m.prefix+c.path, `{"context":{"targetingKey":"`+user+`"}}`, c.headers...)
				has := strings.Contains(got.Body.String(), ofrepHint(c.prefix, "phc_test"))
				if got.Code != 200 || has == c.none || c.none && strings.Contains(got.Body.String(), "eventStreams") {
					t.Errorf("%s, %s %q: %d %s", name, c.path, c.headers, got.Code, truncate(got.Body.Bytes()))
				}
			}
		}
		s := httptest.NewServer(h)
		l := listen(t, s.Client(), s.URL+m.prefix+ofrepEventsPath+"phc_test")
		l.greeted(t)
		l.disconnect()
		s.CloseClientConnections()
		s.Close()
	}
	partial := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.Partial = true })
	if got := askOFREP(t, partial, ofrepBulkPath, ofrepContext); strings.Contains(got.Body.String(), "eventStreams") {
		t.Error("a server that waits for its store has no streams")
	}
	if got := ask(partial, "GET", ofrepEventsPath+"phc_test", ""); got.Code != 503 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	// If an outer router rewrites the target, the prefix cannot be determined.
	r := httptest.NewRequest("POST", ofrepBulkPath, strings.NewReader(ofrepContext))
	r.Header.Set("X-API-Key", "phc_test")
	r.RequestURI = "/flags-for-pages"
	w := httptest.NewRecorder()
	sharedWorld(t).handler(t, nil, nil).ServeHTTP(w, r)
	if w.Code != 200 || strings.Contains(w.Body.String(), "eventStreams") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client that has received a version that this server does not have gets flags that are read
// after its request arrived, although definitions are otherwise read only once per second.
// Concurrent requests share these reads, and invented versions cause no more of them.
func TestOFREPEvents_FlagConfigEtag(t *testing.T) {
	w := sharedWorld(t)
	counted := &countingSource{world: w}
	h := w.handler(t, func(c *serving.Config) { c.Source = counted }, nil)
	versionOf := func(answer string) string {
		_, after, _ := strings.Cut(answer, `"key":"plain"`)
		_, after, _ = strings.Cut(after, `"version":`)
		v, _, _ := strings.Cut(after, ",")
		return v
	}
	for range 2 {
		before := askOFREP(t, h, ofrepBulkPath, ofrepContext).Body.String()
		w.change("phc_test", func(p *flags.FileProject) {
			p.Definitions.Flags = slices.Clone(p.Definitions.Flags)
			for i := range p.Definitions.Flags {
				p.Definitions.Flags[i].Version += 1000
			}
		})
		w.advance(-time.Second) // the change is stored, but the second has not passed
		if got := askOFREP(t, h, ofrepBulkPath, ofrepContext).Body.String(); got != before {
			t.Fatal("read before the second is over")
		}
		old, err := strconv.Atoi(versionOf(before))
		if err != nil {
			t.Fatal(err)
		}
		reads := counted.reads()
		var herd sync.WaitGroup
		for range 50 {
			herd.Go(func() {
				got := ask(h, "POST", ofrepBulkPath+"?flagConfigEtag=heard", ofrepContext, "X-API-Key", "phc_test").Body.String()
				if want := strconv.Itoa(old + 1000); versionOf(got) != want {
					t.Errorf("version %s, want %s", versionOf(got), want)
				}
			})
		}
		herd.Wait()
		if n := counted.reads() - reads; n < 1 || n > 10 {
			t.Errorf("%d looks for 50 clients", n)
		}
	}
	current := ask(h, "GET", "/flags/definitions?token=phc_test", "", "Authorization", "Bearer phs_test").Header().Get("ETag")
	reads := counted.reads()
	for _, heard := range []string{strings.Trim(strings.TrimPrefix(current, "W/"), `"`), ""} {
		if got := askOFREP(t, h, ofrepBulkPath+"?flagConfigEtag="+heard, ofrepContext); got.Code != 200 {
			t.Errorf("%d %s", got.Code, got.Body)
		}
	}
	if n := counted.reads() - reads; n != 0 {
		t.Errorf("%d looks though the version is known", n)
	}
	if got := ask(h, "POST", ofrepBulkPath+"?flagConfigEtag=x", ofrepContext, "X-API-Key", "phc_nobody"); got.Code != 401 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Limits by address apply to requests that open streams; the limit of definitions does not.
func TestOFREPEvents_RateLimit(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.RateLimits = httpapi.RateLimits{IP: httpapi.Rate{PerSecond: 1e-9, Burst: 1}, Definitions: httpapi.Rate{PerSecond: 1e-9, Burst: 1}}
	}).(*httpapi.Handler)
	t.Cleanup(h.CloseStreams)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	for i, address := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3"} {
		got := open(t, s.Client(), s.URL+ofrepEventsPath+"phc_test", "X-Forwarded-For", address)
		if want := []int{200, 429, 200, 200}[i]; got.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i, got.StatusCode, want)
		}
	}
}

// countingSource counts the reads of a project.
type countingSource struct {
	*world
	mu sync.Mutex
	n  int
}

func (c *countingSource) ProjectByKey(ctx context.Context, key string) (flags.Project, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.world.ProjectByKey(ctx, key)
}

func (c *countingSource) reads() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
