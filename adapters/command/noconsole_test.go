//go:build no_console

package command

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// T30 (console.md §7): a build with the tag no_console contains nothing of the console, prints no link to
// it and serves 404 below /console/. The rest is as before: a browser gets the page of the root.
func TestServe_NoConsole(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-tags=no_console", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/adapters/console", "/adapters/internal/docs"} {
		if strings.Contains(string(out), name) {
			t.Errorf("the program contains the package %s", name)
		}
	}
	s := serve(t, time.Minute, "--data", t.TempDir())
	if link := printedLink.FindString(s.stdout.String()); link != "" {
		t.Errorf("it prints %s", link)
	}
	for path, want := range map[string]int{"/console/": 404, "/console/p/1": 404, "/docs/": 404, "/api/session/methods/": 404, "/": 200, "/_liveness": 200} {
		r, err := http.NewRequest("GET", s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		res, err := httpClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode != want || strings.Contains(string(body), "console/") {
			t.Errorf("%s: %d, want %d; %s %v", path, res.StatusCode, want, body, err)
		}
	}
	s.stop()
	s.wait(0)
}
