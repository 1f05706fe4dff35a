// Package served runs the built program for the tests of SDKs, and reads back the data that it
// stored.
package served

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Keys of testdata/capture.json.
const (
	ProjectKey  = "phc_capture"
	PersonalKey = "phx_capture"
	ManageKey   = "phx_manage" // has all scopes of the project
	// OrganizationKey has all scopes of the organization.
	OrganizationKey = "phx_organization"
)

// Main runs the tests of a package with the program: the one in TEST_BINARY, or one that is built
// when the first test needs it. root is the module of the program.
func Main(m *testing.M, root string, atEnd ...func()) {
	build = sync.OnceValues(func() (string, error) { return compile(root) })
	code := m.Run()
	for _, do := range atEnd {
		do()
	}
	if folder != "" {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

var (
	build  func() (binary string, err error) // called by tests, since the test cache only tracks variables that they read
	folder string                            // of the built program
)

// compile builds the program of the module at root, unless TEST_BINARY is set.
func compile(root string) (binary string, err error) {
	if binary = os.Getenv("TEST_BINARY"); binary != "" {
		return binary, nil
	}
	if folder, err = os.MkdirTemp("", "bunting"); err != nil {
		return "", err
	}
	binary = filepath.Join(folder, "bunting")
	compiler := exec.Command("go", "build", "-o", binary, "./cmd/bunting")
	compiler.Dir = root
	if out, err := compiler.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
}

// Binary returns the path of the program.
func Binary(t testing.TB) string {
	t.Helper()
	binary, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Server is the running program with its own data folder, which remains after Kill.
type Server struct {
	// URL is the address of the program; it does not change with Start.
	URL string

	t           testing.TB
	binary      string
	definitions string
	data        string
	options     []string
	cmd         *exec.Cmd
	log         *lines
	killed      bool
}

// New starts the program on a free port with an empty data folder and additional options. When the
// test ends it must stop cleanly, without a warning or an error in its log.
func New(t testing.TB, definitions string, options ...string) *Server {
	t.Helper()
	s := &Server{t: t, binary: Binary(t), definitions: definitions, data: t.TempDir(), options: options}
	s.start("127.0.0.1:0")
	t.Cleanup(func() {
		if s.killed {
			return
		}
		_ = s.cmd.Process.Signal(os.Interrupt)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
		if bad := s.log.complaints(); len(bad) > 0 {
			t.Errorf("the program complained: %s", bad)
		}
		if t.Failed() {
			t.Logf("the program logged\n%s", s.log)
		}
	})
	return s
}

var listening = regexp.MustCompile(`http://(127\.0\.0\.1:\d+)`)

func (s *Server) start(listen string) {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, append([]string{"serve", "--listen", listen, "--definitions", s.definitions, "--data", s.data}, s.options...)...)
	s.log = &lines{}
	s.cmd.Stderr = s.log
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.killed = false
	url := make(chan string, 1)
	go func() {
		for text := bufio.NewScanner(stdout); text.Scan(); {
			if found := listening.FindString(text.Text()); found != "" {
				select {
				case url <- found:
				default: // printed more than once
				}
			}
		}
	}()
	select {
	case s.URL = <-url:
	case <-time.After(WaitTimeout):
		s.t.Fatalf("the program does not say where it listens\n%s", s.log)
	}
}

// Kill ends the program like a crash.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // returns an error, since it was killed
	s.killed = true
}

// Start restarts the program after Kill, with its address and data folder.
func (s *Server) Start() {
	s.t.Helper()
	s.start(strings.TrimPrefix(s.URL, "http://"))
}

// Pause suspends the program: the operating system still accepts connections and requests, but
// there are no responses until Resume.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Resume continues the program after Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// lines is a buffer for the few lines of a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// complaints returns the warnings and errors in the log, except the ones about the definitions, which
// a test may cause deliberately.
func (l *lines) complaints() (found []string) {
	for line := range strings.Lines(l.String()) {
		bad := strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR")
		if bad && !strings.Contains(line, "fault in the definitions") {
			found = append(found, line)
		}
	}
	return found
}

// WaitTimeout is the maximum time that tests wait for an expected event.
const WaitTimeout = 3 * time.Minute

// Eventually waits until done returns nil.
func Eventually(t testing.TB, what string, done func() error) {
	t.Helper()
	for deadline := time.Now().Add(WaitTimeout); ; time.Sleep(20 * time.Millisecond) {
		err := done()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(fmt.Errorf("waited in vain for %s: %w", what, err))
		}
	}
}
