package client

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

const (
	planPath     = "POST /api/projects/1/feature_flags/plan/"
	applyPath    = "POST /api/projects/1/feature_flags/apply/"
	documentText = `{"flags":[{"key":"f"}],"cohorts":[]}`
)

// A plan shows each flag and cohort that changes with the values that differ, and how many people
// would get another value: of all people, or of a sample (decision 27).
func TestDocuments_Formats(t *testing.T) {
	t.Parallel()
	const people = `"people":{"changed":2,"counted":10,"of":10,"sample":false}`
	const sample = `"people":{"changed":0,"counted":100000,"of":2000000,"sample":true}`
	update := `"changes":[{"field":"filters","before":{"a":1,"b":[1]},"after":{"a":2,"b":[1],"c":"x"}},{"field":"name","before":"old","after":null}]`
	for name, c := range map[string]struct {
		answer             string
		applied            bool
		text, markdownText string
	}{
		"nothing":         {`{"changes":[],"unchanged":3}`, false, "0 would change, 3 unchanged\n", "**0 would change, 3 unchanged**\n\n"},
		"nothing applied": {`{"changes":[],"unchanged":0}`, true, "0 changed, 0 unchanged\n", "**0 changed, 0 unchanged**\n\n"},
		"one of each": {
			`{"changes":[{"kind":"flag","name":"new","action":"create",` + people + `},{"kind":"cohort","name":"old ones","action":"delete"}],"unchanged":1}`, false,
			"+ flag new   2 of 10 people would get another value\n- cohort old ones\n2 would change, 1 unchanged\n",
			"**2 would change, 1 unchanged**\n\n- create flag `new`: 2 of 10 people would get another value\n- delete cohort `old ones`\n",
		},
		"an update": {
			`{"changes":[{"kind":"flag","name":"f","action":"update",` + update + `,` + sample + `}],"unchanged":0}`, true,
			"~ flag f   0 of a sample of 100000 out of 2000000 people would get another value\n    filters.a: 1 -> 2\n    filters.c: (none) -> \"x\"\n    name: \"old\" -> (none)\n1 changed, 0 unchanged\n",
			"**1 changed, 0 unchanged**\n\n- update flag `f`: 0 of a sample of 100000 out of 2000000 people would get another value\n  - `filters.a`: `1` → `2`\n  - `filters.c`: `(none)` → `\"x\"`\n  - `name`: `\"old\"` → `(none)`\n",
		},
		"the values of a new flag are not shown": {
			`{"changes":[{"kind":"flag","name":"f","action":"create","changes":[{"field":"name","before":null,"after":"x"}]}],"unchanged":0}`, false,
			"+ flag f\n1 would change, 0 unchanged\n", "**1 would change, 0 unchanged**\n\n- create flag `f`\n",
		},
	} {
		a := decoded[documentAnswer](t, c.answer)
		if diff := cmp.Diff(c.text, a.text(c.applied)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.markdownText, a.markdown(c.applied)); diff != "" {
			t.Errorf("%s as Markdown (-want +got):\n%s", name, diff)
		}
	}
}

// The exit codes of plan and apply: 2 if a plan has changes, 1 if flags of an import were left out.
// The server gets the document as it is in the file.
func TestDocuments_Commands(t *testing.T) {
	t.Parallel()
	const changed = `{"changes":[{"kind":"flag","name":"f","action":"create"}],"unchanged":0,"warnings":["filters.x is not known"]}`
	const same = `{"changes":[],"unchanged":1}`
	file := clitest.TempFile(t, "flags.json", documentText)
	sent := func(path string) []string { return []string{path + ` {"cohorts":[],"flags":[{"key":"f"}]}`} }
	runCommandRows(t, []cli.Command{Flags}, map[string]commandRow{
		"a plan with changes": {
			args: []string{"flags", "plan", file}, answers: map[string]string{planPath: changed}, sent: sent(planPath), code: 2,
			stdout: "+ flag f\n1 would change, 0 unchanged", stderr: "warning: filters.x is not known\n",
		},
		"a plan without changes": {args: []string{"flags", "plan", file}, answers: map[string]string{planPath: same}, sent: sent(planPath), stdout: "0 would change, 1 unchanged"},
		"from the standard input": {
			args: []string{"flags", "plan", "-"}, stdin: documentText, answers: map[string]string{planPath: same}, sent: sent(planPath), stdout: "0 would change, 1 unchanged",
		},
		"a plan as Markdown": {
			args: []string{"flags", "plan", file, "--format", "markdown"}, answers: map[string]string{planPath: same}, sent: sent(planPath), stdout: "**0 would change, 1 unchanged**\n",
		},
		"a plan that deletes": {
			args: []string{"flags", "plan", file, "--prune"}, answers: map[string]string{planPath + "?prune=true": same}, sent: sent(planPath + "?prune=true"), stdout: "0 would change, 1 unchanged",
		},
		"applied": {
			args: []string{"flags", "apply", file}, answers: map[string]string{applyPath: changed}, sent: sent(applyPath),
			stdout: "+ flag f\n1 changed, 0 unchanged", stderr: "warning: filters.x is not known\nin project 1 (Shop)\n",
		},
		"applied with deletions": {
			args: []string{"flags", "apply", file, "--prune", "--yes"}, answers: map[string]string{applyPath + "?prune=true": same}, sent: sent(applyPath + "?prune=true"),
			stdout: "0 changed, 1 unchanged", stderr: "in project 1 (Shop)\n",
		},
		"deletions without a terminal": {
			args: []string{"flags", "apply", file, "--prune"}, code: 2, stderr: "flags: Delete the flags that the file does not have in project 1 (Shop)? There is no terminal to confirm this: add --yes",
		},
		"another format": {args: []string{"flags", "plan", file, "--format", "html"}, code: 2, stderr: `flags: --format: must be text, json or markdown, not "html"`},
		"refused":        {args: []string{"flags", "apply", file}, answers: map[string]string{applyPath: `400 {"detail":"flags[0].key: is taken"}`}, sent: sent(applyPath), code: 1, stderr: "bunting: the server answered 400: flags[0].key: is taken\n"},
		"an odd answer":  {args: []string{"flags", "plan", file}, answers: map[string]string{planPath: `{"changes":{}}`}, sent: sent(planPath), code: 1, stderr: "bunting: the server's response cannot be read: "},
		"not a document": {args: []string{"flags", "plan", "-"}, stdin: `[]`, code: 1, stderr: "bunting: - is not a document of flags: "},
		"not JSON":       {args: []string{"flags", "plan", "-"}, stdin: `flags:`, code: 1, stderr: "bunting: - is not a document of flags: "},
		"no file":        {args: []string{"flags", "plan", filepath.Join(t.TempDir(), "none")}, code: 1, stderr: "no such file"},
	})
}

