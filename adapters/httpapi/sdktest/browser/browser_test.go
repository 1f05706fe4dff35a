//go:build sdk

// Package browser_test runs the unmodified posthog-js in a real browser, on a page with another
// origin than the server: scripts, CORS, preflights and compression are those of the browser.
package browser_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

const projectKey = "phc_browser"

// definitions have one flag for each part of a browser's request.
const definitions = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 1, "key": "for-all", "active": true, "filters": {"groups": [{"properties": []}], "payloads": {"true": "{\"color\": \"blue\"}"}}},
	{"id": 2, "key": "for-nobody", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}},
	{"id": 3, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [
		{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}, {"key": "age", "type": "person", "operator": "gte", "value": 18}]}]}},
	{"id": 4, "key": "for-companies", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [{"properties": [
		{"key": "size", "type": "group", "group_type_index": 0, "operator": "exact", "value": "large"}]}]}},
	{"id": 5, "key": "in-browsers", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{"properties": [
		{"key": "$lib", "type": "person", "operator": "exact", "value": "web"}], "variant": "web"}],
		"multivariate": {"variants": [{"key": "other", "rollout_percentage": 100}, {"key": "web", "rollout_percentage": 0}]}, "payloads": {"web": "[1, 2]"}}},
	{"id": 6, "key": "on-servers", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{"properties": []}]}}
]}`

var keys = []string{"for-all", "for-nobody", "for-pro", "for-companies", "in-browsers", "on-servers"}

type pageReport struct {
	Step     string         `json:"step"`
	Error    string         `json:"error,omitempty"`
	Flags    map[string]any `json:"flags"`
	Payloads map[string]any `json:"payloads"`
}

// The two steps of the page, according to §3.6, §7 and §9.9. A flag without a result is undefined
// for posthog-js; a payload is only returned for an enabled flag.
var wantFlags = []pageReport{
	{
		Step: "anonymous",
		Flags: map[string]any{
			"for-all": true, "for-nobody": false, "for-pro": false, "for-companies": false, "in-browsers": "web", "on-servers": nil,
		},
		Payloads: map[string]any{
			"for-all": map[string]any{"color": "blue"}, "for-nobody": nil, "for-pro": nil, "for-companies": nil,
			"in-browsers": []any{1.0, 2.0}, "on-servers": nil,
		},
	},
	{
		Step: "grouped",
		Flags: map[string]any{
			"for-all": true, "for-nobody": false, "for-pro": true, "for-companies": true, "in-browsers": "web", "on-servers": nil,
		},
		Payloads: map[string]any{
			"for-all": map[string]any{"color": "blue"}, "for-nobody": nil, "for-pro": nil, "for-companies": nil,
			"in-browsers": []any{1.0, 2.0}, "on-servers": nil,
		},
	},
}

func TestBrowser(t *testing.T) {
	script := fetch(t)
	for name, options := range map[string]string{
		"as it comes":         `{}`,
		"without compression": `{"disable_compression": true}`,
		"over XHR":            `{"api_transport": "XHR"}`,
		"with a header":       `{"request_headers": {"X-Custom": "1"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			reports := make(chan pageReport, 16)
			page := httptest.NewServer(pageHandler(t, script, reports))
			defer page.Close()
			bunting := httptest.NewServer(server(t))
			defer bunting.Close()

			stop := browse(t, page.URL+"/?"+url.Values{
				"host": {bunting.URL}, "key": {projectKey}, "flags": {strings.Join(keys, ",")}, "options": {options},
			}.Encode())
			defer stop()
			for _, want := range wantFlags {
				select {
				case got := <-reports:
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%s (-want +got):\n%s", want.Step, diff)
					}
				case <-time.After(served.WaitTimeout):
					t.Fatalf("the page did not come to %q", want.Step)
				}
			}
		})
	}
}

// server is Bunting with the flags above. Other requests of posthog-js return 404, which it
// tolerates.
func server(t *testing.T) http.Handler {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(definitions))
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: serving.StaticSource(projectKey, flags.Project{ID: 1}, d)})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// pageHandler serves the page and the client, and forwards reports.
func pageHandler(t *testing.T, script []byte, reports chan<- pageReport) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /array.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/javascript")
		_, _ = w.Write(script)
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "page.html") })
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var s pageReport
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Errorf("report: %v", err)
		}
		select {
		case reports <- s:
		default: // too late for the test
		}
	})
	return mux
}

// client is the published package of posthog-js. Its script is complete: the dependencies of the
// package are not needed.
const (
	client    = "posthog-js@1.449.2"
	integrity = "sha512-vji+h92IHaLlFSEnRH1hwe8uLWGOdDUImmPXexj/+V7Xm7HTxIQisYE/Kom7Aaw4DRpzfdhQxiyAN1YVYR4G8Q=="
)

// fetch downloads the client from npm and returns its script.
func fetch(t *testing.T) []byte {
	t.Helper()
	return fetchFile(t, client, integrity, "dist/array.js")
}

// archives has the decompressed packages that fetchArchive has downloaded.
var archives = struct {
	sync.Mutex
	byClient map[string][]byte
}{byClient: map[string][]byte{}}

// fetchArchive downloads a package from npm, unless it has done so before, and decompresses it.
func fetchArchive(t *testing.T, client, integrity string) []byte {
	t.Helper()
	archives.Lock()
	defer archives.Unlock()
	if archives.byClient[client] == nil {
		archives.byClient[client] = downloadArchive(t, client, integrity)
	}
	return archives.byClient[client]
}

func downloadArchive(t *testing.T, client, integrity string) []byte {
	t.Helper()
	folder := t.TempDir()
	if out, err := exec.Command("npm", "pack", client, "--pack-destination", folder, "--silent").CombinedOutput(); err != nil {
		t.Fatalf("npm pack: %v\n%s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(names) != 1 {
		t.Fatalf("npm pack left %v, %v", names, err)
	}
	archive, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha512.Sum512(archive)
	if got := "sha512-" + base64.StdEncoding.EncodeToString(sum[:]); got != integrity {
		t.Fatalf("%s is %s, want %s", client, got, integrity)
	}
	return unzip(t, archive)
}

// fetchFile downloads a package from npm and returns one of its files.
func fetchFile(t *testing.T, client, integrity, name string) []byte {
	t.Helper()
	files := tar.NewReader(bytes.NewReader(fetchArchive(t, client, integrity)))
	for {
		file, err := files.Next()
		if err != nil {
			t.Fatalf("no %s in the package: %v", name, err)
		}
		if file.Name != "package/"+name {
			continue
		}
		script, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		return script
	}
}
