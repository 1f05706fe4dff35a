//go:build sdk

package browser_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

func TestMain(m *testing.M) { served.Main(m, "../../../..", func() { stopChromium() }) }

const captureDefinitions = "../testdata/capture.json"

type values = map[string]any

// browserVisit is a page with posthog-js, and its reports.
type browserVisit struct {
	URL string

	t      *testing.T
	server *served.Server

	mu         sync.Mutex
	sent       []served.Sent
	steps      map[string]step
	complaints []string
	hasLeft    bool
}

type step struct {
	Step, ID string
	Flags    values
}

// newBrowserVisit serves walk.html.
func newBrowserVisit(t *testing.T, s *served.Server, script []byte) *browserVisit {
	v := &browserVisit{t: t, server: s, steps: map[string]step{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /array.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "walk.html") })
	mux.HandleFunc("GET /bye", func(http.ResponseWriter, *http.Request) { v.change(func() { v.hasLeft = true }) })
	mux.HandleFunc("GET /kill", func(http.ResponseWriter, *http.Request) { s.Kill() })
	mux.HandleFunc("GET /stored", func(http.ResponseWriter, *http.Request) { v.stored() })
	handleReport(mux, v, "/sent", func(e served.Sent) { v.sent = append(v.sent, e) })
	handleReport(mux, v, "/step", func(s step) { v.steps[s.Step] = s })
	handleReport(mux, v, "/complaint", func(s string) { v.complaints = append(v.complaints, s) })
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	v.URL = web.URL
	return v
}

func handleReport[T any](mux *http.ServeMux, v *browserVisit, path string, take func(T)) {
	mux.HandleFunc("POST "+path, func(_ http.ResponseWriter, r *http.Request) {
		var report T
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			v.t.Errorf("%s: %v", path, err)
		}
		v.change(func() { take(report) })
	})
}

func (v *browserVisit) change(edit func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	edit()
}

// captured returns the events that posthog-js reports as captured, sorted.
func (v *browserVisit) captured() []served.Sent {
	v.mu.Lock()
	defer v.mu.Unlock()
	return served.Sorted(v.sent)
}

// pageErrors returns the errors of the page.
func (v *browserVisit) pageErrors() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.complaints)
}

// stored waits, with a timeout, until all captured events are stored.
func (v *browserVisit) stored() {
	for deadline := time.Now().Add(served.WaitTimeout); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if slices.Equal(v.captured(), v.server.SentEvents()) {
			return
		}
	}
}

// address returns the address of the page, with a campaign.
func (v *browserVisit) address(name, host, options string, more url.Values) string {
	q := url.Values{"utm_source": {"news"}, "visit": {name}, "host": {host}, "key": {served.ProjectKey}, "options": {options}}
	maps.Copy(q, more)
	return v.URL + "/?" + q.Encode()
}

// walkOptions are the client's options of one walk, and their effects.
type walkOptions struct {
	name, options string
	always        bool // every visitor has a person
	plain         bool // bodies are not compressed
	beacon        bool // the last events are sent when the page is closed
	lost          int  // number of responses that are lost
}

// §17.6: a visitor from the first page to the last, first anonymous, then identified, then
// anonymous, with the client's defaults and with options.
func TestBrowser_Walk(t *testing.T) {
	script := fetch(t)
	for _, c := range []walkOptions{
		{name: "as it comes", options: `{}`, beacon: true},
		{name: "without compression", options: `{"disable_compression": true}`, plain: true, beacon: true},
		{name: "persons for all", options: `{"person_profiles": "always"}`, always: true, beacon: true},
		{name: "persons for all, XHR, one by one", options: `{"person_profiles": "always", "api_transport": "XHR", "request_batching": false}`, always: true},
		{name: "an answer lost", options: `{}`, beacon: true, lost: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := served.New(t, captureDefinitions)
			p := served.NewProxy(t, s)
			p.LoseAnswers(c.lost)
			v := newBrowserVisit(t, s, script)
			more := url.Values{}
			if !c.beacon {
				more.Set("patient", "")
			}
			address := v.address("walk", p.URL, c.options, more)
			stop := browse(t, address)
			defer stop()
			served.Eventually(t, "the end of the visit", func() error {
				v.mu.Lock()
				defer v.mu.Unlock()
				if !v.hasLeft || !slices.ContainsFunc(v.sent, func(e served.Sent) bool { return e.Event == "$pageleave" }) {
					return fmt.Errorf("left: %v, steps %v, sent %v, complaints %q", v.hasLeft, v.steps, v.sent, v.complaints)
				}
				return nil
			})
			v.stored()
			time.Sleep(200 * time.Millisecond) // time for possible duplicates
			if diff := cmp.Diff(v.captured(), s.SentEvents()); diff != "" {
				t.Errorf("events (-captured +stored)\n%s", diff)
			}
			if complaints := v.pageErrors(); len(complaints) > 1 || len(complaints) == 1 && !strings.Contains(complaints[0], "--posthog-js") {
				t.Errorf("the page complained: %q", complaints)
			}
			checkTraffic(t, p, &c)
			v.checkFlags(&c)
			v.checkEvents(&c)
			v.checkPeople(address, &c)
			again := 0
			for _, r := range p.Captures()[:c.lost] {
				again += countEvents(t, r.Body)
			}
			if n := s.Metric("bunting_capture_duplicates_total"); n != float64(again) {
				t.Errorf("%v events came twice, want the %d of the requests whose responses were lost", n, again)
			}
		})
	}
}

