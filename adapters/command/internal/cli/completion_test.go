package cli

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// completionProgram has commands with actions, options and a summary with an apostrophe.
func completionProgram(out *strings.Builder) *Program {
	return &Program{Stdout: out, Stderr: out, Commands: []Command{
		{Name: "serve", Summary: "run the server", Help: "Usage: bunting serve [--listen HOST:PORT]\n\n  --listen   the address\n  --log-level LEVEL  see --listen\n"},
		{Name: "flag", Summary: "change the server's flags", Help: "Usage: bunting flag on|off KEY --x --a-b- --2fa", Actions: []string{"on", "off"}},
		Completion,
	}}
}

// The words of a command are its actions, and the options that its help names, each once.
func TestCompletion_Entries(t *testing.T) {
	t.Parallel()
	got := completionProgram(&strings.Builder{}).completionEntries()
	want := []completionEntry{
		{"completion", "print a completion script for a shell", nil, []string{"--help"}},
		{"flag", "change the server's flags", []string{"on", "off"}, []string{"--a-b", "--help"}},
		{"help", "explain a command", []string{"serve", "flag", "completion"}, nil},
		{"serve", "run the server", nil, []string{"--help", "--listen", "--log-level"}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(completionEntry{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The shells with a script, and the errors of others.
func TestCompletion_Shells(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"completion":          "bunting: completion: give a shell: bash, zsh or fish\nbunting: see bunting help completion\n",
		"completion bash zsh": "bunting: completion: give a shell: bash, zsh or fish\nbunting: see bunting help completion\n",
		"completion powershl": "bunting: completion: unknown shell \"powershl\", must be one of bash, zsh, fish\nbunting: see bunting help completion\n",
		"completion bsh":      "bunting: completion: unknown shell \"bsh\", must be one of bash, zsh, fish; did you mean bash?\nbunting: see bunting help completion\n",
	} {
		var out strings.Builder
		if code := completionProgram(&out).Run(t.Context(), strings.Fields(args)); code != ExitUsage || out.String() != want {
			t.Errorf("%s: code %d, %q, want %q", args, code, out.String(), want)
		}
	}
	for shell, lines := range map[string][]string{
		"bash": {`    flag) words="on off" options="--a-b --help" ;;`, `    COMPREPLY=($(compgen -W "completion flag help serve" -- "$now"))`, "complete -o filenames -F _bunting bunting"},
		"zsh":  {"#compdef bunting", `    'flag:change the server'\''s flags'`, "    flag) actions=(on off); options=(--a-b --help) ;;", "compdef _bunting bunting"},
		"fish": {`complete -c bunting -n __fish_use_subcommand -f -a flag -d 'change the server'\''s flags'`, "complete -c bunting -n '__fish_seen_subcommand_from flag' -a 'on off'", "complete -c bunting -n '__fish_seen_subcommand_from serve' -l log-level"},
	} {
		var out strings.Builder
		if code := completionProgram(&out).Run(t.Context(), []string{"completion", shell}); code != ExitOK {
			t.Errorf("%s: code %d", shell, code)
		}
		all := strings.Split(out.String(), "\n")
		for _, line := range lines {
			if !slices.Contains(all, line) {
				t.Errorf("%s: no line %q in\n%s", shell, line, out.String())
			}
		}
	}
	if got := quote("a'b''c"); got != `'a'\''b'\'''\''c'` {
		t.Error(got)
	}
}

// The script in bash itself: what completes a line, whose last word is what the user has typed.
func TestCompletion_InBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	script := bashCompletion(completionProgram(&strings.Builder{}).completionEntries())
	for line, want := range map[string]string{
		"bunting ":                  "completion flag help serve",
		"bunting s":                 "serve",
		"bunting x":                 "",
		"bunting flag ":             "on off",
		"bunting flag of":           "off",
		"bunting flag -":            "--a-b --help",
		"bunting serve --l":         "--listen --log-level",
		"bunting serve --listen --": "--help --listen --log-level",
		"bunting help f":            "flag",
	} {
		const run = `COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bunting; echo "${COMPREPLY[*]}"`
		words := strings.Split(line, " ")
		out, err := exec.Command(bash, append([]string{"--norc", "-c", script + run, "bash"}, words...)...).Output()
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("%s: %s", line, failed.Stderr)
		}
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", line, got, err, want)
		}
	}
}
