package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// handled returns the report of lines of go test -json.
func handled(t *testing.T, flags []string, lines ...string) (*report, *testEvents, string) {
	t.Helper()
	var out strings.Builder
	r := newReport(&out)
	s := &stepRun{world: &world{report: r}, step: step{name: "s"}, ctx: t.Context()}
	e := &testEvents{r: s, flags: flags, output: map[string]string{}, builds: map[string]string{}, tests: map[string][]timed{}, failed: map[string]bool{}}
	e.read(strings.NewReader(strings.Join(lines, "\n")))
	return r, e, out.String()
}

// The output of a subtest belongs to its test, and a failure is reported with the command that
// repeats only this test.
func TestReport_OneFailure(t *testing.T) {
	const pkg = "github.com/bunting-flags/bunting/flags"
	r, e, out := handled(t, []string{"-race"},
		`{"Action":"output","Package":"`+pkg+`","Test":"TestA","Output":"of A\n"}`,
		`{"Action":"output","Package":"`+pkg+`","Test":"TestB","Output":"of B\n"}`,
		`{"Action":"output","Package":"`+pkg+`","Test":"TestA/sub","Output":"of the subtest\n"}`,
		`{"Action":"fail","Package":"`+pkg+`","Test":"TestA/sub","Elapsed":1}`,
		`{"Action":"fail","Package":"`+pkg+`","Test":"TestA","Elapsed":1.5}`,
		`{"Action":"pass","Package":"`+pkg+`","Test":"TestB","Elapsed":0.5}`,
		`{"Action":"skip","Package":"`+pkg+`","Test":"TestC"}`,
		`{"Action":"output","Package":"`+pkg+`","Output":"FAIL\n"}`,
		`{"Action":"output","Package":"`+pkg+`","Output":"FAIL\tflags\t2.000s\n"}`,
		`{"Action":"fail","Package":"`+pkg+`","Elapsed":2}`,
	)
	want := []failure{{"s", "flags TestA", "of A\nof the subtest\n", "go test -race " + pkg + " -run '^TestA$'"}}
	if !slices.Equal(want, r.failures) {
		t.Errorf("%+v, want %+v", r.failures, want)
	}
	if r.passed != 1 || r.failed != 1 || !slices.Equal(r.skipped, []string{"flags TestC"}) {
		t.Errorf("%d passed, %d failed, %q skipped", r.passed, r.failed, r.skipped)
	}
	if len(r.packages) != 1 || r.packages[0].name != "s: flags" || r.packages[0].took != 2*time.Second || len(r.tests) != 3 || r.tests[0].took != 1500*time.Millisecond {
		t.Errorf("%v, %v", r.packages, r.tests)
	}
	if !strings.HasSuffix(out, "FAIL\tflags\t2.000s\n") || strings.Contains(out, "of B") || len(e.output)+len(e.tests) != 0 {
		t.Errorf("%q, and still %v", out, e.output)
	}
}

// A package can fail without a failed test: it does not build, or it ends in the middle of tests,
// the output of which is reported.
func TestReport_FailedPackages(t *testing.T) {
	for name, c := range map[string]struct {
		lines  []string
		output string
	}{
		"a build": {[]string{
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"a.go:1: undefined\n"}`,
			`{"ImportPath":"p [p.test]","Action":"build-fail"}`,
			`{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}`,
			`{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
		}, "a.go:1: undefined\nFAIL\tp [build failed]\n"},
		"a timeout": {[]string{
			`{"Action":"output","Package":"p","Test":"TestB","Output":"of B\n"}`,
			`{"Action":"output","Package":"p","Test":"TestA","Output":"of A\n"}`,
			`{"Action":"output","Package":"pp","Test":"TestC","Output":"of another package\n"}`,
			`{"Action":"output","Package":"p","Output":"FAIL\tp\n"}`,
			`{"Action":"fail","Package":"p"}`,
		}, "of A\nof B\nFAIL\tp\n"},
	} {
		r, _, _ := handled(t, nil, c.lines...)
		if want := []failure{{"s", "p", c.output, "go test p"}}; !slices.Equal(want, r.failures) {
			t.Errorf("%s: %+v, want %+v", name, r.failures, want)
		}
	}
}

