package shadow_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/shadow"
)

// silent reads requests and does not respond until they are canceled.
var silent http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
})

const someone = `{"api_key": "phc_x", "distinct_id": "u"}`

// After Config.Timeout without a response from the upstream, this server responds.
func TestShadow_SilentUpstream(t *testing.T) {
	p := start(t, server(t, flag(1, "here", "")), silent, shadow.Config{Answer: shadow.Upstream, Timeout: 100 * time.Millisecond})
	if status, body := p.ask(t, "/flags?v=2", someone); status != 200 || !strings.Contains(body, `"here"`) {
		t.Errorf("%d %s", status, body)
	}
	if r := p.waitSettled(t); r.Skipped["upstream_failed"] != 1 || r.UpstreamErrors != 1 {
		t.Errorf("%+v", r)
	}
}

// A client that disconnects is not counted as a failure of the upstream.
func TestShadow_CallerCanceled(t *testing.T) {
	arrived := make(chan struct{})
	var waits http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		silent.ServeHTTP(w, r)
	})
	p := start(t, server(t, ""), waits, shadow.Config{Answer: shadow.Upstream})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.front.URL+"/flags?v=2", strings.NewReader(someone))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := p.front.Client().Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error(resp.Status)
	}
	if r := p.waitSettled(t); r.Skipped["caller_gone"] != 1 || r.UpstreamErrors != 0 {
		t.Errorf("%+v", r)
	}
}

// The upstream receives the whole body, even if this server does not read it, and never the
// credentials for this server.
func TestShadow_WhatTheUpstreamIsSent(t *testing.T) {
	sent := make(chan string, 1)
	var hears http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent <- string(body) + r.Header.Get("Authorization")
	})
	refuses := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	p := start(t, refuses, hears, shadow.Config{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.front.URL+"/flags?v=2", strings.NewReader(someone))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer phs_secret")
	resp, err := p.front.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if got := <-sent; got != someone {
		t.Errorf("the upstream was sent %s", got)
	}
	p.waitSettled(t)
}

// The rate of differences of whole responses is their share of all responses.
func TestShadow_RateOfOverallAnswers(t *testing.T) {
	p := start(t, server(t, ""), server(t, ""), shadow.Config{})
	limited := `{"flags": {}, "errorsWhileComputingFlags": false, "quotaLimited": ["feature_flags"]}`
	var n atomic.Int64
	var other http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1) <= 3 {
			_, _ = io.WriteString(w, `{"flags": {}}`)
			return
		}
		_, _ = io.WriteString(w, limited)
	})
	p.upstream.Store(&other)
	for range 4 {
		p.ask(t, "/flags?v=2", someone)
		p.waitSettled(t)
	}
	r := p.Report()
	if len(r.Flags) != 1 || r.Flags[0].Rate != 0.25 || r.Rate != 0.25 {
		t.Errorf("one answer of four differs: %+v", r)
	}
}

// Events in the queue at Close are counted as lost.
func TestShadow_EventsLostAtClose(t *testing.T) {
	var hangs http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { silent.ServeHTTP(w, r) })
	upstream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status": 1}`)
	})
	p := start(t, hangs, upstream, shadow.Config{Answer: shadow.Upstream, Workers: 1, Timeout: time.Minute})
	for range 5 { // one is in progress, four wait
		if status, body := p.ask(t, "/batch/", `{"api_key": "phc_x", "batch": []}`); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	p.Close()
	for end := time.Now().Add(time.Minute); p.Report().EventsLost != 5; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d requests with events lost, want 5", p.Report().EventsLost)
		}
	}
}

// Buffers of requests in progress are limited: above 32 MiB no further bytes are buffered, and all
// of the budget is released at the end.
func TestShadow_BytesUnderWay(t *testing.T) {
	const each, many = 900 << 10, 60 // 54 MiB
	long := strings.Repeat("x", each)
	var answering atomic.Int64
	release := make(chan struct{})
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if answering.Add(1) == many {
			close(release)
		}
		<-release
		_, _ = io.WriteString(w, `{"flags": {}}`)
	})
	var same http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"flags": {}}`)
	})
	p := start(t, next, same, shadow.Config{})
	done := make(chan error, many)
	for range many {
		go func() {
			resp, err := p.front.Client().Post(p.front.URL+"/flags?v=2", "application/json", strings.NewReader(fmt.Sprintf(`{"x": %q}`, long)))
			if err == nil {
				_ = resp.Body.Close()
			}
			done <- err
		}()
	}
	for range many {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	r := p.waitSettled(t)
	if most := int64(32<<20) / each; r.Compared > most || r.Skipped["queue_full"] < many-most || r.Compared == 0 {
		t.Errorf("%d of %d compared, at most %d fit: %+v", r.Compared, many, most, r.Skipped)
	}
	before := r.Compared
	p.ask(t, "/flags?v=2", someone)
	if r := p.waitSettled(t); r.Compared != before+1 {
		t.Errorf("afterwards nothing fits: %+v", r)
	}
}

// A user in the upstream's URL is rejected, because it would be ignored, and the error does not
// have the password.
func TestShadow_UpstreamWithUser(t *testing.T) {
	u, _ := url.Parse("https://me:secret@flags.test")
	if _, err := shadow.New(shadow.Config{Next: http.NotFoundHandler(), Upstream: u}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
