package remote_test

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// site is the good server and everything that can replace it.
type site struct {
	good    string // addresses
	payload []byte // the payload of the good server
	faults  []fault
}

// fault is one kind of failure: of the server at an address, or on this machine.
type fault struct {
	name    string
	address string // if empty, the server is good
	clock   time.Duration
	disk    bool // the copy is damaged
}

func newSite(t *testing.T) *site {
	var p project
	p.set(t, definitions("one", "two", "three"))
	handler := p.handler(t)
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/flags/definitions?token="+projectKey, nil)
	req.Header.Set("Authorization", "Bearer "+secretKey)
	handler.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
	s := &site{payload: rec.Body.Bytes(), good: serve(t, handler)}
	status := func(code int, header ...string) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, `{"type": "x", "code": "x", "detail": "for a test"}`, code)
		}))
	}
	s.faults = []fault{
		{name: "refusing", address: nowhere(t)},
		{name: "black-holed", address: blackHole(t)},
		{name: "401", address: status(401)},
		{name: "402", address: status(402)},
		{name: "429", address: status(429, "Retry-After", "1")},
		{name: "500", address: status(500)},
		{name: "truncated", address: serve(t, s.truncated())},
		{name: "corrupt", address: serve(t, s.corrupt())},
		{name: "clock set back", clock: -1000 * time.Hour},
		{name: "disk copy damaged", disk: true},
	}
	return s
}

// truncated sends a longer part of the promised body each time, but never all of it.
func (site *site) truncated() http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1)) % len(site.payload)
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: definitions\nid: new\ndata: %s", site.payload[:i])
			return
		}
		w.Header().Set("ETag", `W/"new"`)
		if i%2 == 0 { // cut in transit; otherwise cut by the sender
			w.Header().Set("Content-Length", strconv.Itoa(len(site.payload)))
		}
		_, _ = w.Write(site.payload[:i])
	})
}

// corrupt sends different documents that are not definitions.
func (site *site) corrupt() http.Handler {
	texts := [][]byte{
		[]byte(`{}`), []byte(`{"flags": null}`), []byte(`{"flags": {}}`), []byte(`[]`), []byte(`null`), {}, []byte("<html>Sign in</html>"),
		[]byte(`{"flags": null, "cohorts": {}, "padding": "` + strings.Repeat("x", 2<<10) + `"}`),
		bytes.Replace(site.payload, []byte(`"key"`), []byte("\"k\x00y\""), 1), append(bytes.Clone(site.payload), site.payload...),
	}
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(n.Add(1))
		text := texts[i%len(texts)]
		if strings.HasSuffix(r.URL.Path, "/stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: definitions\nid: new\ndata: %s\n\n", text)
			return
		}
		w.Header().Set("ETag", `W/"new"`)
		if i%10 == 0 {
			w.Header().Set("Content-Encoding", "gzip")
		}
		_, _ = w.Write(text)
	})
}

const allFlags = "one two three"

// checkAnswered checks that every flag is on for a subject.
func checkAnswered(t *testing.T, s *remote.Source) {
	t.Helper()
	if got := keys(s); len(got) != len(allFlags) {
		t.Fatalf("flags %q, want %q; status %+v", got, allFlags, s.Status())
	}
}

// damage flips a bit of the n-th byte of a file.
func damage(t *testing.T, path string, n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[n%len(text)] ^= 1 << (n % 8)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

var long = flag.Bool("long", false, "go through each pair of faults five times, in a thousand starts")

// For every ordered pair of faults, in two hundred starts, every flag is evaluated with the last
// good definitions: of the copy or, if that is damaged, of the bundle.
func TestSource_Faults_EveryOrderOfTwo(t *testing.T) {
	rounds := 1
	if *long {
		rounds = 5
	}
	site := newSite(t)
	var starts atomic.Int64
	t.Run("pairs", func(t *testing.T) {
		for i, first := range site.faults {
			for j, second := range site.faults {
				t.Run(first.name+", "+second.name, func(t *testing.T) {
					t.Parallel()
					for round := range rounds {
						starts.Add(site.checkSurvives(t, first, second, (i*10+j)*rounds+round))
					}
				})
			}
		}
	})
	if got := starts.Load(); got != int64(200*rounds) {
		t.Errorf("%d starts, want %d", got, 200*rounds)
	}
}

// checkSurvives applies two faults with one Source, and starts another under the second. It does
// not count the first Source, which creates the copy.
func (site *site) checkSurvives(t *testing.T, first, second fault, n int) (starts int64) {
	net := &network{}
	var back atomic.Int64
	c := config(t, net)
	c.Now = func() time.Time { return time.Now().Add(time.Duration(back.Load())) }
	c.Bundle = site.payload
	c.NoStream = n%2 == 1
	net.redirect(site.good)
	s := open(t, c)
	waitUntil(t, "the first definitions", func() bool { return s.Status().From == remote.FromBundle && s.Status().Version != "" })
	checkStopped(t, s)
	path := s.CopyPath()

	// From here on, requests without a response time out soon.
	c = remote.Faster(c, 1000, 20*time.Millisecond, 10*time.Millisecond)
	c.Timeout = 20 * time.Millisecond
	begin := func(f fault) {
		back.Add(int64(f.clock))
		if f.disk {
			damage(t, path, n)
		}
		if f.address == "" {
			net.redirect(site.good)
		} else {
			net.redirect(f.address)
		}
	}
	tried := func(s *remote.Source, f fault) {
		failures, dials := s.Status().Failures, net.dials.Load()
		waitUntil(t, "an attempt under the fault "+f.name, func() bool {
			checkAnswered(t, s)
			return s.Status().Failures > failures || f.address == "" && net.dials.Load() > dials
		})
	}
	origin := func(s *remote.Source, damaged bool) {
		want := remote.FromCopy
		if damaged {
			want = remote.FromBundle
		}
		if got := s.Status(); got.From != want || !got.Ready {
			t.Errorf("started from %q, want %q", got.From, want)
		}
	}
	begin(first)
	s = open(t, c)
	origin(s, first.disk)
	checkAnswered(t, s)
	tried(s, first)
	begin(second)
	tried(s, second)
	checkStopped(t, s)
	checkAnswered(t, s) // the definitions remain

	_, err := lastgood.Load(path) // a good server has replaced the damaged copy
	s = open(t, c)
	origin(s, err != nil)
	checkAnswered(t, s)
	tried(s, second)
	checkStopped(t, s)
	return 2
}

// A copy with one changed byte is never accepted, whichever byte it is.
func TestSource_Faults_EveryByteOfACopy(t *testing.T) {
	var p project
	p.set(t, definitions("one"))
	net := &network{}
	net.redirect(serve(t, p.handler(t)))
	c := config(t, net)
	s := open(t, c)
	waitUntil(t, "definitions", func() bool { return s.Set() != nil })
	checkStopped(t, s)
	net.redirect(nowhere(t))
	good, err := os.ReadFile(s.CopyPath())
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= byte(1 + i%255)
		if err := os.WriteFile(s.CopyPath(), bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, c)
		if st := s.Status(); st.Ready || st.LastError == nil {
			t.Fatalf("byte %d: %+v", i, st)
		}
		checkStopped(t, s)
	}
	for i := range good { // truncated
		if err := os.WriteFile(s.CopyPath(), good[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, c)
		if st := s.Status(); st.Ready {
			t.Fatalf("%d bytes: %+v", i, st)
		}
		checkStopped(t, s)
	}
	if err := os.WriteFile(s.CopyPath(), good, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := open(t, c); keys(again) != "one" {
		t.Error("the whole copy is not taken")
	}
}
