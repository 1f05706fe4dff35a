//go:build linux

package faulttest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	outage = flag.Duration("outage", 4*time.Second, "how long PostgreSQL is stopped under a load of flags")
	rounds = flag.Int("rounds", 4, "how often TestServers_OneIsKilled ends one of two servers")
)

// personalKey is a key of the definitions that has all scopes.
const personalKey = "phx_demo"

// While PostgreSQL is down under a load of flags, no request for flags that need no stored data
// fails, also at a server that starts meanwhile from its copies on disk. Events get 503 until
// PostgreSQL is up, without a restart (decision 29).
func TestServers_PostgresStops(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url(), "--rate-limit", "off"}
	folder := onSQLite(t.TempDir())
	first := start(t, append(folder, args...)...)
	waitForCopies(t, folder[1])
	if code := first.stop(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s := start(t, args...)
	load := askFlags(s.url, 4)
	eventually(t, "flags are answered", func() bool { return load.ok.Load() > 20 })
	db.stop(t)
	began := time.Now()

	restarted, _ := launchBare(t, nil, append([]string{"--definitions", definitions}, args...)...)
	if code := restarted.exitCode(t); code != 1 || !strings.Contains(restarted.log.String(), "look whether PostgreSQL runs") {
		t.Errorf("a server without copies: exit code %d, %s", code, restarted.log)
	}
	cold := start(t, append(folder, args...)...)
	coldLoad := askFlags(cold.url, 2)
	flagsWithoutDatabase(t, cold)
	for _, tt := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/_liveness", "", 200, ""},
		{"GET", "/_readiness", "", 200, "degraded"},
		{"POST", "/flags?v=2", `{"api_key":"phc_nobody","distinct_id":"u"}`, 503, "service_unavailable"},
		{"GET", "/flags/definitions?token=phc_demo", "", 503, "service_unavailable"},
		{"POST", "/batch/", `{"api_key":"phc_demo","batch":[]}`, 503, "service_unavailable"},
		{"GET", "/api/projects/", "", 503, "service_unavailable"},
		{"GET", "/metrics", "", 200, "bunting_flags_requests_total"},
		{"HEAD", "/flags", "", 200, ""},
		{"OPTIONS", "/flags", "", 204, ""},
		{"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u"}}`, 503, "temporarily unavailable"},
	} {
		status, body, retry := cold.request(t, tt.method, tt.path, tt.body)
		if status != tt.status || !strings.Contains(body, tt.contains) || status == 503 && (retry == "" || !json.Valid([]byte(body))) {
			t.Errorf("%s %s without the database: %d, Retry-After %q, %s", tt.method, tt.path, status, retry, body)
		}
	}
	if status, body, _ := s.request(t, "GET", "/_readiness", ""); status != 200 || !strings.Contains(body, "degraded") {
		t.Errorf("/_readiness of a server that has lost its database: %d %s", status, body)
	}
	time.Sleep(*outage - time.Since(began))
	db.start(t)
	for _, x := range []*server{s, cold} {
		eventually(t, "events are taken and it is ready", func() bool {
			status, _, _ := x.request(t, "POST", "/batch/", `{"api_key":"phc_demo","batch":[{"event":"a","distinct_id":"u"}]}`)
			ready, body, _ := x.request(t, "GET", "/_readiness", "")
			return status == 200 && ready == 200 && body == "ready\n"
		})
		eventually(t, "flags that need what is stored are answered", func() bool {
			status, body := x.flags(t, "u")
			return status == 200 && !strings.Contains(body, `"errorsWhileComputingFlags":true`)
		})
		x.must(t, "GET", "/api/projects/1/feature_flags/", personalKey, nil, nil)
	}
	load.end(t, true)
	coldLoad.end(t, true)
	if code := cold.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func (s *server) request(t testing.TB, method, path, body string) (status int, text, retryAfter string) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+personalKey)
	r.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(r)
	if err == nil {
		retryAfter = response.Header.Get("Retry-After")
	}
	status, text = read(t)(response, err)
	return status, text, retryAfter
}

// Two servers on one PostgreSQL handle events, flags and changes of flags, while each in turn is
// killed and restarted. Accepted events are stored exactly once, persons equal the result of a
// replay, every change is visible through both servers, and the running server fails no request.
func TestServers_OneIsKilled(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url(), "--rate-limit", "off"}
	servers := [2]*server{start(t, args...), start(t, args...)}
	changes := newChanges(t, servers[0])
	loads := [2]*load{newLoad(2), newLoad(2)}
	for n := range *rounds {
		living, dying := servers[n%2], servers[(n+1)%2]
		queries := askFlags(living.url, 2)
		dyingQueries := askFlags(dying.url, 2)
		stop := [2]func(){loads[0].run(living.url), loads[1].run(dying.url)}
		for range 3 {
			changes.apply(t, living, living, dying)
			changes.apply(t, dying, living, dying)
		}
		busy, broken := loads[0].busy.Load(), loads[0].broken.Load()
		dying.kill()
		stop[1]()
		dyingQueries.end(t, false)
		stop[1] = loads[1].run(living.url) // clients switch to the other server, and resend
		for range 3 {
			changes.apply(t, living, living)
		}
		dying = start(t, args...)
		servers[(n+1)%2] = dying
		changes.apply(t, dying, living, dying)
		stop[0]()
		stop[1]()
		queries.end(t, true)
		if b, k := loads[0].busy.Load()-busy, loads[0].broken.Load()-broken; b+k > 0 {
			t.Errorf("the living server has answered %d batches 503 and %d not at all", b, k)
		}
	}
	for i, l := range loads {
		l.settle(t, servers[i].url)
		l.check(t)
	}
	for _, s := range servers {
		if code := s.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	loads[0].book.batches = append(loads[0].book.batches, loads[1].book.all()...)
	full := newAudit(loads[0].book)
	full.check(t, db.open(t), people)
	full.checkNoExtraEvents(t)
	t.Logf("%d events of %d persons; %d changes of a flag, each seen after %s at most", len(full.stored), len(full.model.persons()), changes.made, changes.slowest)
}

// changes turns one flag on and off.
type changes struct {
	id      int64
	on      bool
	made    int
	slowest time.Duration // only logged
}

func newChanges(t *testing.T, s *server) *changes {
	t.Helper()
	var created struct{ ID int64 }
	s.must(t, "POST", "/api/projects/1/feature_flags/", personalKey, object{
		"key": "turned", "name": "", "active": false, "filters": object{"groups": []object{{"properties": []object{}, "rollout_percentage": 100}}},
	}, &created)
	return &changes{id: created.ID}
}

// apply changes the flag through one server, and waits until all readers return the new value. The
// tests of the store prove the limit of that delay, with a fake clock.
func (c *changes) apply(t *testing.T, writer *server, readers ...*server) {
	t.Helper()
	c.on = !c.on
	writer.must(t, "PATCH", fmt.Sprintf("/api/projects/1/feature_flags/%d/", c.id), personalKey, object{"active": c.on}, nil)
	changed := time.Now()
	c.made++
	for _, s := range readers {
		eventually(t, fmt.Sprintf("%s tells of a change through %s", s.url, writer.url), func() bool {
			status, body, _ := s.request(t, "POST", "/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u","flag_keys_to_evaluate":["turned"]}`)
			if status != 200 {
				t.Fatalf("/flags answers %d: %s", status, body)
			}
			var answer struct {
				Flags map[string]struct{ Enabled bool }
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatal(err)
			}
			return answer.Flags["turned"].Enabled == c.on
		})
		c.slowest = max(c.slowest, time.Since(changed))
	}
}

