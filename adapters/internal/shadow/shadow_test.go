package shadow_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/shadow"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server serves flags, passed as records, for the project key phc_x.
func server(t *testing.T, records string) http.Handler {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(`{"flags": [` + records + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func flag(id int, key, more string) string {
	return fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]%s}}`, id, key, more)
}

const off = `{"id": 9, "key": "moved", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}}`

// pair is a shadow with both of its sides.
type pair struct {
	*shadow.Handler
	front    *httptest.Server
	upstream *atomic.Pointer[http.Handler]
}

func start(t *testing.T, self, upstream http.Handler, c shadow.Config) *pair {
	t.Helper()
	p := &pair{upstream: &atomic.Pointer[http.Handler]{}}
	p.upstream.Store(&upstream)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.upstream.Load()).ServeHTTP(w, r) }))
	t.Cleanup(behind.Close)
	var err error
	if c.Upstream, err = url.Parse(behind.URL); err != nil {
		t.Fatal(err)
	}
	c.Next = self
	if p.Handler, err = shadow.New(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.front = httptest.NewServer(p)
	t.Cleanup(p.front.Close)
	return p
}

// ask sends a flag request and returns status and body.
func (p *pair) ask(t *testing.T, path, body string) (int, string) {
	t.Helper()
	client := p.front.Client()
	response, err := client.Post(p.front.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// waitSettled waits until every request is compared or skipped.
func (p *pair) waitSettled(t *testing.T) shadow.Report {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r := p.Report()
		done := r.Compared
		for _, n := range r.Skipped {
			done += n
		}
		if done == r.Requests {
			return r
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d requests were never compared", r.Requests-done, r.Requests)
		}
	}
}

func causes(r shadow.Report) map[string]map[string]int64 {
	out := map[string]map[string]int64{}
	for _, f := range r.Flags {
		out[f.Key] = f.Causes
	}
	return out
}

// TestShadow_CountsByFlagAndCause proves each cause, for both values of Config.Answer. The expected
// differences follow from the two sets of flags.
func TestShadow_CountsByFlagAndCause(t *testing.T) {
	variants := func(key string) string {
		return `, "multivariate": {"variants": [{"key": "` + key + `", "rollout_percentage": 100}]}`
	}
	self := strings.Join([]string{
		flag(1, "same", ""), flag(2, "payload", `, "payloads": {"true": "{\"a\": 1}"}`), flag(3, "spaces", `, "payloads": {"true": "{\"a\":1}"}`),
		flag(4, "variant", variants("red")), flag(5, "here", ""), flag(9, "moved", ""),
	}, ",")
	upstream := strings.Join([]string{
		flag(1, "same", ""), flag(2, "payload", `, "payloads": {"true": "{\"a\": 2}"}`), flag(3, "spaces", `, "payloads": {"true": "{ \"a\" : 1 }"}`),
		flag(4, "variant", variants("blue")), flag(6, "there", ""), off,
	}, ",")
	want := map[string]map[string]int64{
		"payload": {"payload": 3}, "variant": {"value": 3}, "here": {"only_self": 3}, "there": {"only_upstream": 3}, "moved": {"value": 3},
	}
	for _, side := range []shadow.Side{shadow.Self, shadow.Upstream} {
		t.Run(string(side), func(t *testing.T) {
			p := start(t, server(t, self), server(t, upstream), shadow.Config{Answer: side})
			for i := range 3 {
				status, body := p.ask(t, "/flags?v=2", fmt.Sprintf(`{"api_key": "phc_x", "distinct_id": "u%d"}`, i))
				if isSelf := strings.Contains(body, `"here"`); status != 200 || isSelf != (side == shadow.Self) {
					t.Fatalf("status %d, answered by this server: %v: %s", status, isSelf, body)
				}
			}
			r := p.waitSettled(t)
			if diff := cmp.Diff(want, causes(r)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if r.Requests != 3 || r.Compared != 3 || r.Differing != 3 || r.Rate != 1 {
				t.Errorf("report %+v", r)
			}
			for _, f := range r.Flags {
				if f.Key == "moved" {
					p := f.Pairs[0]
					if p.Self != "true (condition_match, condition 0)" || p.Upstream != "false (out_of_rollout_bound, condition 0)" || len(p.People) != 3 {
						t.Errorf("pair %+v", p)
					}
				}
			}
			var text strings.Builder
			if err := r.Write(&text, 2); err != nil || !strings.Contains(text.String(), "3 requests for flags, 3 compared, 3 of them differ (100.0000 %)") || !strings.Contains(text.String(), "and 3 more") {
				t.Errorf("%v:\n%s", err, text.String())
			}
		})
	}
}

// TestShadow_OlderAnswers proves that the formats of /decide and of /flags without v are compared.
func TestShadow_OlderAnswers(t *testing.T) {
	p := start(t, server(t, flag(1, "same", "")+","+flag(9, "moved", "")), server(t, flag(1, "same", "")+","+off), shadow.Config{})
	for _, path := range []string{"/flags", "/flags/", "/decide?v=1", "/decide?v=2", "/decide?v=3", "/decide?v=4"} {
		if status, body := p.ask(t, path, `{"api_key": "phc_x", "distinct_id": "u"}`); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	r := p.waitSettled(t)
	if len(r.Flags) != 1 || r.Flags[0].Key != "moved" || r.Flags[0].Differing != 6 || r.Differing != 6 {
		t.Errorf("report %+v", r)
	}
}

// TestShadow_UpstreamUnavailable proves that this server responds, and that such requests are not
// compared.
func TestShadow_UpstreamUnavailable(t *testing.T) {
	for _, side := range []shadow.Side{shadow.Self, shadow.Upstream} {
		p := start(t, server(t, flag(1, "here", "")), nil, shadow.Config{Answer: side})
		for _, status := range []int{502, 503, 504} {
			var down http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
			p.upstream.Store(&down)
			got, body := p.ask(t, "/flags?v=2", `{"api_key": "phc_x", "distinct_id": "u"}`)
			if got != 200 || !strings.Contains(body, `"here"`) {
				t.Errorf("%s, upstream %d: %d %s", side, status, got, body)
			}
		}
		if r := p.waitSettled(t); side == shadow.Upstream && (r.Compared != 0 || r.Skipped["upstream_failed"] != 3) {
			t.Errorf("report %+v", r)
		}
	}
}

// TestShadow_OtherStatus proves that an unknown key on one side is a difference of the whole
// response.
func TestShadow_OtherStatus(t *testing.T) {
	p := start(t, server(t, ""), server(t, ""), shadow.Config{})
	var refuses http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) })
	p.upstream.Store(&refuses)
	p.ask(t, "/flags?v=2", `{"api_key": "phc_x", "distinct_id": "u"}`)
	want := map[string]map[string]int64{"(whole answer)": {"status": 1}}
	if diff := cmp.Diff(want, causes(p.waitSettled(t))); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}

// TestShadow_EventsGoToBoth proves that events are sent to both sides if Config.Answer is Upstream,
// and only to this server otherwise.
func TestShadow_EventsGoToBoth(t *testing.T) {
	for _, side := range []shadow.Side{shadow.Self, shadow.Upstream} {
		here, there := make(chan string, 4), make(chan string, 4)
		takes := func(to chan string) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				to <- r.URL.Path + " " + string(body)
				_, _ = io.WriteString(w, `{"status": 1}`)
			})
		}
		p := start(t, takes(here), takes(there), shadow.Config{Answer: side})
		const body = `{"api_key": "phc_x", "batch": []}`
		if status, text := p.ask(t, "/batch/", body); status != 200 || text != `{"status": 1}` {
			t.Errorf("%d %s", status, text)
		}
		if got := <-here; got != "/batch/ "+body {
			t.Errorf("%s: this server got %q", side, got)
		}
		if side == shadow.Upstream {
			if got := <-there; got != "/batch/ "+body {
				t.Errorf("the upstream got %q", got)
			}
		} else if len(there) > 0 {
			t.Error("the upstream was sent events that this server answers")
		}
	}
}

// TestShadow_SlowUpstreamDelaysNoCaller proves that requests are served while the queue is full.
func TestShadow_SlowUpstreamDelaysNoCaller(t *testing.T) {
	p := start(t, server(t, flag(1, "here", "")), nil, shadow.Config{Workers: 1})
	release := make(chan struct{})
	var hangs http.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	p.upstream.Store(&hangs)
	for range 1100 { // more than the queue's limit
		if status, _ := p.ask(t, "/flags?v=2", `{"api_key": "phc_x", "distinct_id": "u"}`); status != 200 {
			t.Fatalf("status %d", status)
		}
	}
	if r := p.Report(); r.Skipped["queue_full"] == 0 || r.Compared != 0 {
		t.Errorf("report %+v", r)
	}
	close(release)
	p.Close() // a second call follows at the end of the test
}

func TestShadow_LongRequestsAreAnswered(t *testing.T) {
	for _, side := range []shadow.Side{shadow.Self, shadow.Upstream} {
		p := start(t, server(t, flag(1, "f", "")), server(t, flag(1, "f", "")), shadow.Config{Answer: side})
		long := `{"api_key": "phc_x", "distinct_id": "u", "person_properties": {"x": "` + strings.Repeat("x", 2<<20) + `"}}`
		if status, body := p.ask(t, "/flags?v=2", long); status != 200 || !strings.Contains(body, `"f"`) {
			t.Errorf("%s: %d %s", side, status, body)
		}
		if r := p.waitSettled(t); r.Skipped["too_long"] != 1 {
			t.Errorf("report %+v", r)
		}
	}
}

func TestShadow_Config(t *testing.T) {
	ok, _ := url.Parse("http://127.0.0.1:1")
	bad, _ := url.Parse("ftp://x")
	noUpstream, _ := url.Parse("localhost")
	h := http.NotFoundHandler()
	for name, c := range map[string]shadow.Config{
		"nothing": {}, "no server": {Upstream: ok}, "scheme": {Next: h, Upstream: bad}, "no host": {Next: h, Upstream: noUpstream},
		"side": {Next: h, Upstream: ok, Answer: "both"}, "sample": {Next: h, Upstream: ok, Sample: 2},
	} {
		if got, err := shadow.New(c); err == nil {
			got.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
