package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files is a module with faults. Package b contains the faults that depend on another package.
var files = map[string]string{
	"go.mod": "module github.com/bunting-flags/example\n\ngo 1.26.0\n",
	"a/a.go": `package a

import "fmt"

// Logf formats.
func Logf(format string, args ...any) { fmt.Printf(format, args...) }

// Old is old.
//
// Deprecated: call Logf.
func Old() {}

func forTests() {}

func unused() {}

func ignored() {} //nolint:unused // an example
`,
	"a/a_test.go": `package a

import "testing"

func TestA(t *testing.T) { forTests() }
`,
	"b/b.go": `// Package b calls a.
package b

import (
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/example/a"
)

// Errors of a kind.
var (
	ErrText = errors.New("Capital letter.")
	ErrLeft = errors.New("Capital letter.") //nolint:ST1005,vet // an example
)

// B does it wrong.
func B(x, y time.Time, err error) string {
	a.Logf("%d", "no number")
	a.Old()
	if x == y || err == ErrText {
		return strings.Title("old")
	}
	return double(1)
}

func double(max int) string { return strings.Repeat("s", 2) }
`,
	"b/b_test.go": `package b

import (
	"testing"
	"time"
)

func TestB(t *testing.T) {
	var p *time.Time
	if start := time.Now(); time.Since(start) > time.Second {
		p = &start
	}
	if p == nil {
		t.Fatal("nothing follows")
	}
	t.Log(*p)
}
`,
}

// want are the findings, in order. The fact that p is not nil after Fatal is a fact about testing,
// which is only a dependency.
var want = []string{
	`a/a.go:15:6: func unused is unused (U1000)`,
	`b/b.go:14:12: error strings should not be capitalized (ST1005)`,
	`b/b.go:14:12: error strings should not end with punctuation or newlines (ST1005)`,
	`b/b.go:20:10: github.com/bunting-flags/example/a.Logf format %d has arg "no number" of wrong type string (printf)`,
	`b/b.go:21:2: github.com/bunting-flags/example/a.Old is deprecated: call Logf. (SA1019)`,
	`b/b.go:22:15: comparing with == will fail on wrapped errors. Use errors.Is to check for a specific error (errorlint)`,
	`b/b.go:22:7: call Equal instead of == (timeequal)`,
	`b/b.go:23:10: strings.Title has been deprecated since Go 1.18 and an alternative has been available since Go 1.0: The rule Title uses for word boundaries does not handle Unicode punctuation properly. Use golang.org/x/text/cases instead. (SA1019)`,
	`b/b.go:28:13: double - max is unused (unparam)`,
	`b/b.go:28:13: redefinition of the built-in function max (redefines-builtin-id)`,
	`b/b_test.go:10:26: elapsed time is compared: count steps, bytes or calls, use testing/synctest, or wait at least a minute (timed)`,
}

func TestVettool(t *testing.T) {
	dir := t.TempDir()
	tool := filepath.Join(dir, "vettool")
	if out, err := run(t, ".", "go", "build", "-o", tool); err != nil {
		t.Fatal(out, err)
	}
	module := filepath.Join(dir, "module")
	for name, text := range files {
		file := filepath.Join(module, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(module, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	// With the flags of the environment: other flags would compile the standard library again.
	out, err := run(t, module, "go", "vet", "-vettool="+tool, "-only=vet,staticcheck,unused,unparam,errorlint,revive,timed,timeequal", "./...")
	if err == nil {
		t.Error("the command ended well")
	}
	var got []string
	for line := range strings.Lines(out) {
		if line[0] != '#' {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func run(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	command := exec.Command(args[0], args[1:]...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.CombinedOutput()
	return string(out), err
}
