// Command runtests runs the project's tests: a table of steps (steps.go), each of which names the
// resources that it needs. .ci/test builds and starts it at the root of the repository.
//
//	.ci/test                   everything that protects a submission
//	.ci/test --quick           what changed since origin/main: no browser, no race detector
//	.ci/test --long            everything, and simulations and kill tests at full length
//	.ci/test --list            prints the steps of all tiers
//	.ci/test --only lint,race  runs only these steps
//
// Steps run concurrently unless they need the same resource. Every step runs, also after another
// step has failed. The last lines list the slowest steps and repeat each failure with the command
// that repeats it. The exit code is 0 for success, 1 for a failure, 2 for an invalid command line
// and 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

var (
	errUsage  = errors.New("usage: .ci/test [--quick | --long] [--only STEP,...] [--list]")
	errFailed = errors.New("tests failed")
)

func main() {
	err := run(os.Args[1:], steps, os.Stdout)
	if err != nil && !errors.Is(err, errFailed) { // a failed run has printed its failures
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.Is(err, context.Canceled):
		return 130
	}
	return 1
}

// options are the options of the command line.
type options struct {
	tier tier
	only []string // names of steps; empty means all of the tier
	list bool
}

func parseOptions(args []string) (options, error) {
	o := options{tier: full}
	set := flag.NewFlagSet("test", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	isQuick, isLong := set.Bool("quick", false, ""), set.Bool("long", false, "")
	only := set.String("only", "", "")
	set.BoolVar(&o.list, "list", false, "")
	if err := set.Parse(args); err != nil {
		return o, fmt.Errorf("%w\n%w", err, errUsage)
	}
	if set.NArg() > 0 || *isQuick && *isLong {
		return o, errUsage
	}
	if *isQuick {
		o.tier = quick
	} else if *isLong {
		o.tier = long
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	return o, nil
}

// run runs the steps that the arguments select, and prints to out.
func run(args []string, all []step, out io.Writer) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	if o.list {
		printSteps(out, all)
		return nil
	}
	selected, err := choose(all, o)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	adoptOrphans()
	defer killDescendants()

	w, err := newWorld(o.tier, newReport(out))
	if err != nil {
		return err
	}
	begin := time.Now()
	schedule(ctx, selected, w.runStep)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if orphans := waitForOrphans(); len(orphans) > 0 {
		w.report.fail(failure{step: "end", what: "left running: " + strings.Join(orphans, ", ")})
	}
	w.report.summary(time.Since(begin), totalCPU())
	if len(w.report.failures) > 0 {
		return errFailed
	}
	return nil
}

// waitForOrphans returns the processes that the steps left running. It waits three seconds for
// processes that are about to end.
func waitForOrphans() []string {
	for range 30 {
		if len(descendants()) == 0 {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return descendants()
}
