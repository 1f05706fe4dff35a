package command

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// A real bash completes commands with the script that is printed for it.
func TestCompletion_Bash(t *testing.T) {
	script := clitest.TempFile(t, "bunting.bash", call(t, "", nil, "completion", "bash").Stdout)
	for line, want := range map[string][]string{
		"bunting comp":             {"completion"},
		"bunting flags hi":         {"history"},
		"bunting flags set k --ro": {"--rollout"},
		"bunting serve --lis":      {"--listen"},
		"bunting help stat":        {"status"},
		"bunting keys ":            {"create", "list", "recover", "revoke", "roll"},
	} {
		words := strings.Split(line, " ")
		quotedWords := make([]string, len(words))
		for i, w := range words {
			quotedWords[i] = "'" + w + "'"
		}
		out, err := exec.Command("bash", "-c", `source "$0"; COMP_WORDS=(`+strings.Join(quotedWords, " ")+`); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _bunting; printf '%s\n' "${COMPREPLY[@]}"`, script).CombinedOutput()
		got := strings.Fields(string(out))
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", line, got, err, want)
		}
	}
}

// Each script names every command, action and option.
func TestCompletion_IsComplete(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		r := call(t, "", nil, "completion", shell)
		r.Want(t, cli.ExitOK, "bunting", "")
		for _, c := range commands {
			options := regexp.MustCompile(`--[a-z][a-z-]*[a-z]`).FindAllString(c.Help, -1)
			for _, name := range slices.Concat([]string{c.Name}, c.Actions, options) {
				if !strings.Contains(r.Stdout, strings.TrimPrefix(name, "--")) {
					t.Errorf("%s: no %s", shell, name)
				}
			}
		}
	}
	call(t, "", nil, "completion").Want(t, cli.ExitUsage, "", "give a shell")
}

// The help of each command names all of its actions.
func TestCompletion_HelpNamesActions(t *testing.T) {
	seen := 0
	for _, c := range commands {
		help := call(t, "", nil, "help", c.Name).Stdout
		for _, a := range c.Actions {
			if seen++; !strings.Contains(help, "bunting "+c.Name+" "+a) {
				t.Errorf("the help of %s does not name %s", c.Name, a)
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d actions were looked at", seen)
	}
}

func TestVersion_JSON(t *testing.T) {
	var v map[string]any
	r := call(t, "", nil, "version", "--json")
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil {
		t.Fatal(err)
	}
	if v["go"] != runtime.Version() || v["platform"] != runtime.GOOS+"/"+runtime.GOARCH || v["version"] == "" || len(v) != 6 {
		t.Errorf("%s", r.Stdout)
	}
}
