package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
)

// Mistyped names are rejected, and the most similar name is suggested.
func TestSuggest(t *testing.T) {
	for name, c := range map[string]struct {
		env  string
		args []string
		want string
	}{
		"command":             {"", []string{"flag", "list"}, `unknown command "flag"; did you mean flags?`},
		"no command near":     {"", []string{"frobnicate"}, "unknown command \"frobnicate\"\n"},
		"help of a command":   {"", []string{"help", "evla"}, "; did you mean eval?"},
		"action":              {"", []string{"flags", "lst"}, `unknown action "lst", must be one of list, `},
		"near action":         {"", []string{"flags", "aply"}, "; did you mean apply?"},
		"option of serve":     {"", []string{"serve", "--lisen", "x"}, "serve: there is no option --lisen; did you mean --listen?"},
		"option of an action": {"", []string{"flags", "set", "k", "--rolout=5"}, "flags: there is no option --rolout; did you mean --rollout?"},
		"no option near":      {"", []string{"eval", "--frobnicate"}, "eval: there is no option --frobnicate\n"},
		"variable":            {"BUNTING_PROJEKT=2", []string{"flags", "list", "--key", "k"}, "unknown environment variable BUNTING_PROJEKT; did you mean BUNTING_PROJECT?"},
		"variable of serve":   {"BUNTING_LISEN=:1", []string{"serve", "--print-config"}, "unknown environment variable BUNTING_LISEN; did you mean BUNTING_LISTEN?"},
		"no variable near":    {"BUNTING_FROBNICATE=1", []string{"check", demo}, "unknown environment variable BUNTING_FROBNICATE\n"},
		"a port":              {"BUNTING_PORT=8000", []string{"serve", "--print-config"}, "unknown environment variable BUNTING_PORT"},
		"setting of a file":   {"", []string{"serve", "--print-config", "--config", clitest.TempFile(t, "c.json", `{"lisen": ":1"}`)}, "; did you mean listen?"},
		"shell":               {"", []string{"completion", "bsh"}, "; did you mean bash?"},
	} {
		t.Run(name, func(t *testing.T) {
			r := call(t, "", []string{c.env}, c.args...)
			if r.Code == 0 || r.Stdout != "" || !strings.Contains(r.Stderr, c.want) {
				t.Errorf("exit %d, %q; want %q in it", r.Code, r.Stderr, c.want)
			}
		})
	}
}

// Variables that are empty, that do not begin with BUNTING_, or that Kubernetes and Docker set for
// a service called bunting are accepted.
func TestSuggest_OtherVariables(t *testing.T) {
	env := []string{
		"BUNTING_FROBNICATE=", "BUNTINGS=1", "BUNTING_SERVICE_HOST=10.0.0.1", "BUNTING_SERVICE_PORT=8000", "BUNTING_SERVICE_PORT_HTTP=8000",
		"BUNTING_PORT=tcp://10.0.0.1:8000", "BUNTING_PORT_8000_TCP=tcp://10.0.0.1:8000", "BUNTING_PORT_8000_TCP_ADDR=10.0.0.1",
		"BUNTING_CANARY_SERVICE_HOST=10.0.0.2", "BUNTING_CANARY_PORT=tcp://10.0.0.2:80",
	}
	if r := call(t, "", env, "check", demo); r.Code != 0 {
		t.Error(r.Stderr)
	}
	if r := call(t, "", []string{"BUNTING_FROBNICATE=1"}, "version"); r.Code != 0 {
		t.Error(r.Stderr)
	}
}

// Every variable that this package reads is accepted.
func TestSuggest_AcceptsVariables(t *testing.T) {
	files, err := filepath.Glob("*.go")
	rooms, err2 := filepath.Glob("internal/*/*.go")
	if files = append(files, rooms...); err != nil || err2 != nil || len(rooms) == 0 {
		t.Fatal(err, err2)
	}
	accepted := map[string]bool{"BUNTING_NAME": true, "BUNTING_PORT": true} // any variable of the program; one set by other systems
	for _, name := range cli.Variables {
		accepted[name] = true
	}
	for i := range settings.All {
		accepted[settings.All[i].Env()] = true
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`BUNTING_[A-Z_]*[A-Z]`).FindAllString(string(text), -1) {
			if !strings.HasSuffix(file, "_test.go") && !accepted[name] {
				t.Errorf("%s reads %s, which would be refused", file, name)
			}
		}
	}
}
