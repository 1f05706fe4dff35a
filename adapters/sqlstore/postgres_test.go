package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// cluster is a PostgreSQL server of the tests' own.
type cluster struct {
	dir, bin string
	who      *syscall.Credential // nil: oneself
	process  *exec.Cmd
	alive    io.Closer // closing it ends the server
	made     atomic.Int64
}

// shared is the server that the tests share, started when the first one asks.
var (
	shared        *cluster
	sharedErr     error
	sharedStarted sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping PostgreSQL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// postgresURL makes an empty database on the shared server.
func postgresURL(t testing.TB) string {
	t.Helper()
	sharedStarted.Do(func() { shared, sharedErr = startCluster(quick) })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared.database(t)
}

func postgresStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, postgresURL(t))
}

// postgresBin finds PostgreSQL's programs: version 15 first, then the newest.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if n == 15 {
			return 1 << 20
		}
		return n
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", errors.New("PostgreSQL's programs are missing: install Debian's package postgresql-15")
}

// clusterScript makes a server, says when it is ready, and takes it away when its
// input ends: also when the tests are killed.
const clusterScript = `
"$1/initdb" -N -U bunting -A trust -E UTF8 --locale=C -D "$2/data" >"$2/log" 2>&1 &&
"$1/pg_ctl" -s -w -D "$2/data" -l "$2/log" -o "-k $2 -c listen_addresses='' $3" start >>"$2/log" 2>&1 || exit 1
echo ready
cat >/dev/null
"$1/pg_ctl" -s -m immediate -D "$2/data" stop >/dev/null 2>&1
rm -rf "$2/data"
`

// quick is for tests that do not look at what is left after a power cut.
const quick = "-c fsync=off"

// startCluster starts a server with more options. As root it runs as the user postgres, which it
// insists on.
func startCluster(options string) (*cluster, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bunting-pg-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, bin: bin}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres (Debian's package postgresql-15 makes it): %w", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		c.who = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
	}
	c.process = c.command("sh", "-c", clusterScript, "sh", bin, dir, options)
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.alive = in
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		_ = c.stop()
		return nil, fmt.Errorf("PostgreSQL does not start: %s", log)
	}
	return c, nil
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	// Signals to the tests' terminal are not for the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.who, Setpgid: true}
	return cmd
}

func (c *cluster) stop() error {
	err := c.alive.Close()
	return errors.Join(err, c.process.Wait(), os.RemoveAll(c.dir))
}

func (c *cluster) url(database string) string {
	q := url.Values{"host": {c.dir}, "user": {"bunting"}}
	return "postgres:///" + database + "?" + q.Encode()
}

func (c *cluster) admin(t testing.TB, text string) {
	t.Helper()
	db, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(text); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", c.made.Add(1))
	c.admin(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { c.admin(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	return c.url(name)
}

// pgCtl runs pg_ctl for the server's folder.
func (c *cluster) pgCtl(t testing.TB, args ...string) {
	t.Helper()
	cmd := c.command(filepath.Join(c.bin, "pg_ctl"), append([]string{"-s", "-w", "-D", filepath.Join(c.dir, "data"), "-l", filepath.Join(c.dir, "log")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl %v: %v\n%s", args, err, out)
	}
}

func TestPostgres_Restart(t *testing.T) {
	c, err := startCluster(quick)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	c.admin(t, "CREATE DATABASE own")
	s := openStore(t, c.url("own"))
	if err := commitEvents(s, 1, 10); err != nil {
		t.Fatal(err)
	}
	c.pgCtl(t, "-m", "fast", "stop")
	err = commitEvents(s, 11, 10)
	if err == nil || !strings.Contains(err.Error(), "look whether PostgreSQL runs") {
		t.Errorf("without a server: %v, want an error that says where to look", err)
	}
	c.pgCtl(t, "-o", "-k "+c.dir+" -c listen_addresses=''", "start")
	for deadline := time.Now().Add(10 * time.Second); ; {
		if err = commitEvents(s, 11, 10); err == nil || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Errorf("after the restart: %v", err)
	}
	if n := countRows(t, s, "events"); n != 20 {
		t.Errorf("%d events, want 20", n)
	}
}

// Two servers change one person: none of their changes is lost (§13.2).
func TestPostgres_13_2_TwoServers(t *testing.T) {
	address := postgresURL(t)
	stores := []*Store{openStore(t, address), openStore(t, address)}
	testTwoWriters(t, stores[0], stores[1])
}

func TestPostgres_Addresses(t *testing.T) {
	for _, tt := range []struct{ name, url, want string }{
		{"no server", "postgres://ann:s3cret@127.0.0.1:1/db", "look whether PostgreSQL runs"},
		{"malformed", "postgres://ann:s3cret@host:port/db", "the address cannot be read"},
		{"malformed escape", "postgresql://ann:s3cret%zz@host/db", "the address cannot be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(context.Background(), tt.url, Config{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%v, want an error with %q and without the password", err, tt.want)
			}
		})
	}
	address := postgresURL(t)
	_, err := Open(context.Background(), strings.Replace(address, "/test_", "/missing_", 1), Config{})
	if err == nil || !strings.Contains(err.Error(), "createdb") {
		t.Errorf("without the database: %v, want an error that says how to make it", err)
	}
}

// Servers that start at once migrate one after the other.
func TestPostgres_MigrateTogether(t *testing.T) {
	address := postgresURL(t)
	errs := make(chan error, 4)
	for range cap(errs) {
		go func() {
			s, err := Open(context.Background(), address, Config{})
			if err == nil {
				err = s.Close()
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// While there are no statistics PostgreSQL must not read a project's every row to
// find some of them by their keys.
func TestPostgres_FindsByKey(t *testing.T) {
	s := openStore(t, postgresURL(t))
	for name, b := range map[string]*bulk{
		"people": &findPeople, "groups": &findGroups, "flag calls": &findCalls, "names": &findSeen, "persons": &findPersons, "erased": &findErased,
	} {
		args := make([]any, b.fixed)
		for i := range args {
			args[i] = "1"
		}
		rows := bulkSizes[1]
		for range rows {
			args = append(args, []byte("some key"))
		}
		var plan strings.Builder
		err := query(context.Background(), s.read, func(rows *sql.Rows) error {
			var line string
			err := rows.Scan(&line)
			plan.WriteString(line + "\n")
			return err
		}, "EXPLAIN "+b.texts[1], args...)
		if err != nil || !regexp.MustCompile(`Index Cond: .*column1`).MatchString(plan.String()) {
			t.Errorf("%s, %v: not by key:\n%s", name, err, &plan)
		}
	}
}
