package remote_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/flags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	projectKey = "phc_remote"
	secretKey  = "phs_remote"
)

// definitions has a flag of each name, on for every subject.
func definitions(names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"groups": [{}]}}`, i+1, name)
	}
	return `{"flags": [` + strings.Join(list, ", ") + `]}`
}

// network is between a Source and servers: connections lead to the current target, and open
// connections are closed when the target changes.
type network struct {
	mu    sync.Mutex
	to    string // host:port
	conns map[net.Conn]bool
	dials atomic.Int64
}

func (n *network) redirect(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.to = address
	for c := range n.conns {
		_ = c.Close()
	}
	n.conns = map[net.Conn]bool{}
}

func (n *network) client() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true, // each request opens a connection to the current target
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			n.dials.Add(1)
			n.mu.Lock()
			to := n.to
			n.mu.Unlock()
			c, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				return nil, err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.to != to {
				_ = c.Close()
				return nil, net.ErrClosed
			}
			if n.conns == nil {
				n.conns = map[net.Conn]bool{}
			}
			n.conns[c] = true
			return c, nil
		},
	}}
}

// serve starts a server and returns its host:port.
func serve(t testing.TB, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.Listener.Addr().String()
}

// nowhere returns an address at which no server listens.
func nowhere(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// blackHole accepts connections and never sends anything.
func blackHole(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		done.Wait()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return l.Addr().String()
}

// config returns a Config with waits that are a hundred times shorter.
func config(t testing.TB, n *network) remote.Config {
	t.Helper()
	return remote.Faster(remote.Config{
		URL: "http://flags.test", ProjectKey: projectKey, Key: secretKey, Dir: t.TempDir(),
		HTTPClient: n.client(), Timeout: 5 * time.Second, Poll: 2 * time.Second,
	}, 100, 5*time.Second, time.Second)
}

func open(t testing.TB, c remote.Config) *remote.Source {
	t.Helper()
	s, err := remote.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// waitUntil waits for a condition.
func waitUntil(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", condition)
		}
	}
}

// keys returns the keys of a Source's flags, or "" without flags.
func keys(s *remote.Source) string {
	var keys []string
	set := s.Set()
	for key := range set.All() {
		if set.Status(key) == flags.Answered {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// checkStopped closes a Source, after which its copy is written.
func checkStopped(t testing.TB, s *remote.Source) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
