package main

import (
	"encoding/json"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A real bash completes with the script that is printed for it.
func TestCompletion_Bash(t *testing.T) {
	script := tempFile(t, "bunting.bash", call(t, "", nil, "completion", "bash").stdout)
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
			quotedWords[i] = quoted(w)
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
		r.want(t, exitOK, "bunting", "")
		for i := range commands {
			for _, name := range append([]string{commands[i].name}, optionNamed.FindAllString(commands[i].help(), -1)...) {
				if !strings.Contains(r.stdout, strings.TrimPrefix(name, "--")) {
					t.Errorf("%s: no %s", shell, name)
				}
			}
		}
		for command, actions := range managed {
			for _, a := range actions {
				if !strings.Contains(r.stdout, a.name) {
					t.Errorf("%s: no %s %s", shell, command, a.name)
				}
			}
		}
	}
	call(t, "", nil, "completion").want(t, exitUsage, "", "which shell?")
}

// Every action stands in the help of its command.
func TestCompletion_HelpNamesActions(t *testing.T) {
	for command, actions := range managed {
		help := call(t, "", nil, "help", command).stdout
		for _, a := range actions {
			if !strings.Contains(help, "bunting "+command+" "+a.name) {
				t.Errorf("the help of %s does not name %s", command, a.name)
			}
		}
	}
}

func TestVersion_JSON(t *testing.T) {
	var v map[string]any
	r := call(t, "", nil, "version", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatal(err)
	}
	if v["go"] != runtime.Version() || v["platform"] != runtime.GOOS+"/"+runtime.GOARCH || v["version"] == "" || len(v) != 6 {
		t.Errorf("%s", r.stdout)
	}
}
