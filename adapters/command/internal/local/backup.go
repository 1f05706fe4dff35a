package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/server"
)

const backupHelp = `Usage: bunting backup [--data DIR] --output FILE

Copies everything that is stored in the data folder into one file: events,
persons, groups, flags, cohorts, projects with their settings and keys, members,
invitations and everything else that users manage. The server may be running: the
copy contains every request that was answered before it began, and none that came
later. When the command ends, the copy is checked and synced to the disk; only its
owner may read it. It contains personal data, and keys as hashes.

  --data DIR        the server's data folder, bunting-data by default
                    (BUNTING_DATA)
  --output FILE     a new file; while it is written it is called FILE.part

Do not copy bunting.db by hand: the latest changes are in bunting.db-wal next to
it, and a copy of bunting.db without them is incomplete or damaged.

During the copy the database's log (bunting.db-wal) grows with every write; if it
takes half of the free disk space, the copy is aborted. A backup does not contain
the options of the server, files of batch exports, and events that wait in a
--stream. Over HTTP an owner of every organization gets the same file, unchecked:

  curl -f -X POST -H "Authorization: Bearer $BUNTING_KEY" -o FILE URL/api/instance/backup/

For PostgreSQL (--database) use pg_dump, or copy it to SQLite with bunting move.
bunting restore reads the file.
`

const restoreHelp = `Usage: bunting restore --input FILE [--data DIR] [--replace]

Restores the database of a data folder from a file that bunting backup has written.
The file is checked before anything is changed. No server may be using the folder.

  --input FILE      the backup
  --data DIR        the data folder, bunting-data by default (BUNTING_DATA);
                    created if missing
  --replace         replace an existing database, which is renamed to
                    bunting.db.before-TIME

Keys, ids and addresses are those of the backup, so clients need no change.
`

// backup copies a data folder's database into a file.
func backup(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("backup")
	data := fs.String("data", dataFolder(p), "")
	output := fs.String("output", "", "")
	switch err := cli.NoArgs(fs, args); {
	case err != nil:
		return err
	case *output == "":
		return cli.BadUsage("backup", "--output is missing: name the file to write")
	}
	progress := cli.NewProgress(p.Stderr)
	copied, err := sqlstore.Backup(ctx, filepath.Join(*data, server.DatabaseFile), *output, progress.Bytes)
	progress.Clear()
	if err != nil {
		return noFolder(*data, err)
	}
	return p.Print(copiedText(*output, &copied))
}

// restore creates a data folder's database from a backup.
func restore(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("restore")
	data := fs.String("data", dataFolder(p), "")
	input := fs.String("input", "", "")
	replace := fs.Bool("replace", false, "")
	switch err := cli.NoArgs(fs, args); {
	case err != nil:
		return err
	case *input == "":
		return cli.BadUsage("restore", "--input is missing: name the backup file")
	}
	path := filepath.Join(*data, server.DatabaseFile)
	progress := cli.NewProgress(p.Stderr)
	copied, previous, err := sqlstore.Restore(ctx, *input, path, *replace, progress.Bytes)
	progress.Clear()
	if previous != "" {
		progress.Println("the database that was there is now %s", previous)
	}
	if err != nil {
		return err
	}
	return p.Print(copiedText(path, &copied))
}

// dataFolder returns the default of --data.
func dataFolder(p *cli.Program) string {
	if dir := p.Env["BUNTING_DATA"]; dir != "" {
		return dir
	}
	return "bunting-data"
}

func noFolder(dir string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w; name the server's data folder with --data (now %s)", err, dir)
	}
	return err
}

func copiedText(path string, c *sqlstore.CopyResult) string {
	return fmt.Sprintf("%s: %d bytes, %d events, schema %d, checked\nsha256 %s\n", path, c.Size, c.Events, c.Schema, c.SHA256)
}
