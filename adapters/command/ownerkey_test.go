package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// keyOpens reports whether a key has all scopes on a server.
func (s *instance) keyOpens(key string) bool {
	s.t.Helper()
	status, body := s.get("/api/personal_api_keys/@current/", key)
	return status == 200 && strings.Contains(body, `"scopes":["*"]`)
}

// firstKey starts a server and requires that it prints a key that works.
func firstKey(t *testing.T, dir string) {
	t.Helper()
	s := serve(t, time.Minute, "--data", dir)
	if key := printedKey.FindString(s.stdout.String()); key == "" || !s.keyOpens(key) {
		t.Errorf("the next start shows no key that works: %s", s.stdout)
	}
	s.stop()
	s.wait(0)
}

// The first key cannot be printed because the disk is full or the pipe has no reader.
func TestServe_FirstKeyCannotBePrinted(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	defer func() { _ = pipe.Close() }()
	for name, stdout := range map[string]*os.File{"full disk": full, "closed pipe": pipe} {
		t.Run(name, func(t *testing.T) {
			dir, stderr := t.TempDir(), clitest.NewOutput()
			ctx, cancel := context.WithTimeout(t.Context(), clitest.WaitTimeout)
			defer cancel()
			code := run(ctx, []string{"serve", "--listen", "127.0.0.1:0", "--data", dir}, strings.NewReader(""), stdout, stderr, nil)
			if code != cli.ExitError || !strings.Contains(stderr.String(), "the owner's key could not be printed, so no key was created") {
				t.Errorf("exit code %d: %s", code, stderr)
			}
			firstKey(t, dir)
		})
	}
}

// killedFirstStart kills the real program while its first key is in a full pipe that is not read.
// The next start must print a key that works.
func killedFirstStart(t *testing.T) {
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = reader.Close(), pipe.Close() }()
	if err := pipe.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the pipe is full
		_, err = pipe.Write(make([]byte, 512))
	}
	dir := t.TempDir()
	cmd := program(t, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	cmd.Stdout = pipe
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	deadline := time.Now().Add(clitest.WaitTimeout)
	for !inPipe(cmd.Process.Pid) {
		if time.Now().After(deadline) {
			t.Fatal("nothing is printed")
		}
		time.Sleep(20 * time.Millisecond)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	<-ended
	firstKey(t, dir)
}

// inPipe reports whether a thread of a process is writing to its standard output.
func inPipe(pid int) bool {
	list, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	for _, name := range list {
		if text, _ := os.ReadFile(name); strings.HasPrefix(string(text), fmt.Sprintf("%d 0x1 ", syscall.SYS_WRITE)) {
			return true
		}
	}
	return false
}

func TestServe_OwnerKeyFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "owner.key")
	s := serve(t, time.Minute, "--data", dir, "--owner-key-file", file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if key := strings.TrimSpace(string(text)); err != nil || info.Mode().Perm() != 0o600 || !s.keyOpens(key) || strings.Contains(s.stdout.String(), key) || !strings.Contains(s.stdout.String(), file) {
		t.Errorf("%v %v %q, printed: %s", err, info.Mode(), text, s.stdout)
	}
	s.stop()
	s.wait(0)
	// Another server uses the key of an existing file.
	key := "phx_" + strings.Repeat("a1B2", 10)
	keyFile := clitest.TempFile(t, "given.key", "\n"+key+"\r\n")
	s = serve(t, time.Minute, "--owner-key-file", keyFile)
	if !s.keyOpens(key) || strings.Contains(s.stdout.String(), key) {
		t.Errorf("the key of the file opens nothing, or is printed: %s", s.stdout)
	}
	s.stop()
	s.wait(0)
	for name, tt := range map[string]struct{ path, want string }{
		"an easy key": {clitest.TempFile(t, "easy.key", "phx_demo"), "does not contain a personal key"},
		"no key":      {clitest.TempFile(t, "empty.key", ""), "does not contain a personal key"},
		"no folder":   {filepath.Join(dir, "none", "x"), "--owner-key-file: "},
		"a folder":    {dir, "--owner-key-file: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r := call(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--data", dir, "--owner-key-file", tt.path)
			r.Want(t, 1, "", tt.want)
			firstKey(t, dir)
		})
	}
}

// keys recover replaces the only key after it was lost.
func TestKeys_Recover(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, time.Minute, "--data", dir, "--owner-email", "me@example.com")
	lostKey := printedKey.FindString(s.stdout.String())
	call(t, "", nil, "keys", "recover", "--data", dir).Want(t, 1, "", "is in use by another server")
	s.stop()
	s.wait(0)
	call(t, "", nil, "keys", "recover", "--data", dir, "--email", "you@example.com").Want(t, 1, "", `no owner has the email address "you@example.com", only me@example.com`)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = full.Close() }()
	stderr := clitest.NewOutput()
	if code := run(t.Context(), []string{"keys", "recover", "--data", dir}, strings.NewReader(""), full, stderr, nil); code != 1 || !strings.Contains(stderr.String(), "no key was created") {
		t.Errorf("%d %s", code, stderr)
	}
	r := call(t, "", []string{"BUNTING_DATA=" + dir}, "keys", "recover")
	r.Want(t, 0, "of me@example.com. Keep it", "")
	key := printedKey.FindString(r.Stdout)
	s = serve(t, time.Minute, "--data", dir)
	if key == lostKey || !s.keyOpens(key) || !s.keyOpens(lostKey) {
		t.Errorf("the recovered key opens nothing: %s", r.Stdout)
	}
	if status, body := s.get("/api/personal_api_keys/", key); status != 200 || strings.Count(body, `"label":`) != 2 {
		t.Errorf("a key that was not shown was made: %s", body)
	}
	s.stop()
	s.wait(0)
	missing := filepath.Join(t.TempDir(), "none")
	call(t, "", nil, "keys", "recover", "--data", missing).Want(t, 1, "", "name the data folder of the server")
	if _, err := os.Stat(missing); err == nil {
		t.Error("a folder was made")
	}
	call(t, "", nil, "keys", "recover", "--database", "sqlite::memory:").Want(t, 1, "", "there is no owner yet")
}
