//go:build sdk

package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// renderText returns a page as rendered by Chromium in a color scheme, light or dark: its elements, its
// first pixel, and the messages of the console.
func renderText(t *testing.T, address, scheme string) (dom, pixel, console string) {
	t.Helper()
	var mu sync.Mutex
	loaded := make(chan struct{})
	p := newTab(t, func(m devtoolsMessage) {
		mu.Lock()
		defer mu.Unlock()
		switch m.Method {
		case "Page.loadEventFired":
			close(loaded)
		case "Log.entryAdded", "Runtime.consoleAPICalled":
			console += fmt.Sprintf("%s\n", m.Params)
		}
	})
	defer func() {
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}()
	for _, events := range []string{"Page.enable", "Log.enable", "Runtime.enable"} {
		p.do(t, events, nil, nil)
	}
	p.do(t, "Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	p.do(t, "Page.navigate", map[string]any{"url": address}, nil)
	select {
	case <-loaded:
	case <-time.After(served.WaitTimeout):
		t.Fatal("the page is not loaded")
	}
	var elements struct{ Result struct{ Value string } }
	p.do(t, "Runtime.evaluate", map[string]any{"expression": "document.documentElement.outerHTML"}, &elements)
	var picture struct{ Data []byte }
	p.do(t, "Page.captureScreenshot", nil, &picture)
	decoded, err := png.Decode(bytes.NewReader(picture.Data))
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := decoded.At(0, 0).RGBA()
	mu.Lock()
	defer mu.Unlock()
	return elements.Result.Value, fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8), console
}

// A shared dashboard in a real browser, light and dark: its style is applied, its pictures are
// rendered, and its Content Security Policy blocks nothing, although captured data contains
// scripts.
func TestShared_InABrowser(t *testing.T) {
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte(`<!doctype html><style>body { background: red }</style>`))
	}))
	defer forbidden.Close()
	if _, pixel, console := renderText(t, forbidden.URL, "light"); pixel != "ffffff" || !strings.Contains(console, "Content Security Policy") {
		t.Fatalf("what a policy refuses is not seen here: %s, %q", pixel, console)
	}

	s := served.New(t, captureDefinitions)
	const hostile = `</title></svg><script>document.title = "run"</script><img src=x onerror="document.title = 'run'">`
	var events []any
	for day := range 5 {
		events = append(events, map[string]any{"event": hostile, "timestamp": fmt.Sprintf("2020-01-%02dT12:00:00Z", day+1), "properties": map[string]any{"distinct_id": "ann", "p": hostile}})
	}
	body, _ := json.Marshal(map[string]any{"api_key": "phc_capture", "historical_migration": true, "batch": events})
	res, err := http.Post(s.URL+"/batch/", "application/json", strings.NewReader(string(body)))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	var board struct {
		ID    int64  `json:"id"`
		Token string `json:"access_token"`
	}
	s.Manage("POST", "/projects/1/dashboards/", map[string]any{"name": hostile}, &board)
	for _, more := range []map[string]any{
		{"trendsFilter": map[string]any{"display": "ActionsLineGraph"}},
		{"trendsFilter": map[string]any{"display": "ActionsBar"}, "breakdownFilter": map[string]any{"breakdown": "p"}},
		{"trendsFilter": map[string]any{"display": "BoldNumber"}},
	} {
		more["kind"], more["series"] = "TrendsQuery", []any{map[string]any{"kind": "EventsNode", "event": hostile}}
		more["dateRange"] = map[string]any{"date_from": "2020-01-01", "date_to": "2020-01-05"}
		s.Manage("POST", "/projects/1/insights/", map[string]any{"name": hostile, "query": more, "dashboards": []int64{board.ID}}, nil)
	}
	s.Manage("PATCH", fmt.Sprintf("/projects/1/dashboards/%d/sharing/", board.ID), map[string]any{"enabled": true}, &board)
	for mode, want := range map[string]string{"light": "ffffff", "dark": "14171c"} {
		dom, pixel, console := renderText(t, s.URL+"/shared/"+board.Token, mode)
		if pixel != want {
			t.Errorf("%s: the paper is #%s, want #%s", mode, pixel, want)
		}
		if console != "" {
			t.Errorf("%s: the console says %s", mode, console)
		}
		if n := strings.Count(dom, "<svg "); n != 3 || !strings.Contains(dom, "<polyline ") || !strings.Contains(dom, "<footer>") ||
			strings.Contains(dom, "<img") || strings.Contains(dom, "<script") || strings.Contains(dom, "<title>run") {
			t.Errorf("%s: %d pictures in\n%s", mode, n, dom)
		}
	}
}
