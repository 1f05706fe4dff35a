package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// files is a module with a package for each way in which a package can end.
var files = map[string]string{
	"go.mod":           "module example.org/m\n\ngo 1.26.0\n",
	"passes/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n\nfunc TestLater(t *testing.T) { t.Skip(\"later\") }\n",
	"fails/a_test.go":  "package a\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Run(\"sub\", func(t *testing.T) { t.Error(\"this is wrong\") }) }\n\nfunc TestGood(t *testing.T) {}\n",
	"panics/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestPanics(t *testing.T) { panic(\"on purpose\") }\n",
	"broken/a_test.go": "package a\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) { undefined() }\n",
	"main/a_test.go":   "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { println(\"no server\"); os.Exit(3) }\n",
}

func TestGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := newReport(&out)
	w := &world{report: r}
	s := step{name: "s", do: func(r *stepRun) {
		r.goTestEnv(dir, []string{"GOWORK=off"}, "-tags=x", "-p=2", "./...")
	}}
	w.runStep(context.Background(), s)

	if r.passed != 2 || r.failed != 2 || strings.Join(r.skipped, "") != "example.org/m/passes TestLater" {
		t.Errorf("%d passed, %d failed, skipped %v; want 2, 2 and TestLater", r.passed, r.failed, r.skipped)
	}
	want := map[string]struct{ output, rerun string }{
		"example.org/m/fails TestBad":     {"this is wrong", "go test -tags=x example.org/m/fails -run '^TestBad$'"},
		"example.org/m/panics TestPanics": {"on purpose", "go test -tags=x example.org/m/panics -run '^TestPanics$'"},
		"example.org/m/broken":            {"undefined: undefined", "go test -tags=x example.org/m/broken"},
		"example.org/m/main":              {"no server", "go test -tags=x example.org/m/main"},
	}
	for _, f := range r.failures {
		w, ok := want[f.what]
		if !ok || !strings.Contains(f.output, w.output) || f.rerun != "(cd "+dir+" && GOWORK=off "+w.rerun+")" {
			t.Errorf("failure %q:\n%s\nagain: %s", f.what, f.output, f.rerun)
		}
		delete(want, f.what)
	}
	for what := range want {
		t.Errorf("%s is not reported", what)
	}
	if len(r.steps) != 1 || r.steps[0].cpu == 0 {
		t.Errorf("no CPU of the step: %v", r.steps)
	}
	if !strings.Contains(out.String(), "ok  \texample.org/m/passes") {
		t.Errorf("no line of a package that passed:\n%s", out.String())
	}
}

func TestCommand_String(t *testing.T) {
	c := command{dir: "bench", env: []string{"GOWORK=off"}, args: []string{"go", "test", "-run", "^It's$"}}
	if got, want := c.String(), `(cd bench && GOWORK=off go test -run '^It'\''s$')`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
