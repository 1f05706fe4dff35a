package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

// Offline uses no network: flags come from the bundle, every method that would request or send
// something fails or drops it, and no goroutine sends requests.
func TestConfig_Offline(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	net := &network{}
	net.redirect(nowhere(t))
	c, err := remote.New(remote.Config{
		Offline: true, NoCopy: true, Bundle: []byte(definitions("one")), AskServer: true, FlushInterval: 1, HTTPClient: net.client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	sub := &flags.Subject{DistinctID: "u"}
	if err := c.WaitForReady(ctx); err != nil {
		t.Error(err)
	}
	if v, d := c.BoolDetail(ctx, "one", sub, false); !v || d.Err != nil {
		t.Errorf("%v, %v", v, d.Err)
	}
	if v, d := c.BoolDetail(ctx, "two", sub, true); !v || !errors.Is(d.Err, flags.ErrUnknownFlag) {
		t.Errorf("%v, %v", v, d.Err)
	}
	if _, err := c.AskAll(ctx, sub); !errors.Is(err, flags.ErrUnavailable) {
		t.Error(err)
	}
	if err := c.Track(ctx, "u", "bought", nil, nil); err != nil {
		t.Error(err)
	}
	if err := errors.Join(c.Flush(ctx), c.Close(ctx)); err != nil {
		t.Error(err)
	}
	if s := c.Stats(); s.Sent+s.Retries != 0 || s.Waiting != 0 || len(s.Dropped) != 1 || s.Dropped["offline"] != 1 {
		t.Errorf("%+v", s)
	}
	if st := c.Status(); st.From != remote.FromBundle || st.Failures != 0 || st.LastError != nil {
		t.Errorf("%+v", st)
	}
	if n := net.dials.Load(); n != 0 {
		t.Errorf("%d connections", n)
	}
}

// Offline uses the last copy. Without a copy and a bundle there are no definitions, and
// WaitForReady does not wait.
func TestConfig_OfflineWithACopy(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	config := config(t, net)
	s := open(t, config)
	if err := s.WaitForReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkStopped(t, s)
	config.Offline, config.Key = true, ""
	if s := open(t, config); keys(s) != "one" || s.Status().From != remote.FromCopy {
		t.Errorf("%q, %+v", keys(s), s.Status())
	}
	config.Dir = t.TempDir()
	if err := open(t, config).WaitForReady(t.Context()); !errors.Is(err, flags.ErrNotReady) || !strings.Contains(err.Error(), "Config.Bundle") {
		t.Error(err)
	}
}

// New fails for a bundle that cannot be parsed, with the position of the error, whether or not a
// copy would have been used instead.
func TestConfig_BrokenBundle(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	config := config(t, net)
	for _, copied := range []bool{false, true} {
		for text, want := range map[string]string{
			`{"flagz": []}`:     "flags: is missing",
			"{\n \"flags\": [}": "line 2 column 12",
			`{"flags": null}`:   "flags",
		} {
			broken := config
			broken.Bundle = []byte(text)
			c, err := remote.New(broken)
			if err == nil {
				_ = c.Close(ctx)
			}
			var place *flags.DefinitionError
			if !errors.As(err, &place) && want != "flags" {
				t.Errorf("%s: %v has no place", text, err)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "remote: Config.Bundle: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("with a copy %v, %s: %v, want %q", copied, text, err, want)
			}
		}
		s := open(t, config)
		if err := s.WaitForReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkStopped(t, s) // writes a copy
	}
}

// A server that rejects the key ends WaitForReady with advice, also a call that waits already; the
// Client continues to send requests.
func TestConfig_RejectedKey(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden} {
		var p project
		p.set(t, definitions("one"))
		net := &network{}
		net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, `{"detail": "Not a key of this project."}`)
		})))
		s := open(t, config(t, net))
		for range 2 {
			err := s.WaitForReady(t.Context())
			var status *remote.StatusError
			if !errors.As(err, &status) || status.Status != code || !strings.Contains(err.Error(), "Not a key of this project. (check Config.ProjectKey, and that Config.Key") {
				t.Errorf("%d: %v", code, err)
			}
		}
		net.redirect(serve(t, p.handler(t)))
		waitUntil(t, "the definitions", func() bool { return s.WaitForReady(t.Context()) == nil })
	}
}

