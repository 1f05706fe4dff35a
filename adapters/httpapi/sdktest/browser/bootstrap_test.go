//go:build sdk

package browser_test

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/flagshttp"
)

// bootReport is a report of bootstrap.html: the visitor according to posthog-js, the subject of the
// request according to the service, and the flags.
type bootReport struct {
	Step     string         `json:"step"`
	Error    string         `json:"error,omitempty"`
	ID       string         `json:"id"`
	State    string         `json:"state"`
	Asked    string         `json:"asked"`
	Flags    map[string]any `json:"flags"`
	Payloads map[string]any `json:"payloads"`
}

// A page contains the flags of its visitor, and posthog-js has them immediately. The service
// identifies a returning visitor by the cookie: the same visitor, and after identify the person.
func TestBootstrap_Browser(t *testing.T) {
	script := fetch(t)
	d, err := flags.ParseDefinitions([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	reports := make(chan bootReport, 16)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /array.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var s bootReport
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Errorf("report: %v", err)
		}
		reports <- s
	})
	page := template.Must(template.ParseFiles("bootstrap.html"))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		s, step := flags.FromContext(r.Context()), r.FormValue("step")
		if step == "" {
			step = "first"
		}
		err := page.Execute(w, map[string]any{"Step": step, "Bootstrap": s.Bootstrap(), "Asked": s.Subject().DistinctID + " on " + s.Subject().DeviceID, "Keys": keys})
		if err != nil {
			t.Error(err)
		}
	})
	cookie := flagshttp.Cookie(projectKey)
	subjectOf := func(r *http.Request) *flags.Subject {
		sub := cookie(r)
		if sub == nil {
			sub = &flags.Subject{DistinctID: "visitor-1"}
		}
		sub.Person = flags.Properties{"$lib": "web", "plan": "pro", "age": 36}
		return sub
	}
	site := httptest.NewServer(flagshttp.Middleware(flags.Compile(d).Reader(), subjectOf)(mux))
	defer site.Close()
	stop := browse(t, site.URL+"/")
	defer stop()

	for _, want := range []bootReport{
		{Step: "first", ID: "visitor-1", State: "anonymous", Asked: "visitor-1 on "},
		{Step: "again", ID: "visitor-1", State: "anonymous", Asked: "visitor-1 on visitor-1"},
		{Step: "known", ID: "ana", State: "identified", Asked: "ana on visitor-1"},
	} {
		want.Flags = map[string]any{"for-all": true, "for-nobody": false, "for-pro": true, "for-companies": false, "in-browsers": "web", "on-servers": nil}
		want.Payloads = map[string]any{
			"for-all": map[string]any{"color": "blue"}, "for-nobody": nil, "for-pro": nil, "for-companies": nil, "in-browsers": []any{1.0, 2.0}, "on-servers": nil,
		}
		select {
		case got := <-reports:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", want.Step, diff)
			}
		case <-time.After(served.WaitTimeout):
			t.Fatalf("the page did not come to %q", want.Step)
		}
	}
}

// OpenFeature's web provider uses the page's flags as its first evaluations, with the values that
// the server would return.
func TestBootstrap_OFREP(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(ofrepDefinitions))
	if err != nil {
		t.Fatal(err)
	}
	reports := make(chan browserReport, 16)
	page := template.Must(template.ParseFiles("bootofrep.html"))
	mux := http.NewServeMux()
	mux.Handle("/", ofrepPage(t, reports))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if err := page.Execute(w, flags.FromContext(r.Context()).OFREP()); err != nil {
			t.Error(err)
		}
	})
	subjectOf := func(*http.Request) *flags.Subject { return &flags.Subject{DistinctID: "u"} }
	site := httptest.NewServer(flagshttp.Middleware(flags.Compile(d).Reader(), subjectOf)(mux))
	defer site.Close()
	stop := browse(t, site.URL+"/")
	defer stop()
	select {
	case got := <-reports:
		if diff := cmp.Diff(ofrepWant()[0], got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	case <-time.After(served.WaitTimeout):
		t.Fatal("the page does not report")
	}
}
