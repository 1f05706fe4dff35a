package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// shift is one run of the worker.
type shift struct {
	*testing.T
	lines chan string
	stop  context.CancelFunc
	ended chan error
}

func begin(t *testing.T, url string) *shift {
	ctx, stop := context.WithCancel(t.Context())
	s := &shift{t, make(chan string), stop, make(chan error, 1)}
	go func() {
		s.ended <- run(ctx, url, 10*time.Millisecond, func(line string) {
			select {
			case s.lines <- line:
			case <-ctx.Done():
			}
		})
	}()
	return s
}

// until waits for a line. If next is set, the line must be the next one.
func (s *shift) until(want string, next bool) {
	s.Helper()
	for deadline := time.After(patience); ; {
		select {
		case line := <-s.lines:
			if line == want {
				return
			} else if next {
				s.Fatalf("%q, want %q", line, want)
			}
		case err := <-s.ended:
			s.Fatal("the worker has ended:", err)
		case <-deadline:
			s.Fatalf("never %q", want)
		}
	}
}

func (s *shift) end() {
	s.Helper()
	s.stop()
	if err := <-s.ended; err != nil {
		s.Log("what waited was not sent:", err)
	}
}

// The worker starts without a server, uses the definitions of a server as soon as it is reachable
// and sends it events, and after a restart without the server it uses the last definitions.
func TestWorker(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	first := begin(t, "http://"+address)
	first.until("worked with the built-in engine", true)

	file := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(file, []byte(`{"projects": [{"id": 1, "api_key": "phc_demo", "secret_api_keys": ["phs_demo"], "flags": [
		{"id": 1, "key": "engine", "active": true, "filters": {"groups": [{}], "multivariate": {"variants": [{"key": "served", "rollout_percentage": 100}]}}}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(t.Context(), server.Options{Listen: address, Definitions: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Run(ctx) }()
	first.until("worked with the served engine", false)
	first.end()
	if n := s.Intake().Stats().Accepted; n == 0 {
		t.Error("the server has no events of the worker")
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}

	second := begin(t, "http://"+address)
	second.until("worked with the served engine", true)
	second.end()
}
