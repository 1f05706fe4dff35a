package litestreamtest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for a condition before it fails. It is long, since tests must not
// fail on a slow machine.
const patience = 2 * time.Minute

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	out   output
	ended chan struct{} // closed when it has ended; then err is set
	err   error
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a process, which is killed at the end of the test.
func start(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends the process with SIGKILL.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the process with SIGTERM, and requires that it exits with 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("%s does not stop\n%s", p.cmd.Path, &p.out)
	}
	if p.err != nil {
		t.Fatalf("%s: %v\n%s", p.cmd.Path, p.err, &p.out)
	}
}

// await waits for a condition. It fails if the process ends before.
func (p *process) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		select {
		case <-p.ended:
			t.Fatalf("%s has ended: %v\n%s", p.cmd.Path, p.err, &p.out)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("not after %s: %s\n%s", patience, what, &p.out)
		}
	}
}

// run runs a program to its end, which must be a success.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(args, " "), err, out)
	}
}

// program returns the path of bunting: TEST_BINARY, or a program that it builds.
func program(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("TEST_BINARY"); path != "" {
		return path
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// built builds bunting in a folder that main removes.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "bunting")
	return path, build("../../../..", path, "./cmd/bunting")
})

// programs is the folder of programs that tests have built.
var programs string

// build builds a program of the module in a folder.
func build(folder, path, pkg string) error {
	cmd := exec.Command("go", "build", "-o", path, pkg)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not build: %w\n%s", pkg, err, out)
	}
	return nil
}