// A definitions file becomes a document. Flags that a server would refuse are left out and listed;
// with --prune they are not, since the server would delete its flags of these keys.
func TestDocuments_OfDefinitions(t *testing.T) {
	t.Parallel()
	definitions := `{"projects":[{"id":1,"api_key":"phc_x","flags":[
		{"id":1,"key":"good","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}},
		{"id":2,"key":"bad key","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}]}]}`
	for _, prune := range []bool{false, true} {
		stderr := clitest.NewOutput()
		m := &manager{Program: &cli.Program{Stdin: strings.NewReader(definitions), Stderr: stderr}}
		document, omitted, err := readDocument(m, "-", &documentOptions{prune: &prune})
		if err != nil {
			t.Fatal(err)
		}
		text := string(document)
		if !strings.Contains(text, `"good"`) || strings.Contains(text, `"bad key"`) != prune || (omitted == 1) == prune || strings.Contains(text, `"id"`) {
			t.Errorf("prune %v: %d are left out of %s", prune, omitted, text)
		}
		if listed := strings.Contains(stderr.String(), "a server would refuse it"); listed == prune {
			t.Errorf("prune %v: %s", prune, stderr)
		}
	}
}

// On a terminal, the question before deletions names the flags, at most ten of them. Without
// deletions, there is no question.
func TestDocuments_ConfirmPrune(t *testing.T) {
	t.Parallel()
	deletions := func(n int) string {
		list := []string{`{"kind":"flag","name":"kept","action":"update"}`}
		for i := range n {
			list = append(list, fmt.Sprintf(`{"kind":"flag","name":"f%d","action":"delete"}`, i))
		}
		return `{"changes":[` + strings.Join(list, ",") + `]}`
	}
	for _, c := range []struct {
		deleted int
		typed   string
		want    string
		applied bool
	}{
		{0, "", "", true},
		{1, "y\n", "Delete 1 flag that the file does not have: f0 in project 1 (Shop)? [y/N]", true},
		{1, "n\n", "Delete 1 flag that the file does not have: f0 in project 1 (Shop)? [y/N]", false},
		{10, "y\n", "Delete 10 flags that the file does not have: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9 in project", true},
		{11, "y\n", "Delete 11 flags that the file does not have: f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, … in project", true},
	} {
		s := newCannedServer(t, map[string]string{planPath + "?prune=true": deletions(c.deleted), applyPath + "?prune=true": `{"changes":[]}`})
		stdout, stderr := clitest.NewOutput(), clitest.NewOutput()
		p := &cli.Program{
			Commands: []cli.Command{Flags}, Stdin: strings.NewReader(c.typed), Stdout: stdout, Stderr: stderr,
			CanPrompt: func(io.Reader) bool { return true },
		}
		file := clitest.TempFile(t, "flags.json", documentText)
		code := p.Run(context.Background(), []string{"flags", "apply", file, "--prune", "--server", s.URL, "--key", "k"})
		applied := len(s.requests) == 2 && strings.HasPrefix(s.requests[1], applyPath)
		if applied != c.applied || (code == cli.ExitOK) != c.applied || !strings.Contains(stderr.String(), c.want) || c.want == "" && strings.Contains(stderr.String(), "Delete") {
			t.Errorf("%d deletions, typed %q: exit %d, %q, %q", c.deleted, c.typed, code, s.requests, stderr)
		}
	}
}

// An export is the server's document, with a line break at the end.
func TestDocuments_Export(t *testing.T) {
	t.Parallel()
	const path = "GET /api/projects/1/feature_flags/export/"
	s := newCannedServer(t, map[string]string{path: documentText})
	output := filepath.Join(t.TempDir(), "flags.json")
	for _, args := range [][]string{{}, {"--output", "-"}, {"--output", output}} {
		r := clitest.Call(context.Background(), []cli.Command{Flags}, "", nil, append([]string{"flags", "export", "--server", s.URL, "--key", "k"}, args...)...)
		text := r.Stdout
		if len(args) == 2 && args[1] == output {
			content, err := os.ReadFile(output)
			if err != nil || text != "" {
				t.Errorf("%v, and the output has %q", err, text)
			}
			text = string(content)
		}
		if text != documentText+"\n" || r.Code != cli.ExitOK {
			t.Errorf("%v: exit %d, %q", args, r.Code, text)
		}
	}
}
