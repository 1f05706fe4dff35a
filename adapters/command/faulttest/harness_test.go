//go:build linux

// Package faulttest starts the real binary, loads it and injects faults: every accepted event,
// which is one that got the response 200, must be stored exactly once, whatever happens
// (spec/capture.md §13.6, decisions 13 and 14). It needs Linux, strace and PostgreSQL 15.
package faulttest

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var kills = flag.Int("kills", 24, "how often TestKill_SQLite ends the server; the other tests of kills do so less often by a factor")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "bunting-fault-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() { _ = os.RemoveAll(dir) }()
		defer func() {
			for _, clean := range atEnd {
				clean()
			}
		}()
		programs = dir
		return m.Run()
	}())
}

// atEnd are called after all tests.
var atEnd []func()

// definitions is the file with the project that all tests use, apiKey its key.
const (
	definitions = "../../../testdata/demo.json"
	apiKey      = "phc_demo"
)

// patience is how long a test waits for a condition before it fails. It is long, since tests must
// not fail on a slow machine.
const patience = 2 * time.Minute

// server is a running bunting process.
type server struct {
	cmd *exec.Cmd
	// pid is bunting's process id, even if another program runs it.
	pid    int
	url    string // empty until it listens
	out    *lockedBuffer
	log    *lockedBuffer
	client *http.Client
	ended  chan struct{} // closed when it has ended; then err is set
	err    error
}

// onSQLite returns the arguments of a server on a data folder.
func onSQLite(dir string) []string { return []string{"--data", dir} }

// launch starts a server with the definitions and does not wait for it. with is a program that runs
// it, or empty.
func launch(t testing.TB, with []string, args ...string) (*server, <-chan string) {
	t.Helper()
	return launchBare(t, with, append([]string{"--definitions", definitions}, args...)...)
}

// launchBare is launch without definitions. A server without a data folder gets a new one.
func launchBare(t testing.TB, with []string, args ...string) (*server, <-chan string) {
	t.Helper()
	if !slices.Contains(args, "--data") {
		args = append(onSQLite(t.TempDir()), args...)
	}
	words := append(append(with[:len(with):len(with)], bunting(t), "serve", "--listen", "127.0.0.1:0"), args...)
	s := &server{cmd: exec.Command(words[0], words[1:]...), out: &lockedBuffer{}, log: &lockedBuffer{}, ended: make(chan struct{})}
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}, Timeout: patience}
	s.cmd.Env = append(os.Environ(), "GOTRACEBACK=single")
	s.cmd.Stderr = s.log
	// The server is killed when the tests themselves are killed.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// A separate pipe, since that of exec.Cmd is closed before everything is read.
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stdout = in
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("%s does not start: %v", words[0], err)
	}
	_ = in.Close()
	s.pid = s.cmd.Process.Pid
	address := make(chan string, 1)
	go func() {
		defer func() { _ = out.Close() }()
		lines := bufio.NewScanner(io.TeeReader(out, s.out))
		for lines.Scan() {
			if _, url, found := strings.Cut(lines.Text(), "listens on "); found {
				address <- url
			}
		}
	}()
	go func() {
		s.err = s.cmd.Wait()
		s.client.CloseIdleConnections()
		close(s.ended)
	}()
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("the log of %s:\n%s", s.url, s.log.tail(20))
		}
	})
	return s, address
}

// start starts a server and waits until it listens.
func start(t testing.TB, args ...string) *server { return startWith(t, nil, args...) }

func startWith(t testing.TB, with []string, args ...string) *server {
	t.Helper()
	s, address := launch(t, with, args...)
	s.await(t, address)
	if len(with) > 0 {
		s.pid = childOf(t, s.cmd.Process.Pid)
	}
	return s
}

// await waits until the server listens.
func (s *server) await(t testing.TB, address <-chan string) {
	t.Helper()
	select {
	case s.url = <-address:
	case <-s.ended:
		t.Fatalf("the server has ended at its start: %v\n%s", s.err, s.log.tail(20))
	case <-time.After(patience):
		t.Fatalf("the server does not listen after %s\n%s", patience, s.log.tail(20))
	}
}

// kill ends the server with SIGKILL.
func (s *server) kill() {
	_ = syscall.Kill(s.pid, syscall.SIGKILL)
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// stop ends the server with SIGTERM and returns its exit code.
func (s *server) stop(t testing.TB) int {
	t.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	return s.exitCode(t)
}

// exitCode waits until the server has ended.
func (s *server) exitCode(t testing.TB) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		t.Fatalf("the server has not ended after %s\n%s", patience, s.log.tail(20))
	}
	var exit *exec.ExitError
	if s.err != nil && !errors.As(s.err, &exit) {
		t.Fatal(s.err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// running reports whether the server has not ended.
func (s *server) running() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// childOf returns the only child of a process.
func childOf(t testing.TB, pid int) int {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatalf("%s: want one child: %v", path, err)
	}
	return child
}

// memory returns a line of /proc/PID/status in bytes, such as VmRSS or VmHWM.
func (s *server) memory(t testing.TB, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("/proc says nothing of %s", name)
	return 0
}

// processorTime returns the processor time of the server. Unlike elapsed time, it hardly depends on
// the load of the machine.
func (s *server) processorTime(t testing.TB) (sum time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range threads {
		text, _ := os.ReadFile(path) // empty for a thread that has ended
		running, _, _ := strings.Cut(string(text), " ")
		if n, err := strconv.ParseInt(running, 10, 64); err == nil {
			sum += time.Duration(n)
		}
	}
	if sum == 0 {
		t.Fatalf("/proc/%d says nothing of processor time", s.pid)
	}
	return sum
}

// metric returns a metric without labels from /metrics.
func (s *server) metric(t testing.TB, name string) float64 {
	t.Helper()
	status, body := s.get(t, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics answers %d", status)
	}
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(strings.TrimSpace(line), name+" "); found {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("/metrics has no %s", name)
	return 0
}

func (s *server) get(t testing.TB, path string) (status int, body string) {
	t.Helper()
	return read(t)(s.client.Get(s.url + path))
}

// flags requests the flags of a user.
func (s *server) flags(t testing.TB, distinctID string) (status int, body string) {
	t.Helper()
	return read(t)(s.client.Post(s.url+"/flags?v=2", "application/json",
		strings.NewReader(fmt.Sprintf(`{"api_key":%q,"distinct_id":%q}`, apiKey, distinctID))))
}

func read(t testing.TB) func(*http.Response, error) (int, string) {
	return func(r *http.Response, err error) (int, string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Body.Close() }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(body)
	}
}

// eventually waits until a condition is true.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	poll(t, patience, 20*time.Millisecond, what, is)
}

// eventuallyWithin is eventually for conditions that may take more than a minute, such as mails that
// are retried.
func eventuallyWithin(t testing.TB, within time.Duration, what string, is func() bool) {
	t.Helper()
	poll(t, within, 200*time.Millisecond, what, is)
}

func poll(t testing.TB, within, interval time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !is(); time.Sleep(interval) {
		if time.Now().After(end) {
			t.Fatalf("after %s still not: %s", within, what)
		}
	}
}

// lockedBuffer stores the last part of the output that is written to it. It may be used by several
// goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() > 1<<20 {
		b.buf.Next(b.buf.Len() / 2)
	}
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// tail returns the last n lines.
func (b *lockedBuffer) tail(n int) string {
	lines := strings.SplitAfter(b.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-n-1):], "")
}
