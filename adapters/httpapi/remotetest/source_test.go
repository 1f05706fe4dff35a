package remotetest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// definitions returns definitions with a flag of each name, on for all subjects.
func definitions(names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{}]}}`, i+1, name)
	}
	return `{"flags": [` + strings.Join(list, ", ") + `]}`
}

// changingSource is one project of the server; its definitions can be changed.
type changingSource struct {
	mu       sync.Mutex
	revision int64
	defs     flags.Definitions
}

func (p *changingSource) set(t testing.TB, text string) {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision++
	p.defs = d
}

func (p *changingSource) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if key != "phc_x" {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return flags.Project{ID: 1, APIKey: key, Revision: p.revision}, nil
}

func (p *changingSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.defs, nil
}

// serve starts the server. Its clock runs fast, so that the next request sees a change of
// definitions. It calls record with each request.
func (p *changingSource) serve(t testing.TB, record func(*http.Request)) string {
	t.Helper()
	var seconds atomic.Int64
	now := func() time.Time { return time.Unix(1_800_000_000+2*seconds.Add(1), 0) }
	d, err := serving.NewDecider(serving.Config{Source: p, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Decider: d, Keys: testServerKeys{}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record(r)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		h.CloseStreams()
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// until waits for a condition, at most a minute.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// keys returns the flags of a Client, "" without definitions.
func keys(s *remote.Client) string {
	var keys []string
	set := s.Set()
	for key := range set.All() {
		if set.Status(key) == flags.Answered {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// Polling sends the ETag of the current definitions, and the next poll receives a change; unchanged
// definitions are not loaded again (§1.8, §11).
func TestSource_1_8_PollsWithETags(t *testing.T) {
	var p changingSource
	p.set(t, definitions("one"))
	var mu sync.Mutex
	requests := map[string]int{}
	url := p.serve(t, func(r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		requests[r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+r.Header.Get("If-None-Match")]++
	})
	s := started(t, remote.Config{URL: url, ProjectKey: "phc_x", Key: "phs_x", NoCopy: true, NoStream: true, Poll: 20 * time.Millisecond})
	if err := s.WaitForReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := s.Status()
	if keys(s) != "one" || st.From != remote.FromPoll || st.Version == "" || st.Revision != 1 || st.FetchedAt.IsZero() {
		t.Fatalf("flags %q, status %+v", keys(s), st)
	}
	request := "GET /flags/definitions?token=phc_x&send_cohorts&static_cohorts=members Bearer phs_x "
	until(t, "polls", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return requests[request+`W/"`+st.Version+`"`] > 3
	})
	if again := s.Status(); again.Revision != 1 || again.LastError != nil || !again.StaleSince.IsZero() || again.Streaming {
		t.Errorf("status %+v", again)
	}
	p.set(t, definitions("one", "two"))
	until(t, "the change", func() bool { return keys(s) == "one two" })
	if s.Status().Revision != 2 || requests[request] != 1 {
		t.Errorf("status %+v, requests %v", s.Status(), requests)
	}
}

// Changes are received by the server's stream, on one connection, and are written to the copy.
func TestSource_Decision5_Streams(t *testing.T) {
	var p changingSource
	p.set(t, definitions("one"))
	var requests atomic.Int64
	url := p.serve(t, func(*http.Request) { requests.Add(1) })
	c := remote.Config{URL: url, ProjectKey: "phc_x", Key: "phs_x", Dir: t.TempDir()}
	s := started(t, c)
	until(t, "a stream", func() bool { return s.Status().Streaming })
	if st := s.Status(); keys(s) != "one" || st.From != remote.FromPoll || st.Revision != 1 || !st.StaleSince.IsZero() {
		t.Errorf("flags %q, status %+v", keys(s), st)
	}
	before := requests.Load()
	p.set(t, definitions("one", "two"))
	until(t, "the change", func() bool { return keys(s) == "one two" })
	st := s.Status()
	if st.From != remote.FromStream || requests.Load() != before {
		t.Errorf("status %+v, %d more requests", st, requests.Load()-before)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	again := started(t, c)
	if got := again.Status(); got.Version != st.Version || got.From != remote.FromCopy {
		t.Errorf("what came by the stream is not in the copy: %q, %+v", keys(again), got)
	}
}

// Errors contain the server's message, and the setting to check.
func TestSource_ReportsErrors(t *testing.T) {
	var p changingSource
	p.set(t, definitions("one"))
	s := started(t, remote.Config{URL: p.serve(t, func(*http.Request) {}), ProjectKey: "phc_x", Key: "wrong", NoCopy: true})
	until(t, "the failure", func() bool { return s.Status().LastError != nil })
	if got := s.Status().LastError.Error(); !strings.Contains(got, "401 Unauthorized: ") || !strings.Contains(got, "Config.Key") {
		t.Error(got)
	}
}
