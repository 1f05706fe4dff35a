//go:build linux

package faulttest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// strace returns the path of strace, which makes system calls fail or slows them down.
func strace(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("strace is missing: install Debian's package strace")
	}
	return path
}

// inject changes system calls of a running server until the returned function is called. what has
// the syntax of strace's -e inject, for example fsync,fdatasync:error=EIO.
func inject(t testing.TB, s *server, what string) (end func()) {
	t.Helper()
	calls, _, _ := strings.Cut(what, ":")
	log := &lockedBuffer{}
	cmd := exec.Command(strace(t), "-f", "-o", os.DevNull, "-e", "trace="+calls, "-e", "inject="+what, "-p", fmt.Sprint(s.pid))
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // returns the signal, or an error that log describes
		close(ended)
	}()
	end = func() {
		_ = cmd.Process.Signal(syscall.SIGINT) // strace detaches from the server
		<-ended
	}
	t.Cleanup(end)
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "attached"); time.Sleep(10 * time.Millisecond) {
		select {
		case <-ended:
			t.Fatalf("strace cannot follow the server (that needs the right to trace other processes): %s", log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("strace does not say that it follows the server: %s", log)
		}
	}
	return end
}
