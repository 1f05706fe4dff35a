package main

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runInstead is the environment variable with which this test program runs the steps below instead
// of its tests.
const runInstead = "RUNTESTS_RUN_STEPS"

var ownSteps = []step{
	{name: "bad", do: func(r *stepRun) { r.run(command{args: []string{"sh", "-c", "echo wrong; exit 3"}}) }},
	{name: "good", do: func(r *stepRun) { r.run(in("", "echo fine")) }},
	{name: "computes", tiers: []tier{long}, do: func(r *stepRun) {
		r.run(command{args: []string{"sh", "-c", "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done' >/dev/null 2>&1 &"}})
	}},
	{name: "server", tiers: []tier{long}, do: func(r *stepRun) {
		r.run(command{args: []string{"sh", "-c", "setsid sleep 1000 & echo $!; trap '' TERM; while :; do sleep 1; done"}})
	}},
	{name: "leaves", tiers: []tier{quick}, do: func(r *stepRun) {
		r.run(command{args: []string{"sh", "-c", "setsid sleep 1001 >/dev/null 2>&1 &"}})
	}},
}

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(runInstead); ok {
		os.Exit(exitCode(run(strings.Fields(args), ownSteps, os.Stdout)))
	}
	os.Exit(m.Run())
}

func runSteps(args string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), runInstead+"="+args)
	return cmd
}

// A failing step does not stop the other steps, and is repeated at the end.
func TestRun_Failures(t *testing.T) {
	out, err := runSteps("").CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v, want exit code 1", err)
	}
	_, summary, _ := strings.Cut(string(out), "== summary")
	for _, want := range []string{"steps by CPU", "FAILED bad: sh: exit status 3\nwrong\n  again: sh -c 'echo wrong; exit 3'", "\n0 passed, 1 failed, 0 skipped\n"} {
		if !strings.Contains(summary, want) {
			t.Errorf("no %q in\n%s", want, summary)
		}
	}
	if !strings.Contains(string(out), "fine\n") {
		t.Errorf("the step after it has not run:\n%s", out)
	}
}

// The processor time of a process that ends after its parent is part of the sum.
func TestRun_CPUOfOrphans(t *testing.T) {
	out, err := runSteps("--only computes").CombinedOutput()
	other := regexp.MustCompile(`CPU +(\S+) s  processes that outlived their parents\n`).FindSubmatch(out)
	if err != nil || other == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if cpu, err := strconv.ParseFloat(string(other[1]), 64); err != nil || cpu < 0.1 {
		t.Errorf("CPU %s s, want 0.1 s and more", other[1])
	}
}

func TestRun_CommandLine(t *testing.T) {
	for args, want := range map[string]int{"--only good": 0, "--only bad": 1, "--only none": 2, "--quick --long": 2, "more": 2, "--fast": 2, "--list": 0} {
		out, err := runSteps(args).CombinedOutput()
		code := 0
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", args, code, want, out)
		}
	}
}

// A server that a step leaves running is a failure, and is ended.
func TestRun_Orphans(t *testing.T) {
	out, err := runSteps("--quick").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "left running: ") || !strings.Contains(string(out), "sleep 1001") {
		t.Errorf("%v\n%s", err, out)
	}
	waitUntil(t, func() bool { return exec.Command("pgrep", "-f", "^sleep 1001$").Run() != nil })
}

// After an interrupt no process is left, neither one in its own session, nor one that ignores
// SIGTERM.
func TestRun_Interrupted(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := runSteps("--long --only server")
		out := &lockedBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		isRunning := func() bool { return exec.Command("pgrep", "-f", "^sleep 1000$").Run() == nil }
		waitUntil(t, isRunning)
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 130 {
			t.Errorf("%v: %v, want exit code 130\n%s", signal, err, out)
		}
		if isRunning() {
			t.Errorf("%v: a process is left", signal)
		}
	}
}

func waitUntil(t *testing.T, isSo func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !isSo(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}
