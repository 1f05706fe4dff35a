package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The exit codes are those of the program's help: 0 success, 1 failure, 2 invalid command line. The
// error for an invalid command line names the help.
func TestRun_ExitCodes(t *testing.T) {
	changes := func(err error) func(context.Context, *Program, []string) error {
		return func(context.Context, *Program, []string) error { return err }
	}
	commands := []Command{
		{Name: "good", Summary: "does it", Help: "Usage: bunting good\n", Run: func(_ context.Context, p *Program, args []string) error {
			fs := NewFlags("good")
			fs.Bool("json", false, "")
			fs.Int("limit", 0, "")
			if err := NoArgs(fs, args); err != nil {
				return err
			}
			return p.Print("done\n")
		}},
		{Name: "broken", Run: changes(errors.New("one\ntwo"))},
		{Name: "reported", Run: changes(ErrReported)},
		{Name: "changes", Run: changes(fmt.Errorf("the plan: %w", ErrChanges))},
		{Name: "version", Run: changes(nil)},
	}
	for name, tt := range map[string]struct {
		args           string
		env            map[string]string
		code           int
		stdout, stderr string
	}{
		"good":                    {"good --json", nil, 0, "done\n", ""},
		"its help":                {"good --help", nil, 0, "Usage: bunting good\n", ""},
		"help of a command":       {"help good", nil, 0, "Usage: bunting good\n", ""},
		"it did not work":         {"broken", nil, 1, "", "bunting: one\nbunting: two\n"},
		"the output has it":       {"reported", nil, 1, "", ""},
		"there are changes":       {"changes", nil, 2, "", ""},
		"no such command":         {"goood", nil, 2, "", "bunting: unknown command \"goood\"; did you mean good?\nbunting: the commands are good, broken, reported, changes, version and help; see bunting help\n"},
		"help of no such command": {"help xyzzy", nil, 2, "", "bunting: unknown command \"xyzzy\"\nbunting: the commands are good, broken, reported, changes, version and help; see bunting help\n"},
		"no such option":          {"good --jsn", nil, 2, "", "bunting: good: there is no option --jsn; did you mean --json?\nbunting: see bunting help good\n"},
		"a bad value":             {"good --limit many", nil, 2, "", "bunting: good: invalid value \"many\" for flag -limit: parse error\nbunting: see bunting help good\n"},
		"one argument too many":   {"good now", nil, 2, "", "bunting: good: unexpected argument \"now\"\nbunting: see bunting help good\n"},
		"a variable of ours":      {"good", map[string]string{"BUNTING_SERVER": "http://x", "BUNTING_LISTEN": ":1", "PATH": "/bin"}, 0, "done\n", ""},
		"a variable nearly ours": {"good", map[string]string{"BUNTING_LISTN": ":1", "BUNTING_EMPTY": ""}, 2, "",
			"bunting: unknown environment variable BUNTING_LISTN; did you mean BUNTING_LISTEN?\nbunting: see bunting help serve for its settings; commands that call a server read BUNTING_SERVER, BUNTING_KEY, BUNTING_PROJECT, BUNTING_PROJECT_KEY\n"},
		// Variables as Kubernetes (docs, "Discovering services") and Docker links set them for a
		// service called bunting.
		"variables of a cluster": {"good", map[string]string{
			"BUNTING_SERVICE_HOST": "10.0.0.11", "BUNTING_SERVICE_PORT": "80", "BUNTING_SERVICE_PORT_HTTP": "80", "BUNTING_PORT": "tcp://10.0.0.11:80",
			"BUNTING_PORT_80_TCP": "tcp://10.0.0.11:80", "BUNTING_PORT_80_TCP_PROTO": "tcp", "BUNTING_PORT_80_TCP_PORT": "80", "BUNTING_PORT_80_TCP_ADDR": "10.0.0.11",
		}, 0, "done\n", ""},
		"a port is none":                {"good", map[string]string{"BUNTING_PORT": "80"}, 2, "", "bunting: unknown environment variable BUNTING_PORT"},
		"the version in spite of those": {"--version", map[string]string{"BUNTING_PORT": "80"}, 0, "", ""},
	} {
		var stdout, stderr strings.Builder
		p := Program{Commands: commands, Stdout: &stdout, Stderr: &stderr, Env: tt.env, Settings: []string{"BUNTING_LISTEN"}}
		code := p.Run(t.Context(), strings.Fields(tt.args))
		if code != tt.code || stdout.String() != tt.stdout || !strings.HasPrefix(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
			t.Errorf("%s: code %d, %q, %q; want %d, %q, %q", name, code, stdout.String(), stderr.String(), tt.code, tt.stdout, tt.stderr)
		}
	}
}

// Without a command the program lists its commands with their summaries.
func TestRun_NoCommand(t *testing.T) {
	for _, args := range [][]string{nil, {"help"}, {"-h"}, {"--help"}} {
		var stdout strings.Builder
		p := Program{Commands: []Command{{Name: "good", Summary: "does it"}}, Stdout: &stdout}
		if code := p.Run(t.Context(), args); code != ExitOK || !strings.Contains(stdout.String(), "\n  good        does it\n  help        explain") {
			t.Errorf("%q: code %d, %s", args, code, stdout.String())
		}
	}
}
