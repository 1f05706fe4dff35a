//go:build linux

package faulttest

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// database is a PostgreSQL server that a test may stop and start.
type database struct {
	bin, dir string
	port     int
	// as is the user that it runs as, since it refuses to run as root.
	as *syscall.Credential

	log   *lockedBuffer
	cmd   *exec.Cmd
	ended chan struct{}
}

// newDatabase creates and starts a PostgreSQL server.
func newDatabase(t testing.TB) *database {
	t.Helper()
	d, err := newPostgresFolder()
	if err != nil {
		t.Fatal(err)
	}
	d.port = freePort(t)
	t.Cleanup(func() {
		if d.cmd != nil {
			d.stop(t)
		}
		_ = os.RemoveAll(d.dir)
	})
	cluster, err := initialised()
	if err != nil {
		t.Fatal(err)
	}
	// Keeps the owner and the mode of every file.
	if out, err := exec.Command("cp", "-a", cluster, d.data()).CombinedOutput(); err != nil {
		t.Fatalf("the cluster is not copied: %v\n%s", err, out)
	}
	d.start(t)
	return d
}

// initialised returns a cluster that no server has used, of which every test gets a copy: initdb
// takes longer than all else that a test does with its database at first.
var initialised = sync.OnceValues(func() (string, error) {
	d, err := newPostgresFolder()
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() { _ = os.RemoveAll(d.dir) })
	if err := d.command("initdb", "-D", d.data(), "-U", "bunting", "-A", "trust", "-E", "UTF8", "--locale=C").Run(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, d.log)
	}
	return d.data(), nil
})

// newPostgresFolder returns a database with a new folder, which is empty and belongs to the user
// that PostgreSQL runs as.
func newPostgresFolder() (*database, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return nil, errors.New("PostgreSQL is missing: install Debian's package postgresql-15")
	}
	slices.Sort(found)
	// Not t.TempDir, whose folder other users must not enter.
	dir, err := os.MkdirTemp("", "bunting-postgres-")
	if err != nil {
		return nil, err
	}
	d := &database{bin: found[len(found)-1], dir: dir, log: &lockedBuffer{}}
	if os.Getuid() == 0 {
		if d.as, err = credential("postgres"); err == nil {
			err = os.Chown(dir, int(d.as.Uid), int(d.as.Gid))
		}
	}
	return d, err
}

func (d *database) data() string { return filepath.Join(d.dir, "data") }

func (d *database) url() string {
	return fmt.Sprintf("postgres://bunting@127.0.0.1:%d/postgres?sslmode=disable", d.port)
}

func (d *database) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(d.bin, program), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, d.log, d.log
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// start starts the server and waits until it accepts connections.
func (d *database) start(t testing.TB) {
	t.Helper()
	d.cmd = d.command("postgres", "-D", d.data(), "-p", strconv.Itoa(d.port), "-k", d.dir, "-c", "listen_addresses=127.0.0.1")
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.ended = make(chan struct{})
	go func() {
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	eventually(t, "PostgreSQL can be used", func() bool {
		db := d.open(t)
		defer func() { _ = db.Close() }()
		return db.Ping() == nil
	})
}

// stop ends the server at once and aborts all transactions (immediate shutdown).
func (d *database) stop(t testing.TB) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	d.cmd = nil
}

// freeze stops all its processes, so that it neither answers nor refuses connections, as behind a
// broken network; thaw resumes them.
func (d *database) freeze(t testing.TB) (thaw func()) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/task/%[1]d/children", d.cmd.Process.Pid)
	children, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := []int{d.cmd.Process.Pid}
	for _, text := range strings.Fields(string(children)) {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, pid)
	}
	signal := func(s syscall.Signal) {
		for _, pid := range all {
			_ = syscall.Kill(pid, s)
		}
	}
	signal(syscall.SIGSTOP)
	thaw = sync.OnceFunc(func() { signal(syscall.SIGCONT) })
	t.Cleanup(thaw)
	return thaw
}

func (d *database) open(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", d.url())
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func credential(name string) (*syscall.Credential, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(err1, err2)
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
