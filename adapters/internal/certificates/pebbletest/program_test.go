package pebbletest

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// program returns the program: the one in TEST_BINARY, or one that it builds.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TEST_BINARY"); path != "" {
		return path
	}
	path := filepath.Join(t.TempDir(), "bunting")
	build := exec.Command("go", "build", "-o", path, "./cmd/bunting")
	build.Dir, build.Env = "../../../..", append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

const ownerKey = "phx_ofthetestwithpebble00000000000000000"

// serve starts bunting serve for the domains, and returns its output and a function that stops it.
func serve(t *testing.T, a *authority, data string, args ...string) (*output, func()) {
	t.Helper()
	keyFile := filepath.Join(t.TempDir(), "owner.key")
	if err := os.WriteFile(keyFile, []byte(ownerKey), 0o600); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--listen", a.tlsAddress, "--data", data, "--owner-key-file", keyFile, "--acme", strings.Join(domains, ","), "--acme-directory", a.directory()}, args...)
	cmd, out := exec.CommandContext(t.Context(), program(t), args...), &output{}
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), "SSL_CERT_FILE="+a.rootFile)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return out, func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// waitFor waits until do succeeds.
func waitFor(t *testing.T, out *output, do func() error) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, out)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// get returns a response to the owner, with its body.
func get(t *testing.T, client *http.Client, address string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+ownerKey)
	r.Host = domains[0]
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// The program obtains a certificate over either port and serves HTTPS with it. Health and metrics have
// its end. After a restart it serves the stored certificate, although the authority is gone.
func TestServe(t *testing.T) {
	for name, overHTTP := range map[string]bool{"HTTP-01": true, "TLS-ALPN-01": false} {
		t.Run(name, func(t *testing.T) {
			a, data := newAuthority(t), filepath.Join(t.TempDir(), "data")
			var args []string
			if overHTTP {
				args = []string{"--acme-http", a.httpAddress}
			}
			out, stop := serve(t, a, data, args...)
			waitFor(t, out, func() error { return a.verify(t, a.tlsAddress) })
			client := a.client()
			var health struct {
				Checks []struct{ Name, State, Detail string }
			}
			_, body := get(t, client, "https://"+a.tlsAddress+"/api/health/")
			if err := json.Unmarshal([]byte(body), &health); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			found := false
			for _, c := range health.Checks {
				found = found || c.Name == "certificate" && c.State == "ok" && strings.HasPrefix(c.Detail, "good until 20")
			}
			if _, metrics := get(t, client, "https://"+a.tlsAddress+"/metrics"); !found || !strings.Contains(metrics, "\nbunting_certificate_expires_timestamp_seconds 1") {
				t.Errorf("the certificate is missing in %s\nor in %s", body, metrics)
			}
			if overHTTP {
				res, _ := get(t, client, "http://"+a.httpAddress+"/a?b=c")
				if want := "https://" + domains[0] + "/a?b=c"; res.StatusCode != http.StatusPermanentRedirect || res.Header.Get("Location") != want {
					t.Errorf("%d to %s, want %s", res.StatusCode, res.Header.Get("Location"), want)
				}
			}
			stop()
			a.Close()
			out, stop = serve(t, a, data, args...)
			waitFor(t, out, func() error { return a.verify(t, a.tlsAddress) })
			stop()
		})
	}
}

// client returns a client for the domains that accepts only certificates of the authority, and follows
// no redirects.
func (a *authority) client() *http.Client {
	return &http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, ServerName: domains[0]}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