// surveyScripts are requested by posthog-js but optional (§16.2): they report that the server has
// no copy.
var surveyScripts = regexp.MustCompile(`^/static/(1\.449\.2/)?surveys\.js$`)

// checkTraffic checks the requests of posthog-js: events were sent a second time only if a response
// was lost, no request is for session recordings, and bodies are encoded according to §15.1:
// compressed, or plain and then as a form from the beacon.
func checkTraffic(t *testing.T, p *served.Proxy, c *walkOptions) {
	t.Helper()
	for _, r := range p.Requests() {
		want := http.StatusOK
		if !surveyScripts.MatchString(r.Path) && !slices.Contains([]string{"/array/phc_capture/config.js", "/flags/", "/e/", "/i/v0/e/"}, r.Path) {
			t.Errorf("%s %s was asked for", r.Method, r.Path)
		}
		if r.Status != want || c.lost == 0 && strings.Contains(r.Query, "retry_count") {
			t.Errorf("%s %s?%s: %d, want %d", r.Method, r.Path, r.Query, r.Status, want)
		}
	}
	captures := p.Captures()
	for i, r := range captures {
		want, form := "text/plain", c.plain && i == len(captures)-1
		switch {
		case form:
			want = "application/x-www-form-urlencoded"
		case c.plain:
			want = "application/json"
		}
		if got := r.Header.Get("Content-Type"); got != want {
			t.Errorf("request %d of %d with events has Content-Type %q, want %q", i+1, len(captures), got, want)
		}
		compressed := bytes.HasPrefix(r.Body, []byte{0x1f, 0x8b})
		if compressed == c.plain || r.Header.Get("Content-Encoding") != "" || strings.Contains(r.Query, "compression=base64") != form {
			t.Errorf("request %d of %d with events: gzip %v, Content-Encoding %q, query %q", i+1, len(captures), compressed, r.Header.Get("Content-Encoding"), r.Query)
		}
	}
}

