package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/flags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const demo = "../../testdata/demo.json"

// patience is the timeout of these tests for an expected state.
const patience = time.Minute

// open opens a server and closes it at the end of the test.
func open(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	s, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeServer(t, s) })
	return s
}

func closeServer(t *testing.T, s *server.Server) {
	t.Helper()
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// ask sends a request to the handler.
func ask(t *testing.T, s *server.Server, method, path, key, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// enabledFlags returns the flags that are on for a subject.
func enabledFlags(t *testing.T, s *server.Server, projectKey string) map[string]bool {
	t.Helper()
	status, body := ask(t, s, "POST", "/flags?v=2", "", `{"api_key": "`+projectKey+`", "distinct_id": "user-1"}`)
	var answer struct {
		Flags map[string]struct{ Enabled bool }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	out := map[string]bool{}
	for key, f := range answer.Flags {
		if f.Enabled {
			out[key] = true
		}
	}
	return out
}

// onlyProject returns the only project of a first start.
func onlyProject(t *testing.T, s *server.Server) flags.Project {
	t.Helper()
	projects, err := s.Projects(t.Context())
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	return projects[0]
}

// A server with a data folder has the same data after a restart.
func TestServer_OpenedAgain(t *testing.T) {
	o := server.Options{Data: filepath.Join(t.TempDir(), "data")}
	s := open(t, o)
	key, project := s.OwnerKey(), onlyProject(t, s).APIKey
	status, body := ask(t, s, "POST", "/api/projects/1/feature_flags/", key, `{"key": "new", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}`)
	if status != http.StatusCreated {
		t.Fatal(status, body)
	}
	if on := enabledFlags(t, s, project); !on["new"] {
		t.Errorf("on: %v", on)
	}
	closeServer(t, s)
	closeServer(t, s) // a second call has no effect

	s = open(t, o)
	if on := enabledFlags(t, s, project); !on["new"] {
		t.Errorf("on after the second start: %v", on)
	}
	if again := s.OwnerKey(); again != "" {
		t.Errorf("the second start has made a key: %s", again)
	}
	if status, body := ask(t, s, "GET", "/api/users/@me/", key, ""); status != http.StatusOK || !strings.Contains(body, server.DefaultOwnerEmail) {
		t.Errorf("%d %s", status, body)
	}
	// Evaluations are counted by the hour, and stored when the server closes.
	if status, body := ask(t, s, "GET", "/api/projects/1/feature_flags/1/exposures/?count=evaluations", key, ""); status != http.StatusOK || !strings.Contains(body, `"total":1,"first_called_at"`) {
		t.Errorf("%d %s", status, body)
	}
	select {
	case <-s.Recovered():
	default:
		t.Error("the server waits for its database")
	}
}

// Several servers run in one process and share no state.
func TestServer_SeveralInAProcess(t *testing.T) {
	one, other := open(t, server.Options{}), open(t, server.Options{Definitions: []string{demo}})
	if on := enabledFlags(t, one, onlyProject(t, one).APIKey); len(on) > 0 {
		t.Errorf("a new project has flags: %v", on)
	}
	if on := enabledFlags(t, other, "phc_demo"); !on["new-onboarding"] {
		t.Errorf("the demo has %v", on)
	}
	if status, _ := ask(t, one, "POST", "/flags?v=2", "", `{"api_key": "phc_demo", "distinct_id": "user-1"}`); status != http.StatusUnauthorized {
		t.Errorf("the other server's key: %d", status)
	}
	for name, s := range map[string]*server.Server{"one": one, "other": other} {
		if status, _ := ask(t, s, "GET", "/metrics", "", ""); status != http.StatusOK {
			t.Errorf("metrics of %s: %d", name, status)
		}
	}
}

// The key passed to Show is valid; if Show fails, the key is not created.
func TestServer_OwnerKey(t *testing.T) {
	data := t.TempDir()
	o := server.Options{Data: data, OwnerKey: func() (server.OwnerKey, error) {
		return server.OwnerKey{Show: func(string) error { return io.ErrShortWrite }}, nil
	}}
	if s, err := server.Open(t.Context(), o); err == nil {
		t.Error("a key was made that nobody has seen", s.Close(context.Background()))
	}
	got := ""
	o.OwnerKey = func() (server.OwnerKey, error) {
		return server.OwnerKey{Show: func(key string) error { got = key; return nil }}, nil
	}
	s := open(t, o)
	if status, body := ask(t, s, "GET", "/api/users/@me/", got, ""); status != http.StatusOK || s.OwnerKey() != "" {
		t.Errorf("%d %s", status, body)
	}
}

// Run serves requests until its context ends, and a second server cannot bind the address.
func TestServer_Run(t *testing.T) {
	s := open(t, server.Options{Listen: "127.0.0.1:0", Definitions: []string{demo}})
	if _, err := server.Open(t.Context(), server.Options{Listen: s.Addr().String()}); !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "Options.Listen") {
		t.Errorf("an address twice: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + s.Addr().String() + "/_readiness")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
	if err := open(t, server.Options{}).Run(t.Context()); err == nil {
		t.Error("a server without an address runs")
	}
}

// A request that does not end within Grace is interrupted, and Run returns an error.
func TestServer_RunCutsOff(t *testing.T) {
	s := open(t, server.Options{Listen: "127.0.0.1:0", Definitions: []string{demo}, Grace: time.Millisecond})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /flags?v=2 HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
	if _, reading := conn.Read(make([]byte, 1)); err != nil || reading != nil { // the handler waits for the body
		t.Fatal(err, reading)
	}
	stop()
	select {
	case err := <-ended:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("Run does not end")
	}
}

// Open fails for options that cannot be used, names the option, and leaves no goroutines or files
// behind.
func TestServer_Faults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	smtp := server.SMTP{URL: "smtp://mail.example.com", From: "a@example.com"}
	for name, tt := range map[string]struct {
		o    server.Options
		want string
	}{
		"folder":      {server.Options{Data: file}, "Options.Data: "},
		"geoip":       {server.Options{GeoIP: file}, "Options.GeoIP: "},
		"scripts":     {server.Options{PosthogJS: file}, "Options.PosthogJS: "},
		"address":     {server.Options{Listen: "192.0.2.1:1"}, "Options.Listen"},
		"certificate": {server.Options{Listen: "127.0.0.1:0", TLS: server.TLS{Cert: file}}, "needed together"},
		"two ways":    {server.Options{Listen: "127.0.0.1:0", TLS: server.TLS{Cert: file, Key: file, Domains: []string{"a.example"}}}, "Options.TLS.Domains cannot be used with Options.TLS.Cert"},
		"no domains":  {server.Options{Listen: "127.0.0.1:0", TLS: server.TLS{HTTP: ":80"}}, "need Options.TLS.Domains"},
		"no folder":   {server.Options{Listen: "127.0.0.1:0", TLS: server.TLS{Domains: []string{"a.example"}}}, "needs Options.Data"},
		"wildcard":    {server.Options{Listen: "127.0.0.1:0", Data: t.TempDir(), TLS: server.TLS{Domains: []string{"*.example"}}}, "Options.TLS.Domains: *.example: "},
		"port 80":     {server.Options{Listen: "127.0.0.1:0", Data: t.TempDir(), TLS: server.TLS{Domains: []string{"a.example"}, HTTP: "192.0.2.1:80"}}, "Options.TLS.HTTP"},
		"memory":      {server.Options{Memory: 255 << 20}, "Options.Memory: 267386880 bytes are not enough: choose 256 MB (268435456) or more"},
		"definitions": {server.Options{Definitions: []string{file}}, file},
		"database":    {server.Options{Database: "mysql://x/y"}, "mysql is not known"},
		"a key":       {server.Options{APIKey: "phx_" + strings.Repeat("x", 40)}, "Options.APIKey: "},
		"no site":     {server.Options{SMTP: smtp}, "Options.SiteURL is needed"},
		"bad mail":    {server.Options{SMTP: server.SMTP{URL: "mail.example.com:25"}, SiteURL: "https://x.example.com"}, "Options.SMTP.URL: "},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := server.Open(t.Context(), tt.o)
			if err == nil {
				closeServer(t, s)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// Responses that differ between two servers are in the table and in the file.
func TestServer_Shadow(t *testing.T) {
	definitions := func(name, active string) string {
		path := filepath.Join(t.TempDir(), name)
		text := `{"projects": [{"id": 1, "api_key": "phc_p", "flags": [{"id": 1, "key": "moved", "active": ` + active + `, "filters": {"groups": [{}]}}]}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	upstream := httptest.NewServer(open(t, server.Options{Definitions: []string{definitions("old.json", "false")}}).Handler())
	defer upstream.Close()
	address, err := url.Parse(upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	s := open(t, server.Options{Data: data, Definitions: []string{definitions("new.json", "true")}, Shadow: server.Shadow{Upstream: address}})
	if on := enabledFlags(t, s, "phc_p"); !on["moved"] {
		t.Errorf("another one answers: %v", on)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // the comparison happens after the response
		var table strings.Builder
		if err := s.WriteShadow(&table); err != nil || time.Now().After(deadline) {
			t.Fatalf("%v in %q", err, table.String())
		}
		if strings.Contains(table.String(), "moved") {
			break
		}
	}
	closeServer(t, s)
	report, err := os.ReadFile(filepath.Join(data, "shadow.json"))
	if err != nil || !strings.Contains(string(report), `"moved"`) {
		t.Errorf("%v: %s", err, report)
	}
}

func TestIsPublic(t *testing.T) {
	for address, public := range map[string]bool{
		"127.0.0.1:80": false, "[::1]:80": false, "192.168.1.2:80": false, "10.0.0.1:80": false, "[fd00::1]:80": false, "[fe80::1]:80": false,
		"localhost:80": false, "0.0.0.0:80": true, "[::]:80": true, "203.0.113.1:80": true, "[2001:db8::1]:80": true, ":80": true, "example.com:80": true,
	} {
		if got := server.IsPublic(address); got != public {
			t.Errorf("%s: public %v, want %v", address, got, public)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
