package remote_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

func TestOpen_Refuses(t *testing.T) {
	good := remote.Config{URL: "https://flags.example.com", ProjectKey: projectKey, Key: secretKey, NoCopy: true}
	for want, change := range map[string]func(*remote.Config){
		`Config.URL must be a URL such as https://flags.example.com, not ""`: func(c *remote.Config) { c.URL = "" },
		`not "flags.example.com"`:              func(c *remote.Config) { c.URL = "flags.example.com" },
		"Config.URL cannot be read":            func(c *remote.Config) { c.URL = "http://a b" },
		"has a query, a fragment or a user":    func(c *remote.Config) { c.URL += "?token=x" },
		"Config.ProjectKey is empty":           func(c *remote.Config) { c.ProjectKey = "" },
		"Config.Key is empty":                  func(c *remote.Config) { c.Key = "" },
		"Config.Key has a character":           func(c *remote.Config) { c.Key += "\n" },
		"must not be negative":                 func(c *remote.Config) { c.Poll = -1 },
		"Config.HTTPClient has a Timeout, whi": func(c *remote.Config) { c.HTTPClient = &http.Client{Timeout: 1} },
	} {
		c := good
		change(&c)
		s, err := remote.Open(c)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "remote: ") {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
}

// Polls send the current ETag and find a change with the next poll; unchanged definitions are not
// applied a second time (§1.8, §11).
func TestSource_1_8_PollsWithETags(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	var mu sync.Mutex
	requests := map[string]int{}
	handler := p.handler(t)
	net := &network{}
	net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests[r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("If-None-Match")]++
		mu.Unlock()
		handler.ServeHTTP(w, r)
	})))
	c := config(t, net)
	c.NoStream = true
	s := open(t, c)
	if err := s.WaitForReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	if keys(s) != "one" || st.From != remote.FromPoll || st.Version == "" || st.Revision != 1 || st.FetchedAt.IsZero() {
		t.Fatalf("flags %q, status %+v", keys(s), st)
	}
	request := "GET /flags/definitions?token=phc_remote&send_cohorts&static_cohorts=members Bearer phs_remote "
	waitUntil(t, "polls", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return requests[request+`W/"`+st.Version+`"`] > 3
	})
	if again := s.Status(); again.Revision != 1 || again.LastError != nil || !again.StaleSince.IsZero() || again.Streaming {
		t.Errorf("status %+v", again)
	}
	p.set(t, definitions("one", "two"))
	waitUntil(t, "the change", func() bool { return keys(s) == "one two" })
	if s.Status().Revision != 2 || requests[request] != 1 {
		t.Errorf("status %+v, requests %v", s.Status(), requests)
	}
}

// After a start, flags come from the copy; the status has its age, and polls send its version.
func TestSource_StartsFromTheCopy(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{} // without a target at first
	c := config(t, net)
	c.Bundle = []byte(definitions("old"))
	at := time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC)
	c.Now = func() time.Time { return at }
	s := open(t, c)
	if st := s.Status(); keys(s) != "old" || st.From != remote.FromBundle || !st.StaleSince.Equal(at) || !st.FetchedAt.IsZero() {
		t.Errorf("flags %q, status %+v", keys(s), st)
	}
	net.redirect(serve(t, p.handler(t)))
	waitUntil(t, "news", func() bool { return keys(s) == "one" })
	version := s.Status().Version
	checkStopped(t, s)
	info, err := os.Stat(s.CopyPath())
	if err != nil || info.Mode().Perm() != 0o600 || filepath.Dir(s.CopyPath()) != c.Dir {
		t.Fatal(info, err)
	}

	net.redirect(nowhere(t))
	c.Now = func() time.Time { return at.Add(time.Hour) }
	s = open(t, c)
	if st := s.Status(); keys(s) != "one" || st.From != remote.FromCopy || st.Version != version || !st.FetchedAt.Equal(at) || !st.StaleSince.Equal(at) {
		t.Errorf("flags %q, status %+v", keys(s), st)
	}
	waitUntil(t, "a failure", func() bool { return s.Status().Failures > 0 })
	if st := s.Status(); !st.StaleSince.Equal(at) || !st.LastErrorAt.Equal(at.Add(time.Hour)) || !strings.Contains(st.LastError.Error(), "no answer") {
		t.Errorf("status %+v", st)
	}
	var header atomic.Value
	handler := p.handler(t)
	net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			header.CompareAndSwap(nil, r.Header.Get("If-None-Match")+r.Header.Get("Last-Event-ID"))
		}
		handler.ServeHTTP(w, r)
	})))
	waitUntil(t, "the server's word that this is current", func() bool { return s.Status().StaleSince.IsZero() })
	if got := header.Load(); got != `W/"`+version+`"` && got != version {
		t.Errorf("asked with %q, want %q", got, version)
	}
	if st := s.Status(); st.From != remote.FromCopy || st.LastError != nil || st.Revision != 1 {
		t.Errorf("status %+v", st)
	}
	checkStopped(t, s)

	other := c // another project has another copy
	other.ProjectKey = "phc_other"
	if s := open(t, other); keys(s) != "old" {
		t.Errorf("another project has %q", keys(s))
	}
}

