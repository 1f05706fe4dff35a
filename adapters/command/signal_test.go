package command

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// program returns the program as a separate process: this test binary, see TestMain.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), runAsBunting+"=yes")
	return cmd
}

// The real program handles real signals.
func TestServe_Signals(t *testing.T) {
	start := func(t *testing.T) (*exec.Cmd, *instance) {
		s := &instance{t: t, stdout: clitest.NewOutput(), stderr: clitest.NewOutput(), ended: make(chan int, 1)}
		cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--definitions", demo, "--data", t.TempDir())
		cmd.Stdout, cmd.Stderr = s.stdout, s.stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			_ = cmd.Wait()
			s.ended <- cmd.ProcessState.ExitCode()
		}()
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		s.url = s.address(s.stdout)
		return cmd, s
	}
	t.Run("a kill before the first key is read", func(t *testing.T) { killedFirstStart(t) })
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, s := start(t)
			if code, _ := do(t, runPasted(t, s.stdout.String())); code != http.StatusOK {
				t.Errorf("status %d", code)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			s.wait(0)
		})
	}
	t.Run("a second one ends it at once", func(t *testing.T) {
		cmd, s := start(t)
		conn := s.begin(request) // would delay the shutdown for ten seconds
		defer func() { _ = conn.Close() }()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for !strings.Contains(s.stderr.String(), "shutting down") {
			<-s.stderr.OnWrite
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		s.wait(-1) // ended by a signal
	})
}
