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

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// WaitTimeout is how long a test waits for a condition before it fails.
const WaitTimeout = time.Minute

// Output is the output of a program. It may be written and read concurrently.
type Output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	OnWrite chan struct{} // signalled after each write
}

// NewOutput returns an empty Output.
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

// Result is the result of a run of the program.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Call runs a program with the given commands until it ends.
func Call(ctx context.Context, commands []cli.Command, stdin string, env []string, args ...string) Result {
	stdout, stderr := NewOutput(), NewOutput()
	p := &cli.Program{
		Commands: commands, Stdin: strings.NewReader(stdin), Stdout: stdout, Stderr: stderr, Env: cli.Environment(env),
		CanPrompt: func(io.Reader) bool { return false },
	}
	code := p.Run(ctx, args)
	return Result{code, stdout.String(), stderr.String()}
}

// Want checks the exit code, and that each output contains a text. If the text is empty, the output
// must be empty.
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

// Findings parses the output of bunting doctor --json, and returns the texts by check and level.
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

// TempFile creates a file with a text and returns its path.
func TempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
