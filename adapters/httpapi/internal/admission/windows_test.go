package admission

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// headerClient reads the address of a client from a header, or from the connection.
type headerClient struct{}

func (headerClient) ClientIP(r *http.Request) netip.Addr {
	if text := r.Header.Get("X-Client"); text != "" {
		return netip.MustParseAddr(text)
	}
	return netip.MustParseAddrPort(r.RemoteAddr).Addr()
}

// A window begins with the first request after the previous one. A request over a limit waits until
// the end of its window and is not counted (spec/management.md §2.6).
func TestWindows_Limits(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC)
	type step struct {
		after time.Duration // since the start
		key   string
		want  time.Duration
	}
	for name, c := range map[string]struct {
		limits Windows
		steps  []step
	}{
		"no limit": {Windows{}, []step{{0, "a", 0}, {0, "a", 0}, {0, "a", 0}}},
		"a minute": {Windows{PerMinute: 2}, []step{
			{0, "a", 0}, {10 * time.Second, "a", 0}, {20 * time.Second, "a", 40 * time.Second}, {59 * time.Second, "a", time.Second}, {time.Minute - 1, "a", 1},
			{time.Minute, "a", 0}, {time.Minute, "a", 0}, {time.Minute, "a", time.Minute},
		}},
		"each key": {Windows{PerMinute: 1}, []step{{0, "a", 0}, {0, "b", 0}, {0, "a", time.Minute}, {0, "b", time.Minute}}},
		"an hour":  {Windows{PerHour: 1}, []step{{0, "a", 0}, {time.Minute, "a", 59 * time.Minute}, {time.Hour, "a", 0}}},
		"both": {Windows{PerMinute: 1, PerHour: 2}, []step{
			{0, "a", 0}, {0, "a", time.Minute}, {time.Minute, "a", 0}, {2 * time.Minute, "a", 58 * time.Minute}, {2*time.Minute + 30*time.Second, "a", 57*time.Minute + 30*time.Second}, {time.Hour, "a", 0},
		}},
		"the longer wait":           {Windows{PerMinute: 1, PerHour: 1}, []step{{0, "a", 0}, {time.Second, "a", time.Hour - time.Second}}},
		"a clock that was set back": {Windows{PerMinute: 1}, []step{{time.Hour, "a", 0}, {0, "a", 0}, {0, "a", time.Minute}}},
		"the next window":           {Windows{PerMinute: 1}, []step{{0, "a", 0}, {90 * time.Second, "a", 0}, {2 * time.Minute, "a", 30 * time.Second}}},
	} {
		l := newWindowLimiter(c.limits)
		for i, s := range c.steps {
			before := l.Check(s.key, start.Add(s.after))
			if got := l.Add(s.key, start.Add(s.after)); got != s.want || before != s.want {
				t.Errorf("%s: step %d waits %s, checked %s, want %s", name, i, got, before, s.want)
			}
		}
	}
}

// newCounts returns counts with a variable as their clock.
func newCounts(c Limits) (*Management, *time.Time, *atomic.Uint64) {
	now, rejected := time.Unix(1000, 0), new(atomic.Uint64)
	c.Now = func() time.Time { return now }
	return NewManagement(c, headerClient{}, rejected), &now, rejected
}

// throttledFor returns the Retry-After of a throttled request, and 0 for another error.
func throttledFor(err error) int {
	var p *problem.Problem
	if errors.As(err, &p) && p.Status == http.StatusTooManyRequests && p.Type == "throttled_error" && p.Code == "throttled" {
		return p.RetryAfter
	}
	return 0
}

// The message and Retry-After of a throttled request, in seconds, rounded up.
func TestManagement_Throttle(t *testing.T) {
	t.Parallel()
	m, _, rejected := newCounts(Limits{})
	for _, c := range []struct {
		wait    time.Duration
		seconds int
		want    string
	}{
		{1, 1, "Request was throttled. Expected available in 1 second."}, {time.Second, 1, "Request was throttled. Expected available in 1 second."},
		{time.Second + 1, 2, "Request was throttled. Expected available in 2 seconds."}, {time.Hour, 3600, "Request was throttled. Expected available in 3600 seconds."},
	} {
		var p *problem.Problem
		if err := m.Throttle(c.wait); !errors.As(err, &p) || p.Detail != c.want || p.RetryAfter != c.seconds {
			t.Errorf("%s: %v", c.wait, err)
		}
	}
	if rejected.Load() != 4 {
		t.Errorf("%d are counted", rejected.Load())
	}
}

// Reads of events have limits of their own, and each key is counted by itself.
func TestManagement_Limit(t *testing.T) {
	t.Parallel()
	m, now, rejected := newCounts(Limits{Default: Windows{PerMinute: 2}, Reads: Windows{PerMinute: 1}})
	for i, c := range []struct {
		key  string
		read bool
		want int
	}{{"a", false, 0}, {"a", true, 0}, {"a", true, 60}, {"a", false, 0}, {"a", false, 60}, {"b", false, 0}, {"b", true, 0}} {
		if got := throttledFor(m.Limit(c.key, c.read)); got != c.want {
			t.Errorf("request %d waits %d s, want %d", i, got, c.want)
		}
	}
	if rejected.Load() != 2 {
		t.Errorf("%d are counted", rejected.Load())
	}
	*now = now.Add(59*time.Second + 500*time.Millisecond)
	if got := throttledFor(m.Limit("a", false)); got != 1 {
		t.Errorf("half a second before the end: %d s", got)
	}
	*now = now.Add(500 * time.Millisecond)
	if err := m.Limit("a", false); err != nil {
		t.Error(err)
	}
}

