package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/server"
)

const moveHelp = `Usage: bunting move --from DATABASE --to DATABASE

Copies everything from one database into another, empty one: from SQLite to
PostgreSQL, back, or between two of the same kind. Project keys, personal keys,
ids, people and events stay the same, so clients need no change. Stop all servers
of both databases first, and start them on the new one at the end:

  bunting move --from bunting-data --to postgres://bunting@localhost/bunting
  bunting serve --database postgres://bunting@localhost/bunting

  --from DATABASE   a data folder, sqlite:FILE or postgres://USER@HOST/NAME; its
                    schema is upgraded to this version, nothing else is changed
  --to DATABASE     the same; it must be empty

Rows are copied in batches. After an interruption run the same command again to
continue; no server starts on the new database before the copy is complete. At the
end the number of rows and a checksum of every table are compared. Passwords can be
left out of PostgreSQL's addresses: PGPASSWORD or ~/.pgpass are read.

The files of serve --segments stay where they are: start the new servers with the
same folder or bucket, and none on the old database.
`

// move copies one database into another.
func move(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("move")
	from := fs.String("from", "", "")
	to := fs.String("to", "", "")
	if err := cli.NoArgs(fs, args); err != nil {
		return err
	}
	for name, value := range map[string]*string{"from": from, "to": to} {
		if *value == "" {
			return cli.BadUsage("move", "--from and --to are needed: data folders, sqlite:FILE or postgres://USER@HOST/NAME")
		}
		if *value = moveAddress(*value); strings.HasSuffix(*value, ":memory:") {
			return cli.BadUsage("move", "--%s: a database in memory is lost when the command ends", name)
		}
	}
	if *from == *to {
		return cli.BadUsage("move", "--from and --to are the same")
	}
	if path, ok := strings.CutPrefix(*from, "sqlite:"); ok {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("--from: there is no database: %w", err)
		}
	}
	progress := cli.NewProgress(p.Stderr)
	copied, err := sqlstore.Move(ctx, *from, *to, func(what string, n, total int64) {
		progress.Show(n, total, fmt.Sprintf("%s: %d of %d rows", what, n, total))
	})
	progress.Clear()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%d rows of %d tables are copied, counts and checksums match\n", copied.Rows, copied.Tables)
	if copied.Segments > 0 {
		text += fmt.Sprintf("%d segment files stay where they are: start the new server with the same --segments, and none on the old database\n", copied.Segments)
	}
	return p.Print(text)
}

// moveAddress returns the URL of a database that may also be named by its folder.
func moveAddress(text string) string {
	if strings.Contains(text, "://") || strings.HasPrefix(text, "sqlite:") {
		return text
	}
	return "sqlite:" + filepath.Join(text, server.DatabaseFile)
}
