package browsertest

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// postgresScript starts PostgreSQL in a folder, reports when it is ready, and stops it at the end of its
// standard input.
const postgresScript = `
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
"$bin/initdb" -N -U bunting --auth=trust -E UTF8 --locale=C -D "$1/data" >"$1/log" 2>&1 &&
"$bin/pg_ctl" -s -w -D "$1/data" -l "$1/log" -o "-k $1 -c listen_addresses='' -c fsync=off" start >>"$1/log" 2>&1 || exit 1
echo ready
cat >/dev/null
"$bin/pg_ctl" -s -m immediate -D "$1/data" stop >/dev/null 2>&1
`

// postgres starts a server of PostgreSQL and returns the URL of its database. It does not run as root.
func postgres(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "console-pg-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", postgresScript, "sh", dir)
	cmd.Dir = dir
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Fatalf("PostgreSQL does not start: %v\n%s", err, log)
	}
	return "postgres:///postgres?host=" + dir + "&user=bunting"
}

// T27 (console.md §7): two servers of one database behind one address. A session that began at one holds
// at the other, events that one accepts are seen at the other, and a sign-out at one ends the session at
// both.
func TestServers_OneSession(t *testing.T) {
	database := postgres(t)
	first := serve(t, "--database", database)
	second := (&server{t: t, data: t.TempDir(), key: first.key, publicKey: first.publicKey, link: first.link}).start("--database", database)
	proxies := []http.Handler{proxyTo(t, first.url, ""), proxyTo(t, second.url, "")}
	var at atomic.Int32
	s := first.behind(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proxies[at.Load()].ServeHTTP(w, r) }), "")
	p := s.open(t, "p/1")
	p.node("heading", "First steps")

	at.Store(1)
	p.visit("p/1/live")
	p.node("status", "Connected")
	first.capture(map[string]any{"event": "order placed", "distinct_id": "ana"})
	p.node("table", "Live events", "button", "order placed")
	other := s.openAnonymous(t) // the same browser, and so the same session
	other.visit("p/1/flags")
	other.node("heading", "Flags")

	at.Store(0)
	other.click("button", "Account menu")
	other.click("menuitem", "Sign out")
	other.node("button", "Sign in with key")
	at.Store(1)
	other.visit("p/1/flags")
	other.node("button", "Sign in with key")
	if session := js[string](other, `fetch("../api/session/current/").then(r => r.text())`); session != "null\n" && session != "null" {
		t.Errorf("the other server has the session %s", session)
	}
}