// A cached package has no duration, one without tests has no line, and lines that are not events
// are collected.
func TestReport_OtherLines(t *testing.T) {
	r, e, out := handled(t, nil,
		"go: downloading x",
		`{"Action":"output","Package":"p","Output":"ok  \tp\t(cached)\n"}`,
		`{"Action":"pass","Package":"p","Elapsed":3}`,
		`{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}`,
		`{"Action":"skip","Package":"q"}`,
		`{"Action":"pass","Package":"r","Elapsed":4}`,
		"{half",
	)
	if len(r.packages) != 2 || r.packages[1].name != "s: r" || len(r.failures)+r.passed != 0 {
		t.Errorf("%v, %v", r.packages, r.failures)
	}
	if out != "ok  \tp\t(cached)\n" || e.rest.String() != "go: downloading x\n{half" {
		t.Errorf("%q, %q", out, e.rest.String())
	}
}

// A run of one package needs the flags with values, except for the selection of tests and the number
// of packages, and -race.
func TestGoTest_Flags(t *testing.T) {
	for args, want := range map[string]string{
		"./...": "", "-race ./...": "-race", "-short -v ./x": "", "-tags=a,b -p=2 -run=X -skip=Y -count=1 -race ./...": "-tags=a,b -count=1 -race", "--timeout=5m -kills=100": "--timeout=5m -kills=100", "a=b": "",
	} {
		if got := strings.Join(flagsOf(strings.Fields(args)), " "); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}

// The summary repeats the end of long outputs.
func TestReport_LastLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 2, ""}, {"a", 2, "a\n"}, {"a\n", 2, "a\n"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\nc", 2, "(1 lines before these)\nb\nc\n"}, {"a\nb\nc\nd\n", 2, "(2 lines before these)\nc\nd\n"}, {"\n\n\n", 2, "(1 lines before these)\n\n\n"},
	} {
		if got := lastLines(c.text, c.limit); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

// The summary: ten packages and tests, the slowest first, steps by processor time, each failure with
// its command, and the counts.
func TestReport_Summary(t *testing.T) {
	var out strings.Builder
	r := newReport(&out)
	r.steps = []timed{{"quick", 3 * time.Second, time.Second}, {"slow", time.Second, 2 * time.Second}}
	for i := range 12 {
		r.packages = append(r.packages, timed{name: fmt.Sprint("p", i), took: time.Duration(i) * time.Second})
	}
	r.passed, r.skipped = 7, []string{"a", "b"}
	r.failures = []failure{{"slow", "it", "why\n", "go test it"}}
	r.summary(time.Minute, 4500*time.Millisecond)
	text := out.String()
	for _, want := range []string{
		"\n== summary: 60.0 s, CPU 4.5 s\nsteps by CPU:\n     1.0 s  CPU    2.0 s  slow\n     0.0 s  CPU    1.5 s  processes that outlived their parents\n     3.0 s  CPU    1.0 s  quick\nslowest packages:\n    11.0 s  p11\n    10.0 s  p10\n",
		"     2.0 s  p2\nskipped: a, b\n", "\nFAILED slow: it\nwhy\n  again: go test it\n", "\n7 passed, 1 failed, 2 skipped\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "slowest tests") || strings.Contains(text, " p1\n") {
		t.Errorf("too much in\n%s", text)
	}
}

// The steps of a run are the named steps, in the order of the table.
func TestChoose(t *testing.T) {
	all := []step{{name: "first"}, {name: "second"}, {name: "third"}}
	for _, c := range []struct {
		only []string
		want []string
	}{{[]string{all[2].name, all[0].name}, []string{all[0].name, all[2].name}}, {[]string{all[1].name}, []string{all[1].name}}} {
		got, err := choose(all, options{only: c.only})
		var names []string
		for _, s := range got {
			names = append(names, s.name)
		}
		if err != nil || !slices.Equal(names, c.want) {
			t.Errorf("%q: %q, %v", c.only, names, err)
		}
	}
	got, err := choose(all, options{only: []string{all[0].name, "none"}})
	if got != nil || !errors.Is(err, errUsage) || !strings.Contains(err.Error(), `there is no step "none"`) {
		t.Errorf("%v, %v", got, err)
	}
}

// The folder below testdata, and the package, of a changed file.
func TestChange_Places(t *testing.T) {
	for file, want := range map[string]string{
		"testdata/http/cases/a.json": "testdata/http", "testdata/README.md": "testdata/README.md", "testdata": "-", "flags/testdata/x": "-", "README.md": "-",
	} {
		if got := dataFolder(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	byDir := map[string]goPackage{"flags": {ImportPath: "flags"}, "flags/wire": {ImportPath: "wire"}}
	for file, want := range map[string]string{
		"flags/a.go": "flags", "flags/wire/a.go": "wire", "flags/testdata/deep/a.json": "flags", "flagsx/a.go": "", "a.go": "", "flags": "",
	} {
		p, found := owner(file, byDir)
		if p.ImportPath != want || found != (want != "") {
			t.Errorf("%s: %q, %v", file, p.ImportPath, found)
		}
	}
}
