// Command bunting decides feature flags and takes in events: as a server that
// PostHog's SDKs can talk to (serve), for one user without a server (eval), as a
// test of definitions files (check), and as a client that carries events and
// people over (export, import).
//
// This package wires the rooms together and holds no rule of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	_ "time/tzdata" // projects name time zones, and not every machine has the table
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// Exit codes.
const (
	exitOK    = 0
	exitError = 1 // it did not work, or what was looked for is not there
	exitUsage = 2 // the command line is wrong, or a plan has changes
)

// program is all that a command has of the world.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            map[string]string
	// grace is how long requests may take to end when the server stops.
	grace time.Duration
	// askable reports whether somebody sits before an input and can be asked.
	askable func(io.Reader) bool
}

// command is one row of the table below.
type command struct {
	name, summary string
	run           func(p *program, ctx context.Context, args []string) error
	help          func() string
}

// commands is the table of all commands; help is not in it because it reads it.
var commands = []command{
	{"serve", "answer flag requests and take in events over HTTP", (*program).serve, serveHelp},
	{"eval", "decide the flags of one user, without a server", (*program).eval, evalHelp},
	{"shadow", "serve, and compare each answer with that of another service", (*program).shadow, shadowHelp},
	{"check", "find faults in definitions files", (*program).check, checkHelp},
	{"diff", "compare two definitions files, and say whose values would change", (*program).diff, diffHelp},
	{"flags", "list, make, change, export and apply the flags of a server", (*program).flags, flagsHelp},
	{"events", "print the newest events of a server", (*program).events, eventsHelp},
	{"persons", "show or erase a person of a server", (*program).persons, personsHelp},
	{"keys", "make and revoke personal API keys", (*program).keys, keysHelp},
	{"projects", "list, make and rename projects", (*program).projects, projectsHelp},
	{"usage", "print what an organization has used this month", (*program).usage, usageHelp},
	{"status", "say whether a server is ready, and how a project is", (*program).status, statusHelp},
	{"export", "write events, persons and groups of a server to a file", (*program).export, exportHelp},
	{"import", "send such a file to a server; convert flags of other systems", (*program).importFiles, importHelp},
	{"backup", "copy everything that a server stores into one file, while it runs", (*program).backup, backupHelp},
	{"restore", "make a data folder out of such a file", (*program).restore, restoreHelp},
	{"move", "copy everything from one database into another: SQLite, PostgreSQL", (*program).move, moveHelp},
	{"doctor", "look whether a server's data and settings are sound", (*program).doctor, doctorHelp},
	{"deadletters", "list, requeue or drop events of the stream that the database refuses", (*program).deadLetters, deadLettersHelp},
	{"version", "print version and build", (*program).version, versionHelp},
}

// usageError is a wrong command line: exit code 2 and a hint.
type usageError struct{ problem, hint string }

func (e *usageError) Error() string { return e.problem + "\n" + e.hint }

func badUsage(command, format string, args ...any) error {
	return &usageError{command + ": " + fmt.Sprintf(format, args...), "see bunting help " + command}
}

// errTold ends with exit code 1 when the output has said everything.
var errTold = errors.New("told")

// errHelp asks for the help of a command.
type errHelp struct{ command string }

func (e errHelp) Error() string { return "help for " + e.command }

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, env: map[string]string{}, grace: 10 * time.Second, askable: func(r io.Reader) bool { return isTerminal(r) }}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		p.env[name] = value
	}
	return p.exit(p.dispatch(ctx, args))
}

func (p *program) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return p.help(nil)
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		return p.help(args)
	case "-v", "-version", "--version":
		name = "version"
	}
	c := findCommand(name)
	if c == nil {
		return unknownCommand(name)
	}
	if name != "version" && name != "completion" {
		if err := p.checkEnvironment(); err != nil {
			return err
		}
	}
	return c.run(p, ctx, args)
}

// exit tells an error and returns the exit code that goes with it.
func (p *program) exit(err error) int {
	var usage *usageError
	var help errHelp
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &help):
		return p.exit(p.help([]string{help.command}))
	case errors.Is(err, errTold):
		return exitError
	case errors.Is(err, errChanges):
		return exitUsage
	}
	for line := range strings.Lines(err.Error()) {
		_, _ = fmt.Fprintf(p.stderr, "bunting: %s\n", strings.TrimSuffix(line, "\n"))
	}
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitError
}

func findCommand(name string) *command {
	for i := range commands {
		if commands[i].name == name {
			return &commands[i]
		}
	}
	return nil
}

func unknownCommand(name string) error {
	names := make([]string, len(commands))
	for i, c := range commands {
		names[i] = c.name
	}
	return &usageError{
		fmt.Sprintf("unknown command %q%s", name, didYouMean(name, append(names, "help"), "")),
		"there are " + strings.Join(names, ", ") + " and help; bunting help says more",
	}
}
