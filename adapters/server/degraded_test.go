package server_test

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/server"
)

// wire is the connection to a database, which can be interrupted.
type wire struct {
	t       *testing.T
	socket  string // of the database
	address string // empty before the first call of mend

	listener net.Listener
	mu       sync.Mutex
	open     []net.Conn
	running  sync.WaitGroup
}

// mend starts to forward connections, at the same address each time.
func (w *wire) mend() {
	w.t.Helper()
	if w.address == "" {
		w.address = "127.0.0.1:0"
	}
	var err error
	if w.listener, err = net.Listen("tcp", w.address); err != nil {
		w.t.Fatal(err)
	}
	w.address = w.listener.Addr().String()
	w.running.Go(func() {
		for {
			from, err := w.listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", w.socket)
			if err != nil {
				_ = from.Close()
				continue
			}
			w.mu.Lock()
			w.open = append(w.open, from, to)
			w.mu.Unlock()
			w.running.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
			w.running.Go(func() { _, _ = io.Copy(from, to); _ = from.Close() })
		}
	})
}

// cut stops forwarding and closes all connections.
func (w *wire) cut() {
	_ = w.listener.Close()
	w.mu.Lock()
	for _, c := range w.open {
		_ = c.Close()
	}
	w.open = nil
	w.mu.Unlock()
	w.running.Wait()
}

// A server whose database is unavailable at the start evaluates flags with the last good
// definitions, responds 503 to everything else, and recovers.
func TestServer_WithoutItsDatabase(t *testing.T) {
	database, err := url.Parse(pgtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, socket: filepath.Join(database.Query().Get("host"), ".s.PGSQL.5432")}
	w.mend()
	defer func() { w.cut() }()
	o := server.Options{
		Data: t.TempDir(), Definitions: []string{demo},
		Database: "postgres://bunting@" + w.address + database.Path + "?sslmode=disable",
	}
	s := open(t, o)
	if on := enabledFlags(t, s, "phc_demo"); !on["new-onboarding"] {
		t.Errorf("on: %v", on)
	}
	for deadline := time.Now().Add(patience); s.Copies() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no definitions are kept")
		}
	}
	closeServer(t, s)

	w.cut()
	registry := prometheus.NewPedanticRegistry()
	o.Registerer = registry
	// measured reports whether a registered metric has a value.
	measured := func(name string) bool {
		families, err := registry.Gather()
		return err == nil && slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
	}
	s = open(t, o)
	select {
	case <-s.Recovered():
		t.Fatal("whole without a database")
	default:
	}
	if on := enabledFlags(t, s, "phc_demo"); !on["new-onboarding"] {
		t.Errorf("on without the database: %v", on)
	}
	if s.Decider() == nil {
		t.Error("nothing decides in the process")
	}
	if _, err := s.Projects(t.Context()); err == nil {
		t.Error("projects without a database")
	}
	if status, body := ask(t, s, "GET", "/_readiness", "", ""); status != http.StatusOK || !strings.Contains(body, "last valid definitions") {
		t.Errorf("readiness: %d %s", status, body)
	}
	if status, _ := ask(t, s, "GET", "/api/users/@me/", "phx_demo", ""); status != http.StatusServiceUnavailable {
		t.Errorf("management: %d", status)
	}
	s.Reload() // without parts
	if !measured("bunting_flags_requests_total") || measured("bunting_capture_commits_total") {
		t.Error("the registered metrics are not those of flags")
	}

	w.mend()
	select {
	case <-s.Recovered():
	case <-time.After(patience):
		t.Fatal("does not become whole")
	}
	if status, body := ask(t, s, "GET", "/api/users/@me/", "phx_demo", ""); status != http.StatusOK {
		t.Errorf("management: %d %s", status, body)
	}
	if !measured("bunting_capture_commits_total") {
		t.Error("the registered metrics are still those of a server without its database")
	}
	if onlyProject(t, s).APIKey != "phc_demo" {
		t.Error("another project")
	}
	s.Reload()
	closeServer(t, s)
}
