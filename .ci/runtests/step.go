package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stepRun is a running step, with the methods that its function calls.
type stepRun struct {
	*world
	step

	ctx context.Context
	cpu time.Duration // of all commands so far, including their child processes
}

// runStep runs a step until it ends and reports its result.
func (w *world) runStep(ctx context.Context, s step) {
	w.report.begin(s)
	begin := time.Now()
	r := &stepRun{world: w, step: s, ctx: ctx}
	s.do(r)
	if ctx.Err() == nil {
		w.report.end(s, time.Since(begin), r.cpu)
	}
}

// fail reports a failure of the step. If rerun is empty, it is the command that repeats the step.
func (r *stepRun) fail(what, output, rerun string) {
	if r.ctx.Err() != nil {
		return // an interrupted command has not failed
	}
	if rerun == "" {
		rerun = ".ci/test --only " + r.name
	}
	r.report.fail(failure{r.name, what, output, rerun})
}

// command is a program that a step runs: its arguments, in a folder of the repository.
type command struct {
	dir  string // "" is the root of the repository
	env  []string
	args []string
}

// in returns a command in dir. args are separated by spaces.
func in(dir, args string) command { return command{dir: dir, args: strings.Fields(args)} }

func (c command) String() string {
	quoted := make([]string, 0, len(c.args)+2)
	for _, arg := range c.args {
		if strings.ContainsAny(arg, " $^|()*'\"") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		quoted = append(quoted, arg)
	}
	text := strings.Join(append(c.env[:len(c.env):len(c.env)], quoted...), " ")
	if c.dir != "" {
		text = "(cd " + c.dir + " && " + text + ")"
	}
	return text
}

// start runs the command until it ends and writes its outputs to stdout and stderr. The command
// leads its own process group, which is ended when the run is interrupted.
func (r *stepRun) start(c command, stdout, stderr interface{ Write([]byte) (int, error) }) error {
	cmd := exec.CommandContext(r.ctx, c.args[0], c.args[1:]...)
	cmd.Dir = c.dir
	cmd.Env = append(append(os.Environ(), r.programs()...), c.env...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if state := cmd.ProcessState; state != nil {
		r.cpu += state.UserTime() + state.SystemTime()
	}
	return err
}

// run runs commands until one fails, and prints their output.
func (r *stepRun) run(commands ...command) {
	for _, c := range commands {
		out, err := r.output(c)
		if err != nil {
			r.fail(fmt.Sprintf("%s: %v", c.args[0], err), out, c.String())
			return
		}
		r.report.print(out)
	}
}

// output runs a command and returns its combined output.
func (r *stepRun) output(c command) (string, error) {
	var out lockedBuffer
	err := r.start(c, &out, &out)
	return out.String(), err
}

// lockedBuffer is a buffer to which several goroutines may write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// choose returns the steps that the options select: the steps of the tier, or the named ones.
func choose(all []step, o options) ([]step, error) {
	var selected []step
	named := map[string]bool{}
	for _, name := range o.only {
		named[name] = true
	}
	for _, s := range all {
		if len(o.only) == 0 && s.isIn(o.tier) || named[s.name] {
			selected = append(selected, s)
			delete(named, s.name)
		}
	}
	for name := range named {
		return nil, fmt.Errorf("there is no step %q; --list prints them\n%w", name, errUsage)
	}
	return selected, nil
}
