//go:build sdk

package browser_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// The HTML snippet as published by PostHog on npm: in its plugin for Docusaurus, which inserts it
// into pages.
const (
	snippetPackage   = "posthog-docusaurus@2.0.5"
	snippetIntegrity = "sha512-Ray65LYEJrMMqDtsBUBXunEVP/g4wtATvq/xz9rchUoLy/9mSkkFgUko/8DVtGxgiP3vivpFMgfb9HpCuDrBHg=="
)

var snippetText = regexp.MustCompile(`!function\(t,e\)\{.*\}\(document,window\.posthog\|\|\[\]\);`)

// fetchSnippet downloads the snippet, without the call of init that follows it.
func fetchSnippet(t *testing.T) []byte {
	t.Helper()
	found := snippetText.Find(fetchFile(t, snippetPackage, snippetIntegrity, "src/index.js"))
	if found == nil {
		t.Fatal("no snippet in " + snippetPackage)
	}
	return found
}

// fetchDist downloads posthog-js as described in the README, and returns its folder dist.
func fetchDist(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files := tar.NewReader(bytes.NewReader(fetchArchive(t, client, integrity)))
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return folder
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Dir(file.Name) != "package/dist" {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, path.Base(file.Name)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// unzip decompresses an archive.
func unzip(t *testing.T, archive []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// shopper is a page with settings.html, and its reports.
type shopper struct {
	URL string

	t          *testing.T
	mu         sync.Mutex
	captured   map[string]bool
	rounds     int
	recording  bool
	flag       any
	complaints []string
}

func newShopper(t *testing.T, snippet, module []byte) *shopper {
	p := &shopper{t: t, captured: map[string]bool{}}
	mux := http.NewServeMux()
	script := func(path string, text []byte) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/javascript")
			_, _ = w.Write(text)
		})
	}
	script("/snippet.js", snippet)
	script("/module.js", module)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "settings.html") })
	listenFor(mux, p, "/captured", func(name string) { p.captured[name] = true })
	listenFor(mux, p, "/flag", func(value any) { p.flag = value })
	listenFor(mux, p, "/complaint", func(text string) { p.complaints = append(p.complaints, text) })
	listenFor(mux, p, "/round", func(r struct {
		Round     int
		Recording bool
	}) {
		p.rounds, p.recording = r.Round, p.recording || r.Recording
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	p.URL = web.URL
	return p
}

func listenFor[T any](mux *http.ServeMux, p *shopper, path string, take func(T)) {
	v := &browserVisit{t: p.t}
	handleReport(mux, v, path, func(report T) {
		p.mu.Lock()
		defer p.mu.Unlock()
		take(report)
	})
}

// switchedOn are the settings that enable a feature in the browser, with the event that proves it
// (spec/capture.md §16.1). autocapture_opt_out disables one.
var switchedOn = map[string]string{
	"capture_dead_clicks": "$dead_click", "heatmaps_opt_in": "$$heatmap", "autocapture_exceptions_opt_in": "$exception",
	"autocapture_web_vitals_opt_in": "$web_vitals", "surveys_opt_in": "survey shown",
}

// state are the settings of a project.
type state struct {
	name     string
	settings map[string]any
	on       bool
}

// states returns a project with the default settings, with every setting changed, and with every
// setting changed back.
func states() []state {
	out := []state{{"nothing chosen", nil, false}, {"switched", map[string]any{}, true}, {"switched back", map[string]any{}, false}}
	for _, s := range out[1:] {
		for _, name := range []string{"autocapture_opt_out", "capture_performance_opt_in", "session_recording_opt_in"} {
			s.settings[name] = s.on
		}
		for name := range switchedOn {
			s.settings[name] = s.on
		}
		s.settings["recording_domains"] = []string{"https://shop.example.com"}
		s.settings["cookieless_server_hash_mode"] = map[bool]int{true: 2, false: 0}[s.on]
	}
	return out
}

// Every setting of a project has its effect in the browser, with the HTML snippet and the scripts
// of --posthog-js, and with npm's bundle that loads no scripts from the server. Flags, surveys and
// issues of exceptions work with both.
func TestBrowser_Settings(t *testing.T) {
	dist := fetchDist(t)
	snippet := fetchSnippet(t)
	module, err := os.ReadFile(filepath.Join(dist, "module.full.no-external.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, with := range []string{"snippet", "module"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel() // it mostly waits for the page
			var options []string
			if with == "snippet" {
				options = []string{"--posthog-js", dist}
			}
			s := served.New(t, "../testdata/settings.json", options...)
			for _, c := range states() {
				t.Run(c.name, func(t *testing.T) { shop(t, s, with, c, snippet, module) })
			}
		})
	}
}

