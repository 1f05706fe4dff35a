package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const demo = "../../testdata/demo.json"

// output is what a program has written, for readers and writers at once.
type output struct {
	mu      sync.Mutex
	b       bytes.Buffer
	written chan struct{} // told after each write
}

func newOutput() *output { return &output{written: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.written <- struct{}{}:
	default:
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// result is what a call of the program came to.
type result struct {
	code           int
	stdout, stderr string
}

// call runs the program to its end.
func call(t *testing.T, stdin string, env []string, args ...string) result {
	t.Helper()
	stdout, stderr := newOutput(), newOutput()
	code := run(context.Background(), args, strings.NewReader(stdin), stdout, stderr, env)
	return result{code, stdout.String(), stderr.String()}
}

// want checks exit code and what must stand in the two outputs.
func (r result) want(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if r.code != code {
		t.Errorf("exit code %d, want %d", r.code, code)
	}
	if !strings.Contains(r.stdout, stdout) || stdout == "" && r.stdout != "" {
		t.Errorf("stdout %q, want %q in it", r.stdout, stdout)
	}
	if !strings.Contains(r.stderr, stderr) || stderr == "" && r.stderr != "" {
		t.Errorf("stderr %q, want %q in it", r.stderr, stderr)
	}
}

func tempFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRun_HelpAndUsage(t *testing.T) {
	tests := map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"nothing":             {nil, 0, "bunting serve --definitions testdata/demo.json", ""},
		"help":                {[]string{"help"}, 0, "Usage: bunting COMMAND", ""},
		"--help":              {[]string{"--help"}, 0, "Usage: bunting COMMAND", ""},
		"help help":           {[]string{"help", "help"}, 0, "Usage: bunting help", ""},
		"help serve":          {[]string{"help", "serve"}, 0, "--trusted-proxies CIDRS", ""},
		"serve --help":        {[]string{"serve", "--help"}, 0, "Usage: bunting serve", ""},
		"serve -h":            {[]string{"serve", "-h"}, 0, "Usage: bunting serve", ""},
		"eval -h":             {[]string{"eval", "-h"}, 0, "Usage: bunting eval", ""},
		"check -h":            {[]string{"check", "-h"}, 0, "Usage: bunting check", ""},
		"version -h":          {[]string{"version", "-h"}, 0, "Usage: bunting version", ""},
		"unknown command":     {[]string{"sreve"}, 2, "", "bunting: unknown command \"sreve\"; did you mean serve?\nbunting: there are serve, eval, "},
		"help of unknown":     {[]string{"help", "sreve"}, 2, "", "unknown command"},
		"unknown flag":        {[]string{"serve", "--lisen", "x"}, 2, "", "bunting: serve: there is no option --lisen; did you mean --listen?\nbunting: see bunting help serve\n"},
		"flag without value":  {[]string{"serve", "--listen"}, 2, "", "flag needs an argument: -listen"},
		"argument of serve":   {[]string{"serve", "flags.json"}, 2, "", `serve: unexpected argument "flags.json"`},
		"argument of version": {[]string{"version", "x"}, 2, "", `version: unexpected argument "x"`},
		"version":             {[]string{"version"}, 0, "\nplatform  ", ""},
		"--version":           {[]string{"--version"}, 0, "bunting   ", ""},
		"check without file":  {[]string{"check"}, 2, "", "which file? to try it: bunting check testdata/demo.json"},
		"eval without file":   {[]string{"eval"}, 2, "", "--definitions FILE is missing"},
		"eval without user":   {[]string{"eval", "--definitions", demo}, 2, "", "for whom? give --user FILE or --distinct-id ID"},
		"eval bad time":       {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--at", "noon"}, 2, "", `--at: want a time such as`},
		"eval bad runtime":    {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--runtime", "edge"}, 2, "", `--runtime: want server, client or all, not "edge"`},
		"eval bad property":   {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--property", "plan"}, 2, "", `--property: want name=value, not "plan"`},
		"eval bad group":      {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--group", "acme"}, 2, "", `--group: want type=key`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { call(t, "", nil, tt.args...).want(t, tt.code, tt.stdout, tt.stderr) })
	}
}

// Every setting, command and flag is in the help.
func TestRun_HelpIsComplete(t *testing.T) {
	general, serve := call(t, "", nil).stdout, call(t, "", nil, "help", "serve").stdout
	for _, c := range commands {
		if !strings.Contains(general, "\n  "+c.name+" ") {
			t.Errorf("the help does not name the command %s", c.name)
		}
	}
	for _, s := range settings {
		if !strings.Contains(serve, "\n  --"+s.name) {
			t.Errorf("the help of serve does not name --%s", s.name)
		}
	}
}

func TestParseArgs_AnyOrder(t *testing.T) {
	fs := newFlags("check")
	on := fs.Bool("json", false, "")
	rest, err := parseArgs(fs, []string{"a.json", "--json", "b.json", "--", "--json.json"})
	if err != nil || !*on || strings.Join(rest, " ") != "a.json b.json --json.json" {
		t.Errorf("rest %q, json %v, %v", rest, *on, err)
	}
}
