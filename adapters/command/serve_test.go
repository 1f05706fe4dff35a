package command

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// httpClient reuses no connections, so that no connection outlives a test.
var httpClient = &http.Client{Timeout: clitest.WaitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

// instance is a server in this process.
type instance struct {
	t              *testing.T
	stdout, stderr *clitest.Output
	stop           context.CancelFunc
	ended          chan int
	url            string
}

func serve(t *testing.T, grace time.Duration, args ...string) *instance {
	t.Helper()
	return serveWith(t, nil, grace, args...)
}

// serveWith is serve with environment variables.
func serveWith(t *testing.T, env []string, grace time.Duration, args ...string) *instance {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &instance{t: t, stdout: clitest.NewOutput(), stderr: clitest.NewOutput(), stop: stop, ended: make(chan int, 1)}
	p := newProgram(strings.NewReader(""), s.stdout, s.stderr, env)
	p.Grace = grace
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--data", t.TempDir()}, args...)
	go func() { s.ended <- p.Run(ctx, args) }()
	t.Cleanup(func() { stop() })
	s.url = s.address(s.stdout)
	return s
}

// address waits for the start and returns the URL that the banner prints.
func (s *instance) address(out *clitest.Output) string {
	s.t.Helper()
	deadline := time.After(clitest.WaitTimeout)
	for {
		if _, rest, ok := strings.Cut(out.String(), " listens on "); ok {
			url, _, _ := strings.Cut(rest, "\n")
			return url
		}
		select {
		case <-out.OnWrite:
		case code := <-s.ended:
			s.t.Fatalf("ended with %d: %s", code, s.stderr)
		case <-deadline:
			s.t.Fatalf("not started; stderr: %s", s.stderr)
		}
	}
}

// logged waits until the log has a text.
func (s *instance) logged(want string) {
	s.t.Helper()
	deadline := time.After(clitest.WaitTimeout)
	for !strings.Contains(s.stderr.String(), want) {
		select {
		case <-s.stderr.OnWrite:
		case <-deadline:
			s.t.Fatalf("no %q in the log: %s", want, s.stderr)
		}
	}
}

func (s *instance) wait(code int) {
	s.t.Helper()
	select {
	case got := <-s.ended:
		if got != code {
			s.t.Errorf("exit code %d, want %d; stderr: %s", got, code, s.stderr)
		}
	case <-time.After(clitest.WaitTimeout):
		s.t.Fatalf("does not end; stderr: %s", s.stderr)
	}
}

func (s *instance) get(path, key string) (int, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return do(s.t, r)
}

func do(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	resp, err := httpClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// runPasted parses a printed curl line with a real shell and returns the request that curl would
// send.
func runPasted(t *testing.T, banner string) *http.Request {
	t.Helper()
	_, line, ok := strings.Cut(banner, "\n  curl ")
	if !ok {
		t.Fatalf("no curl line in %q", banner)
	}
	line, _, _ = strings.Cut(line, "\n")
	out, err := exec.Command("sh", "-c", `curl() { for a; do printf '%s\n' "$a"; done; }; curl `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(args) != 6 || args[0] != "-s" || args[2] != "-H" || args[4] != "-d" {
		t.Fatalf("arguments of curl %q", args)
	}
	r, err := http.NewRequest(http.MethodPost, args[1], strings.NewReader(args[5]))
	if err != nil {
		t.Fatal(err)
	}
	name, value, _ := strings.Cut(args[3], ": ")
	r.Header.Set(name, value)
	r.Header.Set("User-Agent", "curl/8.0")
	return r
}

// enabled returns the flags of a v2 response.
func enabled(t *testing.T, body string) map[string]bool {
	t.Helper()
	var a struct {
		Flags map[string]struct{ Enabled bool }
	}
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	out := map[string]bool{}
	for key, f := range a.Flags {
		out[key] = f.Enabled
	}
	return out
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestServe_CurlLineAndRoutes(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", demo, "--geoip", "../../testdata/geoip/city.mmdb", "--data", filepath.Join(t.TempDir(), "new", "data"))
	banner := s.stdout.String()
	for _, want := range []string{"PROJECT  ID  KEY       FLAGS\n", "demo     1   phc_demo  8\n"} {
		if !strings.Contains(banner, want) {
			t.Errorf("%q is not in the banner:\n%s", want, banner)
		}
	}
	code, body := do(t, runPasted(t, banner))
	if on, ok := enabled(t, body)["new-onboarding"]; code != http.StatusOK || !on || !ok {
		t.Errorf("the curl line: %d %s", code, body)
	}
	// 192.0.2.1 is in Germany in the test database.
	r, _ := http.NewRequest(http.MethodPost, s.url+"/flags?v=2", strings.NewReader(`{"api_key": "phc_demo", "distinct_id": "u"}`))
	r.Header.Set("X-Forwarded-For", "192.0.2.1")
	if code, body := do(t, r); code != http.StatusOK || !enabled(t, body)["euro-prices"] {
		t.Errorf("euro-prices from Germany: %d %s", code, body)
	}
	for _, tt := range []struct {
		path, key string
		code      int
		body      string
	}{
		{"/_liveness", "", 200, "ok"},
		{"/_readiness", "", 200, "ready"},
		{"/metrics", "", 200, "bunting_flags_requests_total 2\n"},
		{"/metrics", "", 200, "bunting_geoip_lookups_total 1\n"},
		{"/metrics", "", 200, `bunting_definitions_flags{file="` + demo + `"} 8`},
		{"/flags/definitions?token=phc_demo", "phx_demo", 200, `"key":"new-onboarding"`},
		{"/flags/definitions?token=phc_demo", "phs_demo", 200, `"key":"new-onboarding"`},
		{"/flags/definitions?token=phc_demo", "phx_wrong", 401, ""},
	} {
		if code, body := s.get(tt.path, tt.key); code != tt.code || !strings.Contains(body, tt.body) {
			t.Errorf("%s with %q: %d %s, want %d and %q", tt.path, tt.key, code, body, tt.code, tt.body)
		}
	}
	s.stop()
	s.wait(0)
	if log := s.stderr.String(); strings.Contains(log, "level=WARN") || strings.Contains(log, "level=ERROR") {
		t.Errorf("warnings in the log:\n%s", log)
	}
}

func TestServe_ChangedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	copyFile(t, demo, path)
	s := serve(t, time.Minute, "--definitions", path)
	write := func(flag string) {
		text := `{"projects": [{"id": 1, "api_key": "phc_demo", "flags": [{"id": 1, "key": "` + flag + `", "active": true, "filters": {"groups": [
			{"properties": [{"key": "x", "type": "person", "operator": "regex", "value": "("}]}, {}]}}]}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("after")
	deadline := time.Now().Add(clitest.WaitTimeout)
	for {
		r, _ := http.NewRequest(http.MethodPost, s.url+"/flags?v=2", strings.NewReader(`{"api_key": "phc_demo", "distinct_id": "u"}`))
		if _, body := do(t, r); enabled(t, body)["after"] {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the change is not seen: %s", body)
		}
	}
	s.stop()
	s.wait(0)
	if log := s.stderr.String(); !strings.Contains(log, "fault in the definitions") || !strings.Contains(log, `(flag \"after\")`) {
		t.Errorf("the fault is not in the log:\n%s", log)
	}
}

// begin sends half a request and returns when the server has requested the rest.
func (s *instance) begin(body string) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(clitest.WaitTimeout))
	head := "POST /flags?v=2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: " +
		jsonLength(body) + "\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		s.t.Fatal(err)
	}
	line := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(conn, line); err != nil || !strings.Contains(string(line), "100") {
		s.t.Fatalf("%q, %v", line, err)
	}
	return conn
}

func jsonLength(body string) string { n, _ := json.Marshal(len(body)); return string(n) }

const request = `{"api_key": "phc_demo", "distinct_id": "u"}`

func TestServe_RequestsMayEnd(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", demo)
	conn := s.begin(request)
	defer func() { _ = conn.Close() }()
	s.stop()
	for strings.Count(s.stderr.String(), "shutting down") == 0 {
		<-s.stderr.OnWrite
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || !enabled(t, string(body))["new-onboarding"] {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	s.wait(0)
}

func TestServe_RequestsAreCutOff(t *testing.T) {
	s := serve(t, time.Millisecond, "--definitions", demo)
	conn := s.begin(request)
	defer func() { _ = conn.Close() }()
	s.stop()
	s.wait(1)
	if got := s.stderr.String(); !strings.Contains(got, "bunting: requests that were still running after 1ms were interrupted") {
		t.Errorf("stderr %q", got)
	}
}

func TestServe_PublicAddressWarning(t *testing.T) {
	const warning = "listening on a public address"
	s := serve(t, time.Minute, "--listen", "0.0.0.0:0", "--definitions", demo)
	if !strings.HasPrefix(s.url, "http://127.0.0.1:") {
		t.Errorf("url %s cannot be pasted", s.url)
	}
	s.stop()
	s.wait(0)
	if !strings.Contains(s.stderr.String(), warning) {
		t.Errorf("no warning in %s", s.stderr)
	}
	s = serve(t, time.Minute, "--listen", "0.0.0.0:0", "--api-key", "phc_p", "--definitions", clitest.TempFile(t, "p.json", `{"flags": []}`))
	s.stop()
	s.wait(0)
	if strings.Contains(s.stderr.String(), warning) {
		t.Errorf("a warning without keys in the file: %s", s.stderr)
	}
}

func TestServe_ReadyNeedsAProject(t *testing.T) {
	s := serve(t, time.Minute, "--definitions", clitest.TempFile(t, "empty.json", `{"projects": []}`))
	if code, body := s.get("/_readiness", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, "no project") {
		t.Errorf("%d %s", code, body)
	}
	s.stop()
	s.wait(0)
}

func TestServe_Errors(t *testing.T) {
	occupied, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = occupied.Close() }()
	notAFolder := clitest.TempFile(t, "file", "")
	bare := clitest.TempFile(t, "bare.json", `{"flags": []}`)
	tests := map[string]struct {
		args []string
		want string
	}{
		"no data folder":   {[]string{"--data", ""}, "bunting: --data is empty: name a folder, or a database with --database\n"},
		"unknown database": {[]string{"--database", "mysql://localhost/x"}, "postgres://"},
		"port in use":      {[]string{"--definitions", demo, "--listen", occupied.Addr().String()}, "bunting: cannot listen on " + occupied.Addr().String() + ": another program uses this address: stop it, or choose another port with --listen\n"},
		"foreign address":  {[]string{"--definitions", demo, "--listen", "203.0.113.77:0"}, "this machine does not have this address"},
		"unknown port":     {[]string{"--definitions", demo, "--listen", "127.0.0.1:nowhere"}, "see --listen"},
		"missing file":     {[]string{"--definitions", "none.json"}, "bunting: none.json: file does not exist\n"},
		"bare payload":     {[]string{"--definitions", bare}, "give the key of its project with --api-key"},
		"one project twice": {[]string{"--definitions", demo, "--definitions", func() string {
			path := filepath.Join(t.TempDir(), "copy.json")
			copyFile(t, demo, path)
			return path
		}()}, `both have the project with the api_key "phc_demo"`},
		"missing database": {[]string{"--definitions", demo, "--geoip", "none.mmdb"}, "bunting: --geoip: "},
		"flat database":    {[]string{"--definitions", demo, "--geoip", "../../testdata/geoip/flat.mmdb"}, "DB-IP"},
		"no posthog-js":    {[]string{"--definitions", demo, "--posthog-js", "none"}, "bunting: --posthog-js: "},
		"another folder":   {[]string{"--definitions", demo, "--posthog-js", t.TempDir()}, "has no array.js: give the folder package/dist that npm pack posthog-js"},
		"data is a file":   {[]string{"--definitions", demo, "--data", notAFolder}, "bunting: --data: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data", t.TempDir()}, tt.args...)...)
			r.Want(t, 1, "", tt.want)
		})
	}
}

func TestCurl_QuotesForTheShell(t *testing.T) {
	r := runPasted(t, "\n  "+curl("http://127.0.0.1:1", `phc_'"$x`, `it's`)+"\n")
	body, _ := io.ReadAll(r.Body)
	if want := `{"api_key":"phc_'\"$x","distinct_id":"user-1","flag_keys_to_evaluate":["it's"]}`; string(body) != want {
		t.Errorf("body %s, want %s", body, want)
	}
}