// Close waits for an unavailable server for ShutdownTimeout, for the default if there is no limit,
// and never longer than its context.
func TestConfig_ShutdownTimeout(t *testing.T) {
	for _, tt := range []struct{ timeout, deadline, want time.Duration }{
		{0, 0, 10 * time.Second},
		{0, time.Minute, time.Minute},
		{2 * time.Second, 0, 2 * time.Second},
		{2 * time.Second, time.Minute, 2 * time.Second},
		{time.Minute, time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := remote.Config{
				URL: "http://flags.test", ProjectKey: "phc_x", Key: "phs_x", MaxRetries: -1, ShutdownTimeout: tt.timeout,
				HTTPClient: &http.Client{Transport: away{}},
			}
			client, err := remote.NewClientOn(c, localSet(t, unknownMembers))
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Track(ctx, "u", "bought", nil, nil); err != nil {
				t.Fatal(err)
			}
			within, cancel := context.Background(), context.CancelFunc(func() {})
			if tt.deadline > 0 {
				within, cancel = context.WithTimeout(within, tt.deadline)
			}
			defer cancel()
			begun := time.Now()
			err = client.Close(within)
			if took := time.Since(begun); took != tt.want || !errors.Is(err, remote.ErrDropped) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v: closed after %v with %v", tt, took, err)
			}
		})
	}
}

// away is a server that cannot be reached.
type away struct{}

func (away) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("away") }

// No verb, encoder or log handler prints the key of a Config or of values created from it.
func TestConfig_MasksItsKey(t *testing.T) {
	for key, want := range map[string]string{"phs_veryhidden": "phs_…", "phx_veryhidden": "phx_…", "other_veryhidden": "…"} {
		c := remote.Config{URL: "https://flags.example.com", ProjectKey: "phc_x", Key: key, Bundle: []byte(`{"flags": []}`), Now: time.Now, HTTPClient: &http.Client{}}
		offline := c
		offline.Offline, offline.NoCopy = true, true
		client, err := remote.New(offline)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&text, nil)} {
			slog.New(h).Info("made", "value", c, "pointer", &c, "nested", struct{ C remote.Config }{c})
		}
		data, err := json.Marshal(map[string]any{"value": c, "pointer": &c})
		if err != nil {
			t.Fatal(err)
		}
		for what, s := range map[string]string{
			"%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", c), "%#v": fmt.Sprintf("%#v", c), "%s": fmt.Sprintf("%s", c), "%+v of a pointer": fmt.Sprintf("%+v", &c),
			"%+v of a list": fmt.Sprintf("%+v", []remote.Config{c}), "%+v of a struct": fmt.Sprintf("%+v", struct{ C remote.Config }{c}), "JSON": string(data), "slog": text.String(),
		} {
			if strings.Contains(s, "veryhidden") || !strings.Contains(s, want) || !strings.Contains(s, "flags.example.com") {
				t.Errorf("%s: %s", what, s)
			}
		}
		inURL := remote.Config{URL: "https://ana:veryhidden@flags.example.com"}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d"} { // an invalid verb prints the whole value
			for _, v := range []any{client, struct{ C *remote.Client }{client}, inURL, remote.Config{URL: "ana:veryhidden@flags.example.com:x"}} {
				if s := fmt.Sprintf(verb, v); strings.Contains(s, "veryhidden") {
					t.Errorf("%T with %s: %s", v, verb, s)
				}
			}
		}
		inURL.URL = "ftp://ana:veryhidden@flags.example.com"
		if _, err := remote.New(inURL); err == nil || strings.Contains(err.Error(), "veryhidden") {
			t.Error(err)
		}
		if s := fmt.Sprint((*remote.Client)(nil), new(remote.Client)); strings.Contains(s, "0x") || strings.Contains(s, "PANIC") {
			t.Error(s)
		}
		if err := client.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