// Unknown keys are counted by the address of the client, and for a proxy also by that of the proxy,
// which may have ten times as many.
func TestManagement_CountFailure(t *testing.T) {
	t.Parallel()
	m, _, _ := newCounts(Limits{Failures: Windows{PerMinute: 2}})
	badKey := errors.New("bad key")
	count := func(peer, client string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer + ":1"
		if client != "" {
			r.Header.Set("X-Client", client)
		}
		return m.CountFailure(r, badKey)
	}
	for i, want := range []int{0, 0, 60} {
		if err := count("192.0.2.1", ""); throttledFor(err) != want || want == 0 && !errors.Is(err, badKey) {
			t.Errorf("failure %d: %v", i+1, err)
		}
	}
	if err := count("192.0.2.2", ""); throttledFor(err) != 0 {
		t.Errorf("another address: %v", err)
	}
	// One proxy, and a client address for each two failures.
	clients := []string{"198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "198.51.100.5", "198.51.100.6", "198.51.100.7", "198.51.100.8", "198.51.100.9", "198.51.100.10"}
	for _, client := range clients {
		for range 2 {
			if err := count("10.0.0.1", client); throttledFor(err) != 0 {
				t.Errorf("%s: %v", client, err)
			}
		}
	}
	if err := count("10.0.0.1", "198.51.100.11"); throttledFor(err) != 60 {
		t.Errorf("the failure 21 of a proxy: %v", err)
	}
	if err := count("10.0.0.2", "198.51.100.12"); throttledFor(err) != 0 {
		t.Errorf("another proxy: %v", err)
	}
}

// Passwords of a shared link are counted by address and by link; over one limit, neither is counted
// any more.
func TestManagement_CountGuess(t *testing.T) {
	t.Parallel()
	m, now, _ := newCounts(Limits{Guesses: Windows{PerMinute: 2}, Links: Windows{PerMinute: 3}})
	guess := func(client, link string) int {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = client + ":1"
		return throttledFor(m.CountGuess(r, link))
	}
	for i, c := range []struct {
		client, link string
		want         int
	}{
		{"192.0.2.1", "x", 0}, {"192.0.2.1", "y", 0}, {"192.0.2.1", "x", 60}, {"192.0.2.1", "z", 60},
		{"192.0.2.2", "x", 0}, {"192.0.2.3", "x", 0}, // the third and last of the link
		{"192.0.2.4", "x", 60}, {"192.0.2.4", "z", 0}, {"192.0.2.4", "z", 0}, {"192.0.2.4", "z", 60},
	} {
		if got := guess(c.client, c.link); got != c.want {
			t.Errorf("guess %d waits %d s, want %d", i, got, c.want)
		}
	}
	*now = now.Add(time.Minute)
	if guess("192.0.2.1", "x") != 0 {
		t.Error("after a minute a guess is throttled")
	}
}

// The token bucket of a key (§10.2): its burst, then its rate, and a warning from 80 percent of use.
func TestLimiter_Allow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rejected := new(atomic.Uint64)
		l := NewLimiters(Rates{Token: Rate{PerSecond: 1, Burst: 5}}, map[string]Rate{"free": {}, "large": {PerSecond: 1, Burst: 100}}, rejected, slog.New(slog.DiscardHandler))
		allow := func(key string) string {
			w := httptest.NewRecorder()
			out := "refused"
			if l.Token.Allow(w, key) {
				out = "allowed"
			}
			if w.Header().Get("X-PostHog-Rate-Limit-Warning") == "true" {
				out += ", warned"
			}
			return out
		}
		for i, want := range []string{"allowed", "allowed", "allowed", "allowed, warned", "allowed, warned", "refused, warned", "refused, warned"} {
			if got := allow("a"); got != want {
				t.Errorf("request %d: %s, want %s", i+1, got, want)
			}
		}
		if got := allow("b"); got != "allowed" {
			t.Errorf("another key: %s", got)
		}
		for range 50 {
			if got := allow("free") + " " + allow("large"); got != "allowed allowed" {
				t.Fatalf("keys with rates of their own: %s", got)
			}
		}
		if !l.Enabled || rejected.Load() != 2 {
			t.Errorf("%d are counted", rejected.Load())
		}
	})
	for rates, want := range map[Rates]bool{{}: false, {LogOnly: true}: false, {IP: Rate{1, 1}}: true, {RemoteConfig: Rate{1, 1}, LogOnly: true}: true} {
		if got := NewLimiters(rates, nil, new(atomic.Uint64), nil).Enabled; got != want {
			t.Errorf("%+v: enabled %v", rates, got)
		}
	}
}

// With LogOnly a request over the limit is allowed, counted and logged, without secrets.
func TestLimiter_LogOnly(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	rejected := new(atomic.Uint64)
	one := Rate{PerSecond: 0.001, Burst: 1}
	l := NewLimiters(Rates{Token: one, RemoteConfig: one, LogOnly: true}, nil, rejected, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		if !l.Token.Allow(httptest.NewRecorder(), "phc_public") || !l.RemoteConfig.Allow(httptest.NewRecorder(), "phs_secret") {
			t.Error("a request is refused")
		}
	}
	text := log.String()
	if rejected.Load() != 2 || strings.Count(text, "\n") != 2 || !strings.Contains(text, "limit=token key=phc_public") || !strings.Contains(text, "limit=remote_config key=(hidden)") || strings.Contains(text, "phs_secret") {
		t.Errorf("%d are counted: %s", rejected.Load(), text)
	}
}