// countEvents returns the number of events in a compressed body, which is one event or a list.
func countEvents(t *testing.T, body []byte) int {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("[")) {
		return 1
	}
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// checkFlags checks flags that depend on stored data. posthog-js does not send $initial_browser in
// its requests for flags.
func (v *browserVisit) checkFlags(c *walkOptions) {
	v.t.Helper()
	before, after := v.steps["anonymous"].Flags, v.steps["identified"].Flags
	want := values{"for-pro": false, "for-red": false, "for-gold": false, "of-chrome": false}
	if c.always { // depends on whether the page view is already stored
		delete(want, "of-chrome")
		delete(before, "of-chrome")
	}
	if diff := cmp.Diff(want, before); diff != "" {
		v.t.Errorf("flags at first (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(values{"for-pro": true, "for-red": false, "for-gold": true, "of-chrome": true}, after); diff != "" {
		v.t.Errorf("flags of user_1 (-want +got)\n%s", diff)
	}
}

// checkEvents checks the person of each event. The person's uuid is always derived from the first
// anonymous id: it was used before user_1, with a person or without (§10.3).
func (v *browserVisit) checkEvents(c *walkOptions) {
	v.t.Helper()
	type row struct{ Name, DistinctID, PersonID, Mode, Group string }
	first, second := v.steps["anonymous"].ID, v.steps["reset"].ID
	mode := "propertyless"
	if c.always {
		mode = "full"
	}
	anonymous := func(name, id string) row { return row{name, id, served.PersonUUID(id), mode, ""} }
	identified := func(name, group string) row { return row{name, "user_1", served.PersonUUID(first), "full", group} }
	want := []row{
		anonymous("$pageview", first), identified("$identify", ""),
		identified("$groupidentify", "acme"), identified("$set", "acme"), identified("x", "acme"), identified("$create_alias", "acme"), identified("$exception", "acme"),
		anonymous("after reset", second), anonymous("leaving", second), anonymous("$pageleave", second),
	}
	var got []row
	for _, e := range v.server.Events("") {
		group, _ := e.Properties["$group_0"].(string)
		got = append(got, row{e.Event, e.DistinctID, e.PersonID, e.PersonMode, group})
		profile, isSet := e.Properties["$process_person_profile"]
		if isSet != (e.PersonMode == "propertyless") || isSet && profile != false { // §9.1
			v.t.Errorf("%s has $process_person_profile %v", e.Event, profile)
		}
	}
	byName := func(a, b row) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(want, byName)
	slices.SortFunc(got, byName)
	if diff := cmp.Diff(want, got); diff != "" {
		v.t.Errorf("whose events are (-want +got)\n%s", diff)
	}
	if got := v.server.EventNamed("$identify").Properties["$anon_distinct_id"]; got != first {
		v.t.Errorf("$anon_distinct_id is %v, want %s", got, first)
	}
}

// checkPeople checks persons and groups.
func (v *browserVisit) checkPeople(address string, c *walkOptions) {
	v.t.Helper()
	first, second := v.steps["anonymous"].ID, v.steps["reset"].ID
	creator := v.server.EventNamed("$identify")
	if c.always {
		creator = v.server.EventNamed("$pageview")
	}
	identified := served.Person{
		UUID: served.PersonUUID(first), DistinctIDs: []string{first, "user_1", "user_1_alias"}, IsIdentified: true, CreatedAt: creator.Timestamp,
		// The properties that the page sets, and those that §9.5 copies from the events.
		Properties: values{
			"email": "ada@example.com", "joined": "2026-01-01", "plan": "pro", "first_plan": "pro", "$creator_event_uuid": creator.UUID,
			"utm_source": "news", "$initial_utm_source": "news", "$browser": "Chrome", "$initial_browser": "Chrome",
			"$device_type": "Desktop", "$initial_device_type": "Desktop", "$current_url": address, "$initial_current_url": address,
			"$pathname": "/", "$initial_pathname": "/", "$initial_referrer": "$direct", "$initial_referring_domain": "$direct",
		},
	}
	want := []served.Person{identified}
	if c.always {
		pageview := v.server.EventNamed("after%20reset")
		want = append(want, served.Person{
			UUID: served.PersonUUID(second), DistinctIDs: []string{second}, CreatedAt: pageview.Timestamp,
			Properties: values{"$creator_event_uuid": pageview.UUID, "$browser": "Chrome", "$initial_browser": "Chrome", "$current_url": address},
		})
	}
	got := v.server.People("")
	slices.SortFunc(got, func(a, b served.Person) int { return len(b.DistinctIDs) - len(a.DistinctIDs) })
	for i := range min(len(want), len(got)) { // other properties depend on the browser
		maps.DeleteFunc(got[i].Properties, func(key string, _ any) bool { _, fixed := want[i].Properties[key]; return !fixed })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		v.t.Errorf("persons (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"company"}, v.server.GroupTypes()); diff != "" {
		v.t.Errorf("group types (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]served.Group{{Key: "acme", Properties: values{"tier": "gold"}}}, v.server.Groups(0)); diff != "" {
		v.t.Errorf("groups (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]served.Warning{}, v.server.Warnings()); diff != "" {
		v.t.Errorf("warnings (-want +got)\n%s", diff)
	}
}

// §19.4 for posthog-js: the server is killed, events are captured, the server is restarted; the
// client's own retries deliver one copy of each event.
func TestBrowser_Outage(t *testing.T) {
	s := served.New(t, captureDefinitions)
	v := newBrowserVisit(t, s, fetch(t))
	stop := browse(t, v.address("outage", s.URL, `{}`, nil))
	defer stop()
	served.Eventually(t, "the outage", func() error {
		if got := v.captured(); len(got) < 3 {
			return fmt.Errorf("captured %v, complaints %q", got, v.pageErrors())
		}
		return nil
	})
	time.Sleep(time.Second) // time for the first attempts
	s.Start()
	v.stored()
	time.Sleep(200 * time.Millisecond) // time for possible duplicates
	if diff := cmp.Diff(v.captured(), s.SentEvents()); diff != "" {
		t.Errorf("events (-captured +stored)\n%s", diff)
	}
	if p := s.PersonOf("user_1"); len(p.DistinctIDs) != 2 || p.Properties["plan"] != "pro" {
		t.Errorf("the person is %+v", p)
	}
}
