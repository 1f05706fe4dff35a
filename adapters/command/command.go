// Package command is the command line of bunting: Main parses it and runs the command. The package
// connects the other packages and has no rules of its own.
package command

import (
	"context"
	"io"
	"os"
	"time"
	_ "time/tzdata" // projects name time zones, and some machines have no time zone database

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/client"
	"github.com/bunting-flags/bunting/adapters/command/internal/local"
	"github.com/bunting-flags/bunting/adapters/command/internal/settings"
	"github.com/bunting-flags/bunting/adapters/internal/otlp"
)

// commands is the table of all commands, in the order of the help.
var commands = []cli.Command{
	{Name: "serve", Summary: "serve flags and capture events over HTTP", Run: runServe, Help: serveHelp()},
	local.Eval,
	client.Demo,
	{Name: "shadow", Summary: "serve, and compare each response with another service's", Run: runShadow, Help: shadowHelp},
	local.Check,
	local.Diff,
	client.Flags,
	client.Events,
	client.Query,
	client.Rollout,
	client.Approvals,
	client.Persons,
	client.Keys(local.RecoverKey),
	client.Projects,
	client.Generate,
	client.Unused,
	client.Usage,
	client.Status,
	client.Login,
	client.Logout,
	client.Export,
	client.Import,
	local.Backup,
	local.Restore,
	local.Move,
	local.Doctor(otlp.Check),
	local.DeadLetters,
	cli.Version,
	cli.Completion,
}

// Main runs the program with the arguments, the environment and the streams of the process, and ends
// the process with the command's exit code.
func Main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ()))
}

// run runs the whole program and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env []string) int {
	return newProgram(stdin, stdout, stderr, env).Run(ctx, args)
}

func newProgram(stdin io.Reader, stdout, stderr io.Writer, env []string) *cli.Program {
	return &cli.Program{
		Commands: commands, Settings: settings.Variables(),
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: cli.Environment(env),
		Grace: 10 * time.Second, CanPrompt: func(r io.Reader) bool { return cli.IsTerminal(r) }, Width: func(w io.Writer) int { return cli.TerminalWidth(w) },
	}
}
