// Package clitest runs commands in tests.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

// WaitTimeout is how long a test waits for what must come before it says that it hangs.
const WaitTimeout = time.Minute

// Output is what a program has written, for readers and writers at once.
type Output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	OnWrite chan struct{} // signalled after each write
}

// NewOutput is one that nothing is written to yet.
func NewOutput() *Output { return &Output{OnWrite: make(chan struct{}, 1)} }

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.OnWrite <- struct{}{}:
	default:
	}
	return o.b.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Result is what a call of the program came to.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Call runs a program of some commands to its end.
func Call(ctx context.Context, commands []cli.Command, stdin string, env []string, args ...string) Result {
	stdout, stderr := NewOutput(), NewOutput()
	p := &cli.Program{
		Commands: commands, Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr, Env: cli.Environment(env),
		CanPrompt: func(io.Reader) bool { return false },
	}
	code := p.Run(ctx, args)
	return Result{code, stdout.String(), stderr.String()}
}

// Want checks exit code and what must stand in the two outputs.
func (r Result) Want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d", r.Code, code)
	}
	if !strings.Contains(r.Stdout, stdout) || stdout == "" && r.Stdout != "" {
		t.Errorf("stdout %q, want %q in it", r.Stdout, stdout)
	}
	if !strings.Contains(r.Stderr, stderr) || stderr == "" && r.Stderr != "" {
		t.Errorf("stderr %q, want %q in it", r.Stderr, stderr)
	}
}

// Findings are those of bunting doctor --json, by check and level.
func (r Result) Findings(t *testing.T) map[string]string {
	t.Helper()
	var list []struct{ Check, Level, Text string }
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		t.Fatalf("%v in %s%s", err, r.Stdout, r.Stderr)
	}
	out := map[string]string{}
	for _, f := range list {
		out[f.Check+" "+f.Level] += f.Text + "\n"
	}
	return out
}

// TempFile is a new file with a text.
func TempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
