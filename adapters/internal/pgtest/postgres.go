package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PostgresServer is a PostgreSQL server for tests. Connections through its socket need
// no password, connections over TCP do.
type PostgresServer struct {
	// Dir is the server's folder, with its socket, and with its data in Dir/data.
	Dir string

	bin        string
	port       int
	credential *syscall.Credential // nil means the user of the tests
	process    *exec.Cmd
	stdin      io.Closer // closing it stops the server
	databases  atomic.Int64

	migrated migratedPostgres
}

// QuickPostgres are options for tests that do not check durability after a power cut.
const QuickPostgres = "-c fsync=off -c full_page_writes=off -c autovacuum=off -c jit=off"

// shared is the server that the tests of a package share. It starts on first use and
// ends with the tests.
var (
	shared     *PostgresServer
	sharedErr  error
	sharedOnce sync.Once
)

// Postgres creates an empty database on the server that a package's tests share, and
// returns its URL.
func Postgres(t testing.TB) string {
	t.Helper()
	return sharedPostgres(t).Database(t)
}

func sharedPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	sharedOnce.Do(func() { shared, sharedErr = startPostgres(0, QuickPostgres) })
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

// StartPostgres starts a server with further options, which ends with the test. If port
// is not 0, the server also listens on that port of 127.0.0.1.
func StartPostgres(t testing.TB, port int, options string) *PostgresServer {
	t.Helper()
	s, err := startPostgres(port, options)
	must(t, err)
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error("stopping PostgreSQL:", err)
		}
	})
	return s
}

// postgresBin returns the folder of PostgreSQL's programs, of version 15 if installed,
// otherwise of the newest.
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

// postgresScript starts a server, reports when it is ready, and removes it at the end
// of its standard input, which also ends when the tests are killed.
const postgresScript = `
"$1/initdb" -N -U bunting --auth-local=trust --auth-host=scram-sha-256 --pwfile="$2/password" -E UTF8 --locale=C -D "$2/data" >"$2/log" 2>&1 &&
"$1/pg_ctl" -s -w -D "$2/data" -l "$2/log" -o "-k $2 $3" start >>"$2/log" 2>&1 || exit 1
echo ready
cat >/dev/null
"$1/pg_ctl" -s -m immediate -D "$2/data" stop >/dev/null 2>&1
cd / && rm -rf "$2"
`

// startPostgres starts a server. If the tests run as root, it runs as the user
// postgres, because PostgreSQL refuses to run as root.
func startPostgres(port int, options string) (*PostgresServer, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bunting-pg-")
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{Dir: dir, bin: bin, port: port}
	if os.Geteuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user postgres (Debian's package postgresql-15 makes it): %w", err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		s.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
	}
	if err := s.write("password", []byte("bunting\n")); err != nil {
		return nil, err
	}
	s.process = s.command("sh", "-c", postgresScript, "sh", bin, dir, s.listen()+" "+options)
	in, err := s.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = in
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(out, ready); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		_ = s.stop()
		return nil, fmt.Errorf("PostgreSQL does not start: %s", log)
	}
	return s, nil
}

func (s *PostgresServer) listen() string {
	if s.port == 0 {
		return "-c listen_addresses=''"
	}
	return fmt.Sprintf("-c listen_addresses=127.0.0.1 -c port=%d", s.port)
}

func (s *PostgresServer) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.Dir
	// Signals from the terminal of the tests must not reach the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential, Setpgid: true}
	return cmd
}

func (s *PostgresServer) stop() error {
	err := s.stdin.Close()
	return errors.Join(err, s.process.Wait(), os.RemoveAll(s.Dir))
}

// URL returns the URL of a database, through the socket.
func (s *PostgresServer) databaseURL(database string) string {
	q := url.Values{"host": {s.Dir}, "user": {"bunting"}}
	if s.port != 0 {
		q.Set("port", strconv.Itoa(s.port))
	}
	return "postgres:///" + database + "?" + q.Encode()
}

// Admin executes a statement as the server's superuser bunting, whose password is
// bunting.
func (s *PostgresServer) Admin(t testing.TB, text string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, s.databaseURL("postgres"))
	must(t, err)
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, text); err != nil {
		t.Fatal(err)
	}
}

// Database creates an empty database, which is dropped at the end of the test, and
// returns its URL.
func (s *PostgresServer) Database(t testing.TB) string {
	t.Helper()
	name := s.newName()
	s.Admin(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { s.drop(t, name) })
	return s.databaseURL(name)
}

func (s *PostgresServer) newName() string { return fmt.Sprintf("test_%d", s.databases.Add(1)) }

func (s *PostgresServer) drop(t testing.TB, name string) {
	t.Helper()
	s.Admin(t, "DROP DATABASE "+name+" WITH (FORCE)")
}

// Stop stops the server in the default mode of pg_ctl. Start starts it.
func (s *PostgresServer) Stop(t testing.TB) {
	t.Helper()
	s.ctl(t, "-m", "fast", "stop")
}

// Start starts a server after Stop.
func (s *PostgresServer) Start(t testing.TB) {
	t.Helper()
	s.ctl(t, "-o", "-k "+s.Dir+" "+s.listen(), "start")
}

func (s *PostgresServer) ctl(t testing.TB, args ...string) {
	t.Helper()
	cmd := s.command(filepath.Join(s.bin, "pg_ctl"), append([]string{"-s", "-w", "-D", filepath.Join(s.Dir, "data"), "-l", filepath.Join(s.Dir, "log")}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_ctl %v: %v\n%s", args, err, out)
	}
}

// WriteFile writes a file to the server's folder, readable only by the server.
func (s *PostgresServer) WriteFile(t testing.TB, name string, data []byte) {
	t.Helper()
	must(t, s.write(name, data))
}

func (s *PostgresServer) write(name string, data []byte) error {
	path := filepath.Join(s.Dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil || s.credential == nil {
		return err
	}
	return os.Chown(path, int(s.credential.Uid), int(s.credential.Gid))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