// Servers are replaced one after the other behind a balancer that follows /_readiness: with --drain
// no request is refused.
func TestServers_RollingUpgrade(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url(), "--rate-limit", "off", "--drain", "3s"}
	b := newBalancer(t)
	servers := []*server{start(t, args...), start(t, args...)}
	for _, s := range servers {
		b.add(t, s)
	}
	front := b.serve(t)
	queries := askFlags(front, 3)
	l := newLoad(3)
	l.pause = 50 * time.Millisecond
	stop := l.run(front)
	for i := range servers {
		next := start(t, args...)
		b.add(t, next)
		before := queries.ok.Load()
		if code := servers[i].stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if queries.ok.Load() == before {
			t.Error("nothing was answered meanwhile: that is no load")
		}
		servers[i] = next
	}
	stop()
	queries.end(t, true)
	l.check(t)
	if busy, broken := l.busy.Load(), l.broken.Load(); busy+broken > 0 {
		t.Errorf("%d batches were answered 503, %d not at all", busy, broken)
	}
	if n := b.failed.Load(); n > 0 {
		t.Errorf("%d requests could not be passed on", n)
	}
	newAudit(l.book).check(t, db.open(t), people)
}

// balancer forwards requests to the ready servers in turn.
type balancer struct {
	mu     sync.Mutex
	ready  []*url.URL
	turn   int
	failed atomic.Int64
	ending chan struct{}
	polls  sync.WaitGroup
}

func newBalancer(t *testing.T) *balancer {
	b := &balancer{ending: make(chan struct{})}
	t.Cleanup(func() {
		close(b.ending)
		b.polls.Wait()
	})
	return b
}

// add polls a server until it has ended, and waits until it is ready.
func (b *balancer) add(t *testing.T, s *server) {
	t.Helper()
	to, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	added := make(chan struct{})
	tell := sync.OnceFunc(func() { close(added) })
	b.polls.Go(func() {
		client := &http.Client{Timeout: patience}
		defer client.CloseIdleConnections()
		for {
			r, err := client.Get(s.url + "/_readiness")
			ready := err == nil && r.StatusCode == http.StatusOK
			if err == nil {
				_ = r.Body.Close()
			}
			b.set(to, ready)
			if ready {
				tell()
			}
			select {
			case <-b.ending:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	})
	select {
	case <-added:
	case <-time.After(patience):
		t.Fatal("the server does not become ready")
	}
}

func (b *balancer) set(to *url.URL, ready bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	remaining := make([]*url.URL, 0, len(b.ready)+1)
	for _, u := range b.ready {
		if u != to {
			remaining = append(remaining, u)
		}
	}
	if ready {
		remaining = append(remaining, to)
	}
	b.ready = remaining
}

func (b *balancer) next() *url.URL {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn++
	return b.ready[b.turn%len(b.ready)]
}

// serve listens and returns the address.
func (b *balancer) serve(t *testing.T) string {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(b.next()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			b.failed.Add(1)
			t.Logf("not passed on: %v", err)
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	port := freePort(t)
	srv := &http.Server{Addr: fmt.Sprintf("127.0.0.1:%d", port), Handler: proxy}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.ListenAndServe()
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
		transport.CloseIdleConnections()
	})
	address := "http://" + srv.Addr
	eventually(t, "the balancer listens", func() bool {
		r, err := http.Get(address + "/_readiness")
		if err == nil {
			_ = r.Body.Close()
		}
		return err == nil
	})
	return address
}
