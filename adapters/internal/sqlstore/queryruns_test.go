package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/capture/queries"
)

func TestQueryRuns_Contract(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) { storetest.QueryRuns(t, open(t)) })
	}
}

// gatedStore is a store that delays reading events until the test opens its gate.
type gatedStore struct {
	*Store
	open chan struct{}
}

func (g *gatedStore) Open(ctx context.Context, project int64) (port.Reader, error) {
	select {
	case <-g.open:
		return g.Store.Open(ctx, project)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// twoServers are two servers on one database. later is the difference of the second
// server's clock.
type twoServers struct {
	*testing.T
	gate        *gatedStore
	first       *queries.Service
	second      *queries.Service
	mu          sync.Mutex
	secondAhead time.Duration
}

func startTwoServers(t *testing.T) *twoServers {
	t.Helper()
	address := postgresURL(t)
	d := &twoServers{T: t, gate: &gatedStore{openStore(t, address), make(chan struct{})}}
	start := func(source port.Source, s *Store, now func() time.Time, name string) *queries.Service {
		server, err := queries.New(queries.Config{Source: source, States: s, RunStore: s, Now: now, NewID: func() string { return name }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Close)
		return server
	}
	d.first = start(d.gate, d.gate.Store, time.Now, "first")
	other := openStore(t, address)
	d.second = start(other, other, func() time.Time {
		d.mu.Lock()
		defer d.mu.Unlock()
		return time.Now().Add(d.secondAhead)
	}, "second")
	return d
}

func (d *twoServers) request(server *queries.Service, id string, m queries.Mode) (*queries.Answer, error) {
	return server.Execute(d.Context(), queries.Request{Project: &port.Project{ID: 1}, Mode: m, ID: id,
		Query: json.RawMessage(`{"kind":"HogQLQuery","query":"SELECT count() FROM events"}`)})
}

// background begins a run through the first server.
func (d *twoServers) background(id string) {
	d.Helper()
	if a, err := d.request(d.first, id, queries.ForceAsync); err != nil || a.Status == nil || a.Status.Complete {
		d.Fatalf("%+v, %v", a, err)
	}
}

// waitUntil polls a run through a server until it has the expected state.
func (d *twoServers) waitUntil(server *queries.Service, id string, isReached func(*queries.Status) bool) *queries.Status {
	d.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := server.Status(d.Context(), 1, id, true)
		if err != nil {
			d.Fatal(err)
		}
		if isReached(s) {
			return s
		}
		if time.Now().After(end) {
			d.Fatalf("after 10 seconds: %+v", s)
		}
	}
}

func isComplete(s *queries.Status) bool { return s.Complete }

func kindOf(err error) queries.Kind {
	var e *queries.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 255
}

// insights.md §1.5: with several servers, each of them returns a run and its result.
func TestInsights_1_5_AnyServerTells(t *testing.T) {
	d := startTwoServers(t)
	d.background("mine")
	if s := d.waitUntil(d.second, "mine", func(s *queries.Status) bool { return s.Pickup != nil }); s.Complete || s.Failed || s.Results != nil || s.Progress == nil {
		t.Errorf("while it runs: %+v", s)
	}
	if _, err := d.request(d.second, "mine", queries.ForceAsync); kindOf(err) != queries.Conflict {
		t.Errorf("the same name through the other server: %v", err)
	}
	if _, err := d.second.Status(t.Context(), 2, "mine", false); kindOf(err) != queries.NotFound {
		t.Errorf("another project's: %v", err)
	}
	close(d.gate.open)
	s := d.waitUntil(d.second, "mine", isComplete)
	if got, _ := json.Marshal(s.Results["results"]); s.Failed || string(got) != `[[0]]` || s.End == nil || s.Expiration == nil {
		t.Errorf("when it is done: %s, %+v", got, s)
	}
	if got, err := d.second.Cancel(t.Context(), 1, "mine"); got != "Query already completed" || err != nil {
		t.Error(got, err)
	}
	if _, err := d.request(d.second, "mine", queries.ForceBlocking); err != nil { // a finished name may be reused
		t.Error(err)
	}
	if s := d.waitUntil(d.first, "mine", isComplete); s.Failed {
		t.Errorf("the second run of that name, through the first server: %+v", s)
	}
}

// §1.5: every server can cancel a run, including a blocking one with a name.
func TestInsights_1_5_AnyServerCancels(t *testing.T) {
	d := startTwoServers(t)
	d.background("behind")
	waiting := make(chan error)
	go func() {
		_, err := d.request(d.first, "waited for", queries.ForceBlocking)
		waiting <- err
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := d.second.Status(t.Context(), 1, "waited for", false); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"behind", "waited for"} {
		if got, err := d.second.Cancel(t.Context(), 1, id); got != "Query cancelled" || err != nil {
			t.Error(got, err)
		}
		if s := d.waitUntil(d.second, id, isComplete); !s.Failed || !s.ClientError || *s.ErrorMessage != "Query was cancelled" {
			t.Errorf("%+v", s)
		}
	}
	select {
	case err := <-waiting:
		if kindOf(err) != queries.Cancelled {
			t.Errorf("who waited: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run that was cancelled elsewhere goes on")
	}
	if s := d.waitUntil(d.first, "behind", isComplete); !s.Failed || *s.ErrorMessage != "Query was cancelled" {
		t.Errorf("through the server that ran it: %+v", s)
	}
	if got, err := d.second.Cancel(t.Context(), 1, "unknown"); got != "Query not found" || err != nil {
		t.Error(got, err)
	}
}

// A run whose server is gone is reported as failed, and its name may be reused; 20
// minutes later it is deleted.
func TestInsights_1_5_ServerDies(t *testing.T) {
	d := startTwoServers(t)
	stale := &queries.StoredRun{Project: 1, ID: "lost", Server: "gone", Seen: time.Now(), Status: json.RawMessage(`{"id":"lost","team_id":1}`)}
	if _, err := d.gate.BeginRun(t.Context(), stale, time.Time{}, queries.RunBounds{Count: 10}); err != nil {
		t.Fatal(err)
	}
	setAhead := func(offset time.Duration) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.secondAhead = offset
	}
	if s := d.waitUntil(d.second, "lost", func(*queries.Status) bool { return true }); s.Complete {
		t.Errorf("at once: %+v", s)
	}
	setAhead(2 * time.Minute)
	if s := d.waitUntil(d.second, "lost", isComplete); !s.Failed || s.ClientError || s.ErrorMessage == nil {
		t.Errorf("after two minutes: %+v", s)
	}
	setAhead(25 * time.Minute)
	if _, err := d.second.Status(t.Context(), 1, "lost", false); kindOf(err) != queries.NotFound {
		t.Errorf("after 25 minutes: %v", err)
	}
	setAhead(2 * time.Minute)
	if _, err := d.request(d.second, "lost", queries.ForceBlocking); err != nil {
		t.Errorf("its name anew: %v", err)
	}
}

// A server that is closed ends its runs, which the other server sees.
func TestInsights_1_5_ServerStops(t *testing.T) {
	d := startTwoServers(t)
	d.background("mine")
	d.first.Close()
	if s := d.waitUntil(d.second, "mine", isComplete); !s.Failed || s.ClientError {
		t.Errorf("%+v", s)
	}
}
