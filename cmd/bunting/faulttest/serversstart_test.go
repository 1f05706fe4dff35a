//go:build linux

package faulttest

import (
	"database/sql/driver"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// waits is how long a request for flags may take with a database that hangs: the
// first one of a server, and any later one.
const (
	firstWait = 3 * time.Second
	laterWait = time.Second
)

// A PostgreSQL that hangs, as behind a broken network, neither keeps a server with
// copies from starting, nor more than the first requests for flags waiting, nor a
// server from ending (decision 29).
func TestServers_PostgresHangs(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url(), "--rate-limit", "off"}
	folder := onSQLite(t.TempDir())
	s := start(t, append(folder, args...)...)
	keptOnDisk(t, folder[1])
	thaw := db.freeze(t)
	begin := time.Now()
	flagsSoon(t, s, "running", firstWait)
	t.Logf("the first answer after %s", time.Since(begin))
	begin = time.Now()
	cold := start(t, append(folder, args...)...)
	if took := time.Since(begin); took > 2*firstWait {
		t.Errorf("a server with copies starts after %s", took)
	}
	t.Logf("a server with copies has started after %s", time.Since(begin))
	if !strings.Contains(cold.out.String(), "cannot be reached") {
		t.Errorf("it prints %s", cold.out)
	}
	flagsSoon(t, cold, "cold", laterWait)
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		flagsSoon(t, s, "running", laterWait)
		flagsSoon(t, cold, "cold", laterWait)
		for _, x := range []*server{s, cold} {
			began := time.Now()
			if status, body, _ := x.request(t, "GET", "/_readiness", ""); status != 200 || !strings.Contains(body, "degraded") || time.Since(began) > laterWait {
				t.Fatalf("/_readiness: %d %s after %s", status, body, time.Since(began))
			}
		}
	}
	// A server without copies waits, but not when it is told to end.
	bare, _ := launchBare(t, nil, args...)
	time.Sleep(300 * time.Millisecond)
	for name, x := range map[string]*server{"without copies": bare, "cold": cold} {
		begin := time.Now()
		x.stop(t)
		if took := time.Since(begin); took > 8*time.Second {
			t.Errorf("%s: it ends after %s", name, took)
		}
	}
	cold = start(t, append(folder, args...)...)
	thaw()
	for _, x := range []*server{s, cold} {
		eventually(t, 20*time.Second, "it is ready, and flags that need what is stored are answered", func() bool {
			ready, text, _ := x.request(t, "GET", "/_readiness", "")
			status, body := x.flags(t, "u")
			return ready == 200 && text == "ready\n" && status == 200 && !strings.Contains(body, `"errorsWhileComputingFlags":true`)
		})
		if code := x.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// A PostgreSQL that answers, but where another server holds the lock of the schema,
// keeps a server with copies from being whole, and not from answering flags to who
// asks it; balancers are told to ask others. It ends when it is told to.
func TestServers_StartWaits(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := append(onSQLite(t.TempDir()), "--database", db.url(), "--rate-limit", "off")
	s := start(t, args...)
	keptOnDisk(t, args[1])
	if code := s.stop(t); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	const schemaLock, managementLock = 0x42554e53 << 32, 0x42554e55 << 32
	pool := db.open(t)
	defer func() { _ = pool.Close() }()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inDatabase := func(text string, lock int64) {
		t.Helper()
		if _, err := conn.ExecContext(t.Context(), text, lock); err != nil {
			t.Fatal(err)
		}
	}
	// Without copies it waits; here with its definitions file in the hand.
	inDatabase(`SELECT pg_advisory_lock($1)`, managementLock)
	bare, _ := launch(t, nil, "--database", db.url())
	eventually(t, 10*time.Second, "it waits for the lock", func() bool {
		var waiting int
		err := pool.QueryRow(`SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).Scan(&waiting)
		return err == nil && waiting > 0
	})
	begin := time.Now()
	bare.stop(t)
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("it ends after %s", took)
	}
	inDatabase(`SELECT pg_advisory_unlock($1)`, managementLock)

	inDatabase(`SELECT pg_advisory_lock($1)`, schemaLock)
	for range 2 {
		begin := time.Now()
		s = start(t, args...)
		if took := time.Since(begin); took > 2*firstWait {
			t.Errorf("it starts after %s", took)
		}
		flagsSoon(t, s, "waiting", laterWait)
		if status, body, _ := s.request(t, "GET", "/_readiness", ""); status != 503 {
			t.Errorf("/_readiness: %d %s", status, body)
		}
		begin = time.Now()
		if code := s.stop(t); code != 0 || time.Since(begin) > 8*time.Second {
			t.Errorf("it ends after %s with %d", time.Since(begin), code)
		}
	}
	s = start(t, append(args, "--upstream", "http://127.0.0.1:1")...)
	s.metric(t, "bunting_shadow_requests_total")
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); err == nil { // it is closed, and the lock free
		t.Fatal("the connection is still there")
	}
	eventually(t, 20*time.Second, "it is ready", func() bool {
		status, body, _ := s.request(t, "GET", "/_readiness", "")
		return status == 200 && body == "ready\n"
	})
	eventually(t, 5*time.Second, "it has printed its projects", func() bool { return strings.Contains(s.out.String(), "phc_demo") })
	s.metric(t, "bunting_shadow_requests_total")
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// keptOnDisk waits until the definitions of the project are kept.
func keptOnDisk(t *testing.T, folder string) {
	t.Helper()
	eventually(t, 10*time.Second, "the definitions are on the disk", func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "last-good", "*.copy"))
		return err == nil && len(found) == 1
	})
}

// flagsSoon wants an answer of a flag that needs nothing stored within a time.
func flagsSoon(t *testing.T, s *server, name string, within time.Duration) {
	t.Helper()
	began := time.Now()
	status, body, _ := s.request(t, "POST", "/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u","flag_keys_to_evaluate":["new-onboarding"]}`)
	if took := time.Since(began); status != http.StatusOK || !strings.Contains(body, `"enabled":true`) || took > within {
		t.Fatalf("%s: /flags answers %d after %s: %s", name, status, took, body)
	}
}
