// Package local contains the commands that need no server: they read definitions files, or maintain
// the data that a server has stored.
package local

import "github.com/bunting-flags/bunting/cmd/bunting/internal/cli"

// The commands.
var (
	Eval        = cli.Command{Name: "eval", Summary: "decide the flags of one user, without a server", Run: eval, Help: evalHelp}
	Check       = cli.Command{Name: "check", Summary: "find faults in definitions files", Run: check, Help: checkHelp}
	Diff        = cli.Command{Name: "diff", Summary: "compare two definitions files, and say whose values would change", Run: diff, Help: diffHelp}
	Backup      = cli.Command{Name: "backup", Summary: "copy everything that a server stores into one file, while it runs", Run: backup, Help: backupHelp, EndsOnSignal: true}
	Restore     = cli.Command{Name: "restore", Summary: "make a data folder out of such a file", Run: restore, Help: restoreHelp, EndsOnSignal: true}
	Move        = cli.Command{Name: "move", Summary: "copy everything from one database into another: SQLite, PostgreSQL", Run: move, Help: moveHelp, EndsOnSignal: true}
	Doctor      = cli.Command{Name: "doctor", Summary: "look whether a server's data and settings are sound", Run: doctor, Help: doctorHelp, EndsOnSignal: true}
	DeadLetters = cli.Command{Name: "deadletters", Summary: "list, requeue or drop events of the stream that the database refuses", Run: deadLetters, Help: deadLettersHelp}
)
