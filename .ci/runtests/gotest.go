package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// hangs is the time after which the tests of a package are considered to hang. It allows for a
// machine that is busy with other work.
const hangs = "40m"

// fewCollections makes tests collect garbage less often, which saves about a tenth of their
// processor time. It is not for steps that measure the memory of a server.
var fewCollections = []string{"GOGC=400"}

// goTest runs `go test` in dir and reports each package when it ends, and each failure. args are
// the arguments of go test; vet is a separate step.
func (r *stepRun) goTest(dir string, args ...string) {
	r.goTestEnv(dir, nil, args...)
}

// goTestEnv is goTest with additional environment variables.
func (r *stepRun) goTestEnv(dir string, env []string, args ...string) {
	reader, writer := io.Pipe()
	var stderr lockedBuffer
	c := command{dir: dir, env: env, args: append([]string{"go", "test", "-vet=off", "-json", "-timeout=" + hangs}, args...)}
	ended := make(chan error, 1)
	go func() {
		err := r.start(c, writer, &stderr)
		writer.Close()
		ended <- err
	}()
	t := &testEvents{r: r, dir: dir, flags: flagsOf(args), env: env, output: map[string]string{}, builds: map[string]string{}, tests: map[string][]timed{}, failed: map[string]bool{}}
	t.read(reader)
	if err := <-ended; err != nil && len(t.failed) == 0 {
		r.fail(fmt.Sprintf("go test: %v", err), t.rest.String()+stderr.String(), command{dir: dir, args: append([]string{"go", "test"}, args...)}.String())
	}
}

// flagsOf returns the arguments of go test that a run of one package needs too.
func flagsOf(args []string) []string {
	var flags []string
	for _, arg := range args {
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && hasValue && name != "run" && name != "skip" && name != "p" || arg == "-race" {
			flags = append(flags, arg)
		}
	}
	return flags
}

// event is a line of `go test -json`; `go doc test2json` and `go help buildjson` describe it.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64 // seconds
	ImportPath  string  // of build-output and build-fail
	FailedBuild string  // of fail: the import path that did not build
}

// testEvents converts the events of one `go test` into lines of a report.
type testEvents struct {
	r          *stepRun
	dir        string
	env, flags []string
	output     map[string]string  // of running tests, by package and test
	builds     map[string]string  // of builds, by import path, such as p [p.test]
	tests      map[string][]timed // completed tests by package
	failed     map[string]bool    // packages for which a failure was reported
	rest       strings.Builder    // lines that are not events
}

// read handles all events of in. Other lines, for example of a failed build, are collected in rest.
func (t *testEvents) read(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				t.handle(e)
			} else {
				t.rest.Write(line)
			}
		}
		if err != nil {
			return
		}
	}
}

// handle handles one event. The output of a subtest belongs to its top-level test.
func (t *testEvents) handle(e event) {
	root, _, isSub := strings.Cut(e.Test, "/")
	key := e.Package + " " + root
	took := time.Duration(e.Elapsed * float64(time.Second))
	switch e.Action {
	case "build-output":
		t.builds[e.ImportPath] += e.Output
	case "output":
		t.output[key] += e.Output
	case "pass", "skip", "fail":
		switch {
		case e.Test == "":
			t.endPackage(e, key, took)
		case !isSub:
			t.endTest(e, key, took)
		}
	}
}

func (t *testEvents) endTest(e event, key string, took time.Duration) {
	name := shortName(e.Package) + " " + e.Test
	t.r.report.test(name, e.Action)
	t.tests[e.Package] = append(t.tests[e.Package], timed{name: name, took: took})
	if e.Action == "fail" {
		t.fail(e.Package, name, t.output[key], "-run", "^"+e.Test+"$")
	}
	delete(t.output, key)
}

// endPackage reports the result of a package: its last line, its duration unless it is cached, and
// a failure that is not a failure of a single test, for example of a build.
func (t *testEvents) endPackage(e event, key string, took time.Duration) {
	output := t.output[key]
	if e.Action == "fail" && !t.failed[e.Package] {
		t.fail(e.Package, shortName(e.Package), t.builds[e.FailedBuild]+t.unfinished(e.Package)+output)
	}
	lines := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	line := lines[len(lines)-1]
	if !strings.Contains(line, "(cached)") {
		t.r.report.took(timed{name: t.r.name + ": " + shortName(e.Package), took: took}, t.tests[e.Package])
	}
	if e.Action != "skip" { // it has no tests
		t.r.report.print(line)
	}
	delete(t.output, key)
	delete(t.tests, e.Package)
}

// unfinished returns the output of the tests of a package that have not ended, because the package
// timed out or a goroutine panicked.
func (t *testEvents) unfinished(pkg string) string {
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(t.output)) {
		if strings.HasPrefix(key, pkg+" ") && key != pkg+" " {
			text.WriteString(t.output[key])
		}
	}
	return text.String()
}

// fail reports a failure of a package, with the command that repeats it.
func (t *testEvents) fail(pkg, what, output string, args ...string) {
	t.failed[pkg] = true
	again := command{dir: t.dir, env: t.env, args: slices.Concat([]string{"go", "test"}, t.flags, []string{pkg}, args)}
	t.r.fail(what, output, again.String())
}

// shortName returns a package's import path without the prefix of the project.
func shortName(pkg string) string {
	return strings.TrimPrefix(pkg, "github.com/bunting-flags/bunting/")
}
