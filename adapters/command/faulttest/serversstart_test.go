//go:build linux

package faulttest

import (
	"database/sql/driver"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A PostgreSQL server that hangs, as behind a broken network, delays neither the start of a server
// that has copies, nor requests for flags, nor the end of a server: all of that happens while it
// hangs (decision 29).
func TestServers_PostgresHangs(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url(), "--rate-limit", "off"}
	folder := onSQLite(t.TempDir())
	s := start(t, append(folder, args...)...)
	waitForCopies(t, folder[1])
	thaw := db.freeze(t)
	checkFlags(t, s, "running")
	cold := start(t, append(folder, args...)...)
	if !strings.Contains(cold.out.String(), "cannot be reached") {
		t.Errorf("it prints %s", cold.out)
	}
	// If each look-up waited two seconds for the database, all together would take several minutes.
	// The pauses let the servers try the database meanwhile.
	began := time.Now()
	for range 100 {
		checkFlags(t, s, "running")
		checkFlags(t, cold, "cold")
		for _, x := range []*server{s, cold} {
			if status, body, _ := x.request(t, "GET", "/_readiness", ""); status != 200 || !strings.Contains(body, "degraded") {
				t.Fatalf("/_readiness: %d %s", status, body)
			}
		}
		time.Sleep(40 * time.Millisecond)
	}
	if took := time.Since(began); took > patience {
		t.Errorf("400 requests beside a database that hangs take %s: they wait for it", took)
	}
	checkEndsWithoutDatabase(t)
	if code := cold.stop(t); code != 0 { // a server that waited would be cut off
		t.Errorf("exit code %d", code)
	}
	cold = start(t, append(folder, args...)...)
	thaw()
	for _, x := range []*server{s, cold} {
		eventually(t, "it is ready, and flags that need what is stored are answered", func() bool {
			ready, text, _ := x.request(t, "GET", "/_readiness", "")
			status, body := x.flags(t, "u")
			return ready == 200 && text == "ready\n" && status == 200 && !strings.Contains(body, `"errorsWhileComputingFlags":true`)
		})
		if code := x.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
}

// checkEndsWithoutDatabase proves that a server without copies waits for a database that accepts
// connections and sends no data, but ends at once when it is stopped.
func checkEndsWithoutDatabase(t *testing.T) {
	t.Helper()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	if err := silent.(*net.TCPListener).SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	bare, _ := launchBare(t, nil, "--database", "postgres://bunting@"+silent.Addr().String()+"/postgres?sslmode=disable")
	conn, err := silent.Accept()
	if err != nil {
		t.Fatalf("it does not ask for its database: %v\n%s", err, bare.log.tail(20))
	}
	defer func() { _ = conn.Close() }()
	if !bare.running() {
		t.Errorf("it has ended: %s", bare.log.tail(20))
	}
	bare.stop(t)
}

// If PostgreSQL works but another server holds the lock of the schema, a server with copies is not
// ready but evaluates flags; its readiness sends balancers elsewhere. It ends when it is stopped.
func TestServers_StartWaits(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := append(onSQLite(t.TempDir()), "--database", db.url(), "--rate-limit", "off")
	s := start(t, args...)
	waitForCopies(t, args[1])
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
	// Without copies the server waits, although it has a definitions file.
	inDatabase(`SELECT pg_advisory_lock($1)`, managementLock)
	bare, _ := launch(t, nil, "--database", db.url())
	eventually(t, "it waits for the lock", func() bool {
		var waiting int
		err := pool.QueryRow(`SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`).Scan(&waiting)
		return err == nil && waiting > 0
	})
	bare.stop(t) // while it waits
	inDatabase(`SELECT pg_advisory_unlock($1)`, managementLock)

	inDatabase(`SELECT pg_advisory_lock($1)`, schemaLock)
	for range 2 {
		s = start(t, args...) // while another server has the lock
		checkFlags(t, s, "waiting")
		if status, body, _ := s.request(t, "GET", "/_readiness", ""); status != 503 {
			t.Errorf("/_readiness: %d %s", status, body)
		}
		if code := s.stop(t); code != 0 {
			t.Errorf("exit code %d", code)
		}
	}
	s = start(t, append(args, "--upstream", "http://127.0.0.1:1")...)
	s.metric(t, "bunting_shadow_requests_total")
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); err == nil { // the connection is closed, and the lock is released
		t.Fatal("the connection is still there")
	}
	eventually(t, "it is ready", func() bool {
		status, body, _ := s.request(t, "GET", "/_readiness", "")
		return status == 200 && body == "ready\n"
	})
	eventually(t, "it has printed its projects", func() bool { return strings.Contains(s.out.String(), "phc_demo") })
	s.metric(t, "bunting_shadow_requests_total")
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// waitForCopies waits until copies of the project's definitions are on disk.
func waitForCopies(t *testing.T, folder string) {
	t.Helper()
	eventually(t, "the definitions are on the disk", func() bool {
		found, err := filepath.Glob(filepath.Join(folder, "last-good", "*.copy"))
		return err == nil && len(found) == 1
	})
}

// checkFlags requires the value of a flag that needs no stored data.
func checkFlags(t *testing.T, s *server, name string) {
	t.Helper()
	status, body, _ := s.request(t, "POST", "/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u","flag_keys_to_evaluate":["new-onboarding"]}`)
	if status != http.StatusOK || !strings.Contains(body, `"enabled":true`) {
		t.Fatalf("%s: /flags answers %d: %s", name, status, body)
	}
}