// Without a copy, a bundle and a server there are no definitions, and the errors report that.
func TestSource_NoDefinitions(t *testing.T) {
	net := &network{}
	net.redirect(nowhere(t))
	c := config(t, net)
	c.NoCopy = true
	s := open(t, c)
	waitUntil(t, "an attempt", func() bool { return s.Status().Failures > 0 })
	if st := s.Status(); s.Set() != nil || st.Ready || st.From != "" {
		t.Errorf("status %+v", st)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitForReady(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("WaitForReady: %v", err)
	}
	if _, err := s.ProjectByKey(t.Context(), projectKey); !errors.Is(err, flags.ErrUnavailable) {
		t.Errorf("ProjectByKey: %v", err)
	}
	if _, err := s.Definitions(t.Context(), flags.Project{APIKey: projectKey}); !errors.Is(err, flags.ErrUnavailable) {
		t.Errorf("Definitions: %v", err)
	}
	checkStopped(t, s)
	if err := s.WaitForReady(t.Context()); err == nil {
		t.Error("a closed source is ready")
	}
	checkStopped(t, s)
}

// As a serving.Source below a Decider, it changes the Decider's results.
func TestSource_IsAFlagsSource(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	s := open(t, config(t, net))
	if err := s.WaitForReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ProjectByKey(t.Context(), "phc_x"); !errors.Is(err, flags.ErrUnknownKey) {
		t.Errorf("another key: %v", err)
	}
	first, err := s.ProjectByKey(t.Context(), projectKey)
	if err != nil || first.APIKey != projectKey || first.Revision != 1 {
		t.Fatal(first, err)
	}
	p.set(t, definitions("two"))
	waitUntil(t, "the change", func() bool { return keys(s) == "two" })
	second, err := s.ProjectByKey(t.Context(), projectKey)
	if err != nil || second.Revision != 2 {
		t.Fatal(second, err)
	}
	d, err := s.Definitions(t.Context(), second)
	if err != nil || len(d.Flags) != 1 || d.Flags[0].Key != "two" {
		t.Fatal(d, err)
	}
}

// A function is called for changes until it is stopped; a slow function does not delay other
// functions.
func TestSource_OnChange(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{} // without a target until the functions are registered
	c := config(t, net)
	c.Bundle = []byte(definitions("old"))
	s := open(t, c)
	hold := make(chan struct{})
	changes := make(chan []string, 10)
	stop := s.OnChange(func(keys []string) {
		changes <- keys
		<-hold
	})
	defer close(hold)
	net.redirect(serve(t, p.handler(t)))
	waitUntil(t, "the first", func() bool { return keys(s) == "one" })
	p.set(t, definitions("two"))
	waitUntil(t, "a change while a function runs", func() bool { return keys(s) == "two" })
	p.set(t, definitions("three"))
	waitUntil(t, "another", func() bool { return keys(s) == "three" })
	if got := <-changes; len(got) != 2 || !slices.Contains(got, "old") { // the current definitions when it is called
		t.Errorf("told of %q", got)
	}
	stop()
	hold <- struct{}{}
	select {
	case hold <- struct{}{}: // one more call may have begun
	case <-time.After(20 * time.Millisecond):
	}
	if n := len(changes); n > 1 {
		t.Errorf("told of %d more changes, want at most one", n)
	}
}

// Errors have the server's detail and advice.
func TestSource_ErrorTexts(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	for _, tt := range []struct {
		change func(*remote.Config)
		want   []string
	}{
		{func(c *remote.Config) { c.Key = "phs_wrong" }, []string{"401 Unauthorized: ", "Config.Key"}},
		{func(c *remote.Config) { c.URL += "/nowhere" }, []string{"404", "Config.URL"}},
	} {
		c := config(t, net)
		tt.change(&c)
		s := open(t, c)
		waitUntil(t, "the failure", func() bool { return s.Status().LastError != nil })
		got := s.Status().LastError.Error()
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q, want %q in it", got, want)
			}
		}
		if strings.Contains(got, "phs_") {
			t.Errorf("%q tells the key", got)
		}
	}
}

// There is one attempt at a time, not before Retry-After is over, and at most a second later.
func TestSource_KeepsRetryAfter(t *testing.T) {
	var mu sync.Mutex
	var at []time.Duration
	var now, most atomic.Int64
	net := &network{}
	c, elapsed := remote.WithFakeClock(config(t, net))
	net.redirect(serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		mu.Lock()
		at = append(at, elapsed())
		mu.Unlock()
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})))
	c.NoStream = true
	s := open(t, c)
	waitUntil(t, "four attempts", func() bool { return s.Status().Failures >= 4 })
	checkStopped(t, s)
	mu.Lock() // a canceled request may still be in progress
	defer mu.Unlock()
	for i := range at[1:] {
		if wait := at[i+1] - at[i]; wait < 7*time.Second || wait > 8*time.Second {
			t.Errorf("attempt %d came after %v", i+2, wait)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d attempts at a time", most.Load())
	}
}

// Without a usable folder there is no copy, but all other functions work.
func TestSource_WithoutAFolder(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	c := config(t, net)
	file := filepath.Join(c.Dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Dir = file
	s := open(t, c)
	if err := s.WaitForReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.set(t, definitions("two"))
	waitUntil(t, "the change", func() bool { return keys(s) == "two" })
}

// Close cancels requests in progress.
func TestSource_CloseIsPrompt(t *testing.T) {
	net := &network{}
	net.redirect(blackHole(t))
	c := config(t, net)
	c.Timeout = time.Hour
	s := open(t, c)
	waitUntil(t, "a request", func() bool { return net.dials.Load() > 0 })
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for the request")
	}
	if st := s.Status(); st.Failures != 0 {
		t.Errorf("what Close ended counts as a failure: %v", st.LastError)
	}
}
