// Package local contains the commands that need no server: they read definitions files, or maintain
// the data that a server has stored.
package local

import (
	"context"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The commands.
var (
	Eval        = cli.Command{Name: "eval", Summary: "evaluate the flags of one user, without a server", Run: eval, Help: evalHelp}
	Check       = cli.Command{Name: "check", Summary: "find errors in definitions files", Run: check, Help: checkHelp}
	Diff        = cli.Command{Name: "diff", Summary: "compare two definitions files, and list users whose values change", Run: diff, Help: diffHelp}
	Backup      = cli.Command{Name: "backup", Summary: "back up everything that a server stores, while it runs", Run: backup, Help: backupHelp, EndsOnSignal: true}
	Restore     = cli.Command{Name: "restore", Summary: "restore a data folder from a backup", Run: restore, Help: restoreHelp, EndsOnSignal: true}
	Move        = cli.Command{Name: "move", Summary: "copy everything from one database into another: SQLite, PostgreSQL", Run: move, Help: moveHelp, EndsOnSignal: true}
	DeadLetters = cli.Command{Name: "deadletters", Summary: "list, requeue or drop events that the database refused", Run: deadLetters, Help: deadLettersHelp}
)

// Doctor returns the command doctor. signals returns the signals that a server with these variables
// would send by OTLP, or an error if the server would not start.
func Doctor(signals func(env map[string]string) ([]string, error)) cli.Command {
	run := func(ctx context.Context, p *cli.Program, args []string) error { return doctor(ctx, p, args, signals) }
	return cli.Command{Name: "doctor", Summary: "check a server's data and settings", Run: run, Help: doctorHelp, EndsOnSignal: true}
}
