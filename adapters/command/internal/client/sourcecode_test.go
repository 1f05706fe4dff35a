package client

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

const exportPath = "GET /api/projects/1/feature_flags/export/"

// Where generate and unused get the flags: a definitions file, of which --project chooses a project,
// a payload, a document of flags, or a server.
func TestDefinitions_Sources(t *testing.T) {
	t.Parallel()
	const flag = `{"id":1,"key":"KEY","active":true,"filters":{"groups":[{}]}}`
	one := `{"projects":[{"id":1,"name":"A","api_key":"phc_a","flags":[` + strings.Replace(flag, "KEY", "a", 1) + `]}]}`
	two := `{"projects":[{"id":1,"name":"A","api_key":"phc_a","flags":[` + strings.Replace(flag, "KEY", "a", 1) + `]},{"id":2,"name":"B","api_key":"phc_b","flags":[` + strings.Replace(flag, "KEY", "b", 1) + `]}]}`
	for name, c := range map[string]struct {
		text, project string
		want          string // the key of the flag, or a part of the error
	}{
		"one project":      {one, "", "a"},
		"one, not named":   {one, "Z", "a"},
		"a name":           {two, "B", "b"},
		"a key":            {two, "phc_a", "a"},
		"none of two":      {two, "", "file has 2 projects: choose one with --project, by its key or name"},
		"another of two":   {two, "2", "file has 2 projects: choose one"},
		"two of that name": {strings.Replace(two, `"B"`, `"A"`, 1), "A", "file has 2 projects: choose one"},
		"a payload":        {`{"flags":[` + strings.Replace(flag, "KEY", "p", 1) + `],"group_type_mapping":{},"cohorts":{}}`, "", "p"},
		"a document":       {`{"flags":[{"key":"d","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`, "", "d"},
		"not JSON":         {"flags:", "", "file: "},
		"a list":           {"[]", "", "file: "},
	} {
		d, err := definitionsOf("file", []byte(c.text), c.project)
		got := ""
		for i := range d.Flags {
			got += d.Flags[i].Key
		}
		if err != nil {
			got = err.Error()
		}
		if got != c.want && (err == nil || !strings.HasPrefix(got, c.want) || strings.Contains(got, "flags: flags")) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Generated code is written or compared. Exit code 2: the file is not up to date, or two keys give
// one name with --strict, and then no file is written.
func TestGenerate_Command(t *testing.T) {
	t.Parallel()
	document := `{"flags":[{"key":"new-page","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`
	clash := `{"flags":[{"key":"new-page","active":true,"filters":{"groups":[{}]}},{"key":"new_page","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`
	schema := clitest.TempFile(t, "schema.json", `{"type":"object","properties":{"size":{"type":"integer"}}}`)
	generate := func(stdin string, args ...string) clitest.Result {
		s := newCannedServer(t, map[string]string{exportPath: document})
		return clitest.Call(context.Background(), []cli.Command{Generate}, stdin, nil, append(append([]string{"generate"}, args...), "--server", s.URL, "--key", "k")...)
	}
	output := filepath.Join(t.TempDir(), "flags.go")
	generate(document, "go", "-").Want(t, cli.ExitOK, "package features\n", "")
	generate(document, "go", "-", "--package", "toggles").Want(t, cli.ExitOK, "package toggles\n", "")
	generate(document, "ts", "-").Want(t, cli.ExitOK, "new-page", "")
	generate("", "go").Want(t, cli.ExitOK, "project 1 (Shop)", "")
	generate(document, "go", "-", "--output", output, "--check").Want(t, cli.ExitUsage, "", output+" is not up to date: run it again without --check\n")
	if _, err := os.Stat(output); !os.IsNotExist(err) {
		t.Errorf("--check writes the file: %v", err)
	}
	generate(document, "go", "-", "--output", output).Want(t, cli.ExitOK, "", "")
	generate(document, "go", "-", "--output", output, "--check").Want(t, cli.ExitOK, "", "")
	generate(clash, "go", "-", "--output", output, "--check").Want(t, cli.ExitUsage, "", "is not up to date")
	generate(document, "go", "-", "--check").Want(t, cli.ExitUsage, "", "generate: --check needs --output\n")
	before, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	generate(clash, "go", "-", "--output", output, "--strict").Want(t, cli.ExitUsage, "", "new_page")
	after, err := os.ReadFile(output)
	if diff := cmp.Diff(string(before), string(after)); err != nil || diff != "" {
		t.Errorf("--strict writes the file: %v %s", err, diff)
	}
	generate(clash, "go", "-").Want(t, cli.ExitOK, "_2", "new_page")
	generate(document, "go", "-", "--schema", "new-page="+schema).Want(t, cli.ExitOK, "Size", "")
	generate(document, "go", "-", "--schema", schema).Want(t, cli.ExitUsage, "", "generate: --schema must be KEY=FILE, not ")
	generate(document, "go", "-", "--schema", "new-page=/none/schema.json").Want(t, cli.ExitError, "", "no such file")
	generate(document, "go", "-", "--schema", "new-page="+clitest.TempFile(t, "bad.json", "{")).Want(t, cli.ExitError, "", "bad.json is not valid JSON\n")
	generate(document, "go", "-", "two").Want(t, cli.ExitUsage, "", "generate: go takes no argument\n")
	generate("{", "go", "-").Want(t, cli.ExitError, "", "bunting: -: ")
	generate(document, "java", "-").Want(t, cli.ExitUsage, "", `generate: unknown action "java", must be one of go, ts`)
}

// Flags that no code uses, and keys that no flag has. Flags of a server are listed with their last
// call, which a file does not have.
func TestUnused_Command(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	code := "package x\n\nimport \"github.com/bunting-flags/bunting/flags\"\n\nfunc f(d flags.Decider, s flags.Subject) {\n\t_ = \"used\"\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "x.go"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	const list = "GET /api/projects/1/feature_flags/?limit=500&offset=0"
	document := `{"flags":[{"key":"old","active":true,"filters":{"groups":[{}]}},{"key":"used","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`
	used := `{"flags":[{"key":"used","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`
	const read = "1 file of source code read\n"
	unused := func(key string) string { return read + "\nflags that no code uses\n" + key }
	runCommandRows(t, []cli.Command{Unused}, map[string]commandRow{
		"of a server": {
			args: []string{"unused", "--code", dir}, sent: []string{list}, code: 2, stdout: unused("called last called T\nnever (off) never called"),
			answers: map[string]string{list: cannedPage(`{"key":"used","active":true}`, `{"key":"never","active":false,"last_called_at":null}`, `{"key":"called","active":true,"last_called_at":"T"}`)},
		},
		"of a file":     {args: []string{"unused", "-", "--code", dir}, stdin: document, code: 2, stdout: unused("old")},
		"all are used":  {args: []string{"unused", "-", "--code", dir}, stdin: used, stdout: read + "every flag is used, and every key that is read is a flag's"},
		"no code":       {args: []string{"unused", "-", "--code", t.TempDir()}, stdin: used, code: 1, stderr: "bunting: there is no source code below "},
		"no folder":     {args: []string{"unused", "-", "--code", filepath.Join(dir, "none")}, stdin: used, code: 1, stderr: "no such file"},
		"a refused key": {args: []string{"unused", "--code", dir}, answers: map[string]string{list: `403 {"detail":"needs feature_flag:read"}`}, sent: []string{list}, code: 1, stderr: "403: needs feature_flag:read"},
		"two files":     {args: []string{"unused", "a", "b"}, code: 2, stderr: "unused: unused takes no argument\n"},
	})
}

// The output of unused: the flags, the places of unknown keys, and the files that may not be fully
// searched, which do not count as findings.
func TestUnused_Text(t *testing.T) {
	t.Parallel()
	when := "T"
	const clean = "every flag is used, and every key that is read is a flag's\n"
	for name, c := range map[string]struct {
		answer unusedAnswer
		called bool
		want   string
	}{
		"nothing":       {unusedAnswer{Files: 2}, true, "2 files of source code read\n" + clean},
		"large files":   {unusedAnswer{Files: 1, TooLarge: 3}, true, "1 file of source code read, 3 too large and left out\n" + clean},
		"doubts":        {unusedAnswer{Files: 1, Doubts: []doubtfulFile{{"a.ts", "is in\nUTF-16"}}}, true, "1 file of source code read\n\nfiles that may not be fully searched\n  a.ts: is in UTF-16\n" + clean},
		"a flag":        {unusedAnswer{Files: 1, Unused: []unusedFlag{{Key: "a", Active: true}}}, false, "1 file of source code read\n\nflags that no code uses\n  a\n"},
		"a called flag": {unusedAnswer{Files: 1, Unused: []unusedFlag{{Key: "a", Called: &when}, {Key: "b", Active: true}}}, true, "1 file of source code read\n\nflags that no code uses\n  a  (off)  last called T\n  b  never called\n"},
		"unknown keys":  {unusedAnswer{Files: 1, Strange: []unknownUse{{"x.go", 7, "z\tz"}}}, true, "1 file of source code read\n\ncode that reads flags that do not exist\n  x.go:7: z z\n"},
	} {
		if diff := cmp.Diff(c.want, c.answer.text(c.called)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
