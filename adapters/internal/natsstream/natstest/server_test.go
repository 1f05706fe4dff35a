// Package natstest tests the stream with real brokers. It is a separate module, so that the product
// does not get their dependencies.
package natstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within is the timeout of these tests for an expected state.
const within = time.Minute

func waitUntil(t testing.TB, condition string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", within, condition)
		}
	}
}

// start starts a broker with its files in dir, which writes to the disk before it acknowledges.
func start(t testing.TB, dir string, change func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: dir, SyncAlways: true, NoSigs: true, NoLog: true,
		JetStreamMaxStore: 32 << 30, JetStreamMaxMemory: 64 << 20,
	}
	if change != nil {
		change(o)
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(within) {
		t.Fatal("the broker does not start")
	}
	t.Cleanup(func() { stop(s) })
	return s
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func port(t testing.TB, s *server.Server) int { return s.Addr().(*net.TCPAddr).Port }

// cluster has three brokers that each store all data.
type cluster struct {
	t       testing.TB
	servers [3]*server.Server
	ports   [3]int
	routes  [3]int
	dir     string
}

func startCluster(t testing.TB) *cluster {
	c := &cluster{t: t, dir: t.TempDir()}
	for i := range c.ports {
		c.ports[i], c.routes[i] = freePort(t), freePort(t)
	}
	for i := range c.servers {
		c.start(i)
	}
	// The leader must have all brokers as peers; otherwise the remaining two may have no majority
	// when one is killed.
	waitUntil(t, "the brokers have a leader that knows all of them", func() bool {
		peers := 0
		for _, s := range c.servers {
			if !s.JetStreamIsCurrent() {
				return false
			}
			peers = max(peers, len(s.JetStreamClusterPeers()))
		}
		return peers == len(c.servers)
	})
	return c
}

// follower returns a broker that is not the leader. If the leader is killed, the next one may not
// have the free space of the other brokers yet, and places no streams there.
func (c *cluster) follower() *server.Server {
	for _, s := range c.servers {
		if !s.JetStreamIsLeader() {
			return s
		}
	}
	c.t.Fatal("every broker is a leader")
	return nil
}

func (c *cluster) start(i int) {
	c.servers[i] = start(c.t, filepath.Join(c.dir, fmt.Sprint(i)), func(o *server.Options) {
		o.ServerName, o.Port = fmt.Sprintf("n%d", i), c.ports[i]
		o.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: c.routes[i]}
		for _, p := range c.routes {
			o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", p)})
		}
	})
}

func (c *cluster) url() string {
	return fmt.Sprintf("nats://127.0.0.1:%d,nats://127.0.0.1:%d,nats://127.0.0.1:%d", c.ports[0], c.ports[1], c.ports[2])
}

// freePort returns a free port below those that the system assigns, so that it is still free when a
// broker is restarted.
func freePort(t testing.TB) int {
	for range 1000 {
		port := 10_000 + rand.IntN(22_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// connect connects, with a short lease so that tests do not wait long.
func connect(t testing.TB, c natsstream.Config) *natsstream.Stream {
	t.Helper()
	if c.Lease == 0 {
		c.Lease = 3 * time.Second
	}
	s, err := natsstream.Connect(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}
