package command

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
)

func TestMain(m *testing.M) {
	if os.Getenv(runAsBunting) != "" {
		Main()
	}
	goleak.VerifyTestMain(m)
}

const demo = "../../testdata/demo.json"

// call runs the program until it ends.
func call(t *testing.T, stdin string, env []string, args ...string) clitest.Result {
	t.Helper()
	stdout, stderr := clitest.NewOutput(), clitest.NewOutput()
	code := run(t.Context(), args, strings.NewReader(stdin), stdout, stderr, env)
	return clitest.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
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
		"unknown command":     {[]string{"sreve"}, 2, "", "bunting: unknown command \"sreve\"; did you mean serve?\nbunting: the commands are serve, eval, "},
		"help of unknown":     {[]string{"help", "sreve"}, 2, "", "unknown command"},
		"unknown flag":        {[]string{"serve", "--lisen", "x"}, 2, "", "bunting: serve: there is no option --lisen; did you mean --listen?\nbunting: see bunting help serve\n"},
		"flag without value":  {[]string{"serve", "--listen"}, 2, "", "flag needs an argument: -listen"},
		"argument of serve":   {[]string{"serve", "flags.json"}, 2, "", `serve: unexpected argument "flags.json"`},
		"argument of version": {[]string{"version", "x"}, 2, "", `version: unexpected argument "x"`},
		"version":             {[]string{"version"}, 0, "\nplatform  ", ""},
		"--version":           {[]string{"--version"}, 0, "bunting   ", ""},
		"check without file":  {[]string{"check"}, 2, "", "give a file, for example: bunting check testdata/demo.json"},
		"import of unknown":   {[]string{"import", "posthg", "flags.json"}, 2, "", "import: --server is missing; did you mean posthog?"},
		"owner without name":  {[]string{"serve", "--owner-email", "nope"}, 2, "", `--owner-email: must be an address such as owner@example.com, not "nope"`},
		"eval without file":   {[]string{"eval"}, 2, "", "--definitions FILE is missing"},
		"eval without user":   {[]string{"eval", "--definitions", demo}, 2, "", "give --user FILE or --distinct-id ID"},
		"eval bad time":       {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--at", "noon"}, 2, "", `--at: must be a time such as`},
		"eval bad runtime":    {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--runtime", "edge"}, 2, "", `--runtime: must be server, client or all, not "edge"`},
		"eval bad property":   {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--property", "plan"}, 2, "", `--property: must be name=value, not "plan"`},
		"eval bad group":      {[]string{"eval", "--definitions", demo, "--distinct-id", "u", "--group", "acme"}, 2, "", `--group: must be type=key`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { call(t, "", nil, tt.args...).Want(t, tt.code, tt.stdout, tt.stderr) })
	}
}

// The help names every setting, command and flag.
func TestRun_HelpIsComplete(t *testing.T) {
	general, serve := call(t, "", nil).Stdout, call(t, "", nil, "help", "serve").Stdout
	for _, c := range commands {
		if !strings.Contains(general, "\n  "+c.Name+" ") {
			t.Errorf("the help does not name the command %s", c.Name)
		}
	}
	for _, s := range settings.All {
		if !strings.Contains(serve, "\n  --"+s.Name) {
			t.Errorf("the help of serve does not name --%s", s.Name)
		}
	}
}
