package remotetest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// A Client with its own Source: static cohorts are evaluated in this process (decision 5), a change
// of definitions arrives, and after Close no goroutine is left.
func TestRemote_New(t *testing.T) {
	h := newTestServer(t)
	h.Client().CloseIdleConnections()
	ignore := goleak.IgnoreCurrent()
	c, err := remote.New(remote.Config{URL: h.URL, ProjectKey: "phc_x", Key: "phs_x", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := c.WaitForReady(waiting); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{"user_1": "true", "user_2": "false"} {
		if got := show(c.Decide(ctx, "for-gold", &flags.Subject{DistinctID: id})); got != want {
			t.Errorf("%s in the static cohort: %s, want %s", id, got, want)
		}
	}
	if got := show(c.Decide(ctx, "for-pro", &flags.Subject{DistinctID: "user_1"})); !strings.HasPrefix(got, "not decided") {
		t.Error(got)
	}
	if v := c.String(ctx, "color", &flags.Subject{DistinctID: "user_1"}, ""); v != "blue" {
		t.Error(v)
	}
	if err := c.Track(ctx, "user_1", "bought", nil, nil); err != nil {
		t.Error(err)
	}
	if err := c.Close(waiting); err != nil {
		t.Error(err)
	}
	if s := c.Stats(); s.Sent != 2 {
		t.Errorf("%+v", s)
	}
	if got := h.requests("/flags/"); len(got) != 0 {
		t.Errorf("asked by surprise: %v", got)
	}
	if got := h.stored(t); len(got) != 2 {
		t.Errorf("%d events are stored, want 2", len(got))
	}
	h.handler.CloseStreams() // the streams on the server's side
	h.CloseClientConnections()
	goleak.VerifyNone(t, ignore)
}

// A redirect that changes POST to GET would lose the body: it is not followed. A redirect that
// preserves the method is.
func TestRemote_Redirects(t *testing.T) {
	for status, want := range map[int]uint64{301: 0, 302: 0, 303: 0, 307: 1, 308: 1} {
		h := newTestServer(t)
		h.proxy = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.URL.Path == "/batch/" {
				http.Redirect(w, r, "/i/v0/e/?compression=gzip", status)
				return
			}
			next.ServeHTTP(w, r)
		}
		c := h.client(t, nil)
		track(t, c, 0, 1)
		_ = c.Flush(ctx)
		if s := c.Stats(); s.Sent != want || s.Dropped["refused"] != 1-want || uint64(len(h.stored(t))) != want {
			t.Errorf("%d: %+v, %d stored", status, s, len(h.stored(t)))
		}
	}
}