// shop opens the page with a server whose project has some settings, and waits for their effects.
func shop(t *testing.T, s *served.Server, with string, c state, snippet, module []byte) {
	if c.on {
		s.Manage(http.MethodPost, "/projects/1/surveys/", map[string]any{
			"name": "Why", "type": "popover", "start_date": time.Now().Add(-time.Hour), "schedule": "always",
			"questions": []any{map[string]any{"type": "open", "question": "Why?"}},
		}, nil)
	}
	if c.settings != nil {
		s.Manage(http.MethodPatch, "/environments/1/", c.settings, nil)
	}
	// spec/clients.md §17: the only URL of the page's script is that of the page.
	assignee := s.AssignExceptions(map[string][2]string{
		"$exception_types": {"exact", "TypeError"}, "$exception_values": {"icontains", "nothing to buy"},
		"$exception_sources": {"exact", "/"}, "$exception_functions": {"exact", "goWrong"},
	})
	p, before := served.NewProxy(t, s), len(s.Issues())
	v := newShopper(t, snippet, module)
	stop := browse(t, v.URL+"/?"+url.Values{"with": {with}, "host": {p.URL}, "key": {served.ProjectKey}}.Encode())
	defer stop()
	served.Eventually(t, "what the page captures", func() error { return v.hasCaptured(c.on) })
	checkScripts(t, p, with)
	if !c.on {
		return
	}
	served.Eventually(t, "the issue", func() error {
		if got := s.Issues(); len(got) != before+1 || got[0] != (served.Issue{Name: "TypeError", Assignee: assignee}) {
			return fmt.Errorf("issues %v, there were %d; exceptions %v", got, before, s.Events("event=$exception"))
		}
		return nil
	})
}

// hasCaptured returns an error that describes the missing effects, or nil.
func (p *shopper) hasCaptured(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	problem := fmt.Errorf("round %d: captured %v, flag %v, recording %v, complaints %q", p.rounds, p.captured, p.flag, p.recording, p.complaints)
	if p.rounds < 2 || p.flag != true || !p.captured["$pageview"] || p.captured["$autocapture"] == on {
		return problem
	}
	for setting, event := range switchedOn {
		switch {
		case on && !p.captured[event]:
			return problem
		case !on && p.captured[event]:
			p.t.Errorf("%s is off, and there is %s", setting, event)
		}
	}
	if p.recording {
		p.t.Error("the session is recorded")
	}
	return nil
}

// checkScripts checks that every request succeeded, that no request is for recordings, and that the
// module loaded no script.
func checkScripts(t *testing.T, p *served.Proxy, with string) {
	t.Helper()
	for _, r := range p.Requests() {
		switch {
		case r.Status >= 300:
			t.Errorf("%s %s?%s: %d", r.Method, r.Path, r.Query, r.Status)
		case strings.Contains(r.Path, "recorder"), strings.HasPrefix(r.Path, "/s/"):
			t.Errorf("%s %s has to do with recordings", r.Method, r.Path)
		case with == "module" && strings.HasPrefix(r.Path, "/static/"):
			t.Errorf("the module asked for %s", r.Path)
		}
	}
}

// Without a copy of posthog-js the console has one message, with instructions.
func TestBrowser_NoPosthogJS(t *testing.T) {
	s := served.New(t, "../testdata/settings.json")
	v := newShopper(t, fetchSnippet(t), nil)
	p := served.NewProxy(t, s)
	stop := browse(t, v.URL+"/?"+url.Values{"with": {"snippet"}, "host": {p.URL}, "key": {served.ProjectKey}, "more": {"/static/1.449.2/surveys.js"}}.Encode())
	defer stop()
	served.Eventually(t, "both scripts", func() error {
		requests := p.Requests()
		v.mu.Lock()
		defer v.mu.Unlock()
		isRequested := func(path string) bool {
			return slices.ContainsFunc(requests, func(r served.Request) bool { return r.Path == path && r.Status == http.StatusOK })
		}
		if !isRequested("/static/array.js") || !isRequested("/static/1.449.2/surveys.js") || len(v.complaints) == 0 {
			return fmt.Errorf("%v, complaints %q", requests, v.complaints)
		}
		return nil
	})
	time.Sleep(500 * time.Millisecond) // time for a possible second message
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.complaints) != 1 || !strings.Contains(v.complaints[0], "--posthog-js") || !strings.Contains(v.complaints[0], "module.full.no-external.js") {
		t.Errorf("the console says %q", v.complaints)
	}
}
