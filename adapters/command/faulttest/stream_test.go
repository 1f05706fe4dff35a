//go:build linux

package faulttest

import (
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// broker is a NATS server that a test may kill and start.
type broker struct {
	dir  string
	port int
	log  *lockedBuffer
	cmd  *exec.Cmd
}

func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{dir: t.TempDir(), port: freePort(t), log: &lockedBuffer{}}
	b.start(t)
	t.Cleanup(b.kill)
	return b
}

func (b *broker) address() string { return fmt.Sprintf("127.0.0.1:%d", b.port) }

func (b *broker) start(t testing.TB) {
	t.Helper()
	b.cmd = exec.Command(natsServer(t), "-js", "-sd", b.dir, "-a", "127.0.0.1", "-p", strconv.Itoa(b.port))
	b.cmd.Stdout, b.cmd.Stderr = b.log, b.log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the broker listens", func() bool {
		c, err := net.Dial("tcp", b.address())
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

func (b *broker) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// Two servers with a stream in front of one PostgreSQL get events and requests for flags: each in
// turn is killed and restarted, then the only broker. Flags are evaluated throughout, and events
// get 200 or, without the broker, 503. Accepted events are stored exactly once, and persons equal
// the result of a replay.
func TestStream_ServersAndBrokerAreKilled(t *testing.T) {
	t.Parallel()
	db, b := newDatabase(t), newBroker(t)
	args := []string{"--database", db.url(), "--stream", "nats://" + b.address(),
		"--stream-bytes", "268435456", "--rate-limit", "off"}
	servers := [2]*server{start(t, args...), start(t, args...)}
	loads := [2]*load{newLoad(2), newLoad(2)}
	for _, l := range loads {
		l.pause = 50 * time.Millisecond
	}
	for n := range *rounds {
		living, dying := servers[n%2], servers[(n+1)%2]
		queries := askFlags(living.url, 1)
		stop := [2]func(){loads[0].run(living.url), loads[1].run(dying.url)}
		loads[0].awaitOK(t, 30)
		loads[1].awaitOK(t, 30)
		busy, broken := loads[0].busy.Load(), loads[0].broken.Load()
		dying.kill()
		stop[1]()
		stop[1] = loads[1].run(living.url) // clients switch to the other server, and resend
		loads[1].awaitOK(t, 30)
		servers[(n+1)%2] = start(t, args...)
		stop[0]()
		stop[1]()
		queries.end(t, true)
		if b, k := loads[0].busy.Load()-busy, loads[0].broken.Load()-broken; b+k > 0 {
			t.Errorf("the living server has answered %d batches 503 and %d not at all", b, k)
		}
	}

	broken := loads[0].broken.Load()
	queries := [2]*flagQueries{askFlags(servers[0].url, 1), askFlags(servers[1].url, 1)}
	stop := [2]func(){loads[0].run(servers[0].url), loads[1].run(servers[1].url)}
	loads[0].awaitOK(t, 30)
	b.kill()
	for _, l := range loads {
		before := l.busy.Load()
		eventually(t, "20 requests are answered 503", func() bool { return l.busy.Load() > before+20 })
	}
	b.start(t)
	loads[0].awaitOK(t, 30)
	loads[1].awaitOK(t, 30)
	for i, l := range loads {
		stop[i]()
		queries[i].end(t, true)
		l.settle(t, servers[i].url)
		l.check(t)
	}
	if n := loads[0].broken.Load() - broken; n > 0 {
		t.Errorf("%d requests got no answer while the broker was away", n)
	}

	loads[0].book.batches = append(loads[0].book.batches, loads[1].book.all()...)
	want := 0
	for _, batch := range loads[0].book.all() {
		want += len(batch.events)
	}
	count := func() (n int) {
		stored := db.open(t)
		defer func() { _ = stored.Close() }()
		if err := stored.QueryRow(`SELECT COALESCE(SUM(events), 0) FROM event_chunks`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	stored := 0
	t.Cleanup(func() { t.Logf("%d events are stored of %d that were accepted", stored, want) })
	for moved := time.Now(); stored < want; time.Sleep(100 * time.Millisecond) { // a slow machine gets more time
		if n := count(); n > stored {
			stored, moved = n, time.Now()
		}
		if time.Since(moved) > time.Minute {
			t.Fatalf("for a minute no event was stored")
		}
	}
	eventually(t, "nothing waits, and all partitions are read", func() bool {
		sum := func(name string) float64 { return servers[0].metric(t, name) + servers[1].metric(t, name) }
		return sum("bunting_capture_stream_waiting") == 0 && sum("bunting_capture_stream_partitions") == 16
	})
	if n := servers[0].metric(t, "bunting_capture_stream_dead_letters"); n != 0 {
		t.Errorf("%v dead letters", n)
	}
	for _, s := range servers {
		if code := s.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	full := newAudit(loads[0].book)
	full.check(t, db.open(t), people)
	full.checkNoExtraEvents(t)
	t.Logf("%d events of %d persons", len(full.stored), len(full.model.persons()))
}
