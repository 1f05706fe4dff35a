// Package local contains the commands that need no server: they read definitions files, or maintain
// the data that a server has stored.
package local

import "github.com/bunting-flags/bunting/adapters/command/internal/cli"

// The commands.
var (
	Eval        = cli.Command{Name: "eval", Summary: "evaluate the flags of one user, without a server", Run: eval, Help: evalHelp}
	Check       = cli.Command{Name: "check", Summary: "find errors in definitions files", Run: check, Help: checkHelp}
	Diff        = cli.Command{Name: "diff", Summary: "compare two definitions files, and list users whose values change", Run: diff, Help: diffHelp}
	Backup      = cli.Command{Name: "backup", Summary: "back up everything that a server stores, while it runs", Run: backup, Help: backupHelp, EndsOnSignal: true}
	Restore     = cli.Command{Name: "restore", Summary: "restore a data folder from a backup", Run: restore, Help: restoreHelp, EndsOnSignal: true}
	Move        = cli.Command{Name: "move", Summary: "copy everything from one database into another: SQLite, PostgreSQL", Run: move, Help: moveHelp, EndsOnSignal: true}
	Doctor      = cli.Command{Name: "doctor", Summary: "check a server's data and settings", Run: doctor, Help: doctorHelp, EndsOnSignal: true}
	DeadLetters = cli.Command{Name: "deadletters", Summary: "list, requeue or drop events that the database refused", Run: deadLetters, Help: deadLettersHelp}
)
