package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	slowest     = 10 // number of packages and tests that the summary lists
	outputLines = 80 // number of lines of a failure that the summary repeats
)

// failure is a test that failed, a package that did not build, or a command that failed.
type failure struct {
	step, what, output string
	rerun              string // the command that repeats only this
}

// timed is a named duration.
type timed struct {
	name string
	took time.Duration
	cpu  time.Duration // processor time, for steps
}

// report prints results as they arrive, and a summary at the end. Its methods may be called
// concurrently.
type report struct {
	mu       sync.Mutex
	out      io.Writer
	failures []failure
	steps    []timed
	packages []timed
	tests    []timed
	passed   int
	failed   int
	skipped  []string
}

func newReport(out io.Writer) *report { return &report{out: out} }

func (r *report) begin(s step) { r.print(fmt.Sprintf("== %s: %s\n", s.name, s.about)) }

func (r *report) end(s step, took, cpu time.Duration) {
	r.print(fmt.Sprintf("-- %s: %s, CPU %s\n", s.name, seconds(took), seconds(cpu)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, timed{s.name, took, cpu})
}

func (r *report) print(text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	io.WriteString(r.out, strings.TrimSuffix(text, "\n")+"\n")
}

func (r *report) fail(f failure) {
	r.print(fmt.Sprintf("FAILED %s: %s\n%s", f.step, f.what, f.output))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, f)
}

// test counts a test by its result: "pass", "fail" or "skip".
func (r *report) test(name, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch result {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
	case "skip":
		r.skipped = append(r.skipped, name)
	}
}

// took records the duration of a package and of its tests.
func (r *report) took(pkg timed, tests []timed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.packages = append(r.packages, pkg)
	r.tests = append(r.tests, tests...)
}

// summary prints the duration and the processor time of all, the slowest packages and tests, the processor time of each step, the skipped
// tests, the failures, and a closing line with the counts.
//
// The processor time of a step does not contain processes that outlived their parents, such as
// servers of PostgreSQL and the processes of a browser. They are the difference to cpu, and have a
// row of their own.
func (r *report) summary(took, cpu time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ofSteps time.Duration
	for _, s := range r.steps {
		ofSteps += s.cpu
	}
	cpu = max(cpu, ofSteps)
	if other := cpu - ofSteps; other > 0 {
		r.steps = append(r.steps, timed{name: "processes that outlived their parents", cpu: other})
	}
	fmt.Fprintf(r.out, "\n== summary: %s, CPU %s\n", seconds(took), seconds(cpu))
	r.table("steps by CPU", len(r.steps), r.steps, func(a, b timed) int { return cmp.Compare(b.cpu, a.cpu) })
	byTime := func(a, b timed) int { return cmp.Compare(b.took, a.took) }
	r.table("slowest packages", slowest, r.packages, byTime)
	r.table("slowest tests", slowest, r.tests, byTime)
	if len(r.skipped) > 0 {
		fmt.Fprintf(r.out, "skipped: %s\n", strings.Join(r.skipped, ", "))
	}
	for _, f := range r.failures {
		fmt.Fprintf(r.out, "\nFAILED %s: %s\n%s  again: %s\n", f.step, f.what, lastLines(f.output, outputLines), f.rerun)
	}
	failed := max(r.failed, len(r.failures))
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, failed, len(r.skipped))
}

func (r *report) table(title string, limit int, rows []timed, order func(a, b timed) int) {
	if len(rows) == 0 {
		return
	}
	rows = slices.SortedStableFunc(slices.Values(rows), order)
	fmt.Fprintf(r.out, "%s:\n", title)
	for _, row := range rows[:min(limit, len(rows))] {
		fmt.Fprintf(r.out, "  %8s", seconds(row.took))
		if row.cpu > 0 {
			fmt.Fprintf(r.out, "  CPU %8s", seconds(row.cpu))
		}
		fmt.Fprintf(r.out, "  %s\n", row.name)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func lastLines(text string, limit int) string {
	if text == "" {
		return ""
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n")+"\n", "\n")
	lines = lines[:len(lines)-1]
	if skipped := len(lines) - limit; skipped > 0 {
		return fmt.Sprintf("(%d lines before these)\n", skipped) + strings.Join(lines[skipped:], "")
	}
	return strings.Join(lines, "")
}
