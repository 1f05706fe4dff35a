package command

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

func TestManager_DeletionsWantYes(t *testing.T) {
	s := serve(t, time.Minute)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	for want, args := range map[string][]string{
		`Delete the flag "x" in project 1 (Default project)?`: {"flags", "delete", "x"},
		"in project 1 (Default project)?":                     {"flags", "apply", "--prune", demo},
		"add --yes":                                           {"projects", "delete", "1"},
	} {
		r := call(t, "", env, args...)
		if r.Code != cli.ExitUsage || !strings.Contains(r.Stderr, "add --yes") || !strings.Contains(r.Stderr, want) {
			t.Errorf("%v: exit %d, %q", args, r.Code, r.Stderr)
		}
	}
	s.stop()
	s.wait(0)
}

// The confirmation of an apply with --prune states how many flags it deletes, and which.
func TestConfirm_PruneNamesDeletedFlags(t *testing.T) {
	s := serve(t, time.Minute)
	env := []string{"BUNTING_SERVER=" + s.url, "BUNTING_KEY=" + printedKey.FindString(s.stdout.String())}
	document := func(keys ...string) string {
		var list []string
		for _, key := range keys {
			list = append(list, `{"key": "`+key+`", "active": true, "filters": {"groups": [{}]}}`)
		}
		return clitest.TempFile(t, "flags.json", `{"cohorts": [], "flags": [`+strings.Join(list, ",")+`]}`)
	}
	call(t, "", env, "flags", "apply", document("a", "b", "c")).Want(t, 0, "3 changed", "project 1")
	typing := func(typed string, args ...string) (int, string) {
		t.Helper()
		stderr := clitest.NewOutput()
		p := newProgram(strings.NewReader(typed), io.Discard, stderr, env)
		p.CanPrompt = func(io.Reader) bool { return true }
		return p.Run(t.Context(), args), stderr.String()
	}
	const question = "Delete 2 flags that the file does not have: b, c in project 1 (Default project)? [y/N]"
	if code, output := typing("n\n", "flags", "apply", document("a"), "--prune"); code != cli.ExitError || !strings.Contains(output, question) {
		t.Errorf("exit %d, %q", code, output)
	}
	call(t, "", env, "flags", "list").Want(t, 0, "b ", "")
	if code, output := typing("y\n", "flags", "apply", document("a"), "--prune"); code != cli.ExitOK || !strings.Contains(output, question) {
		t.Errorf("exit %d, %q", code, output)
	}
	if code, output := typing("", "flags", "apply", document("a"), "--prune"); code != cli.ExitOK || strings.Contains(output, "Delete") {
		t.Errorf("nothing goes: exit %d, %q", code, output)
	}
	s.stop()
	s.wait(0)
}
