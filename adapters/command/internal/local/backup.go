package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/internal/backups"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/server"
)

const backupHelp = `Usage: bunting backup [--data DIR] [--segments DIR] --output FILE
       bunting backup --new-key FILE

Copies everything that is stored in the data folder into one file: events,
persons, groups, flags, cohorts, projects with their settings and keys, members,
invitations and everything else that users manage. The server may be running: the
copy contains every request that was answered before it began, and none that came
later. When the command ends, the copy is checked and synced to the disk; only its
owner may read it. It contains personal data, and keys as hashes.

  --data DIR        the server's data folder, bunting-data by default
                    (BUNTING_DATA)
  --segments DIR    the folder or bucket of serve --segments (BUNTING_SEGMENTS), whose
                    files are then in the backup too
  --output FILE     a new file; while it is written it is called FILE.part
  --new-key FILE    only write a new key of age for serve --backup-key; store a copy
                    of it elsewhere, because without it backups cannot be read

Do not copy bunting.db by hand: the latest changes are in bunting.db-wal next to
it, and a copy of bunting.db without them is incomplete or damaged.

During the copy the database's log (bunting.db-wal) grows with every write; if it
takes half of the free disk space, the copy is aborted. A backup does not contain
the options of the server, files of batch exports, and events that wait in a
--stream. Over HTTP an owner of every organization gets the same file, unchecked:

  curl -f -X POST -H "Authorization: Bearer $BUNTING_KEY" -o FILE URL/api/instance/backup/

bunting serve --backup writes backups at intervals, to a folder or to S3.

For PostgreSQL (--database) use pg_dump, or copy it to SQLite with bunting move; its
segment files need a copy of their own.
bunting restore reads the file.
`

const restoreHelp = `Usage: bunting restore SOURCE [--backup NAME|TIME] [--key FILE] [--data DIR]
                       [--segments DIR] [--replace]
       bunting restore SOURCE --list

Restores the database of a data folder from a file that bunting backup has written,
or from the folder or bucket of serve --backup. The backup is checked before anything
is changed. No server may be using the folder.

  SOURCE            a file, a folder, or s3://BUCKET/PREFIX with the same parameters
                    and credentials as for serve --backup
  --input SOURCE    the same
  --backup NAME|TIME
                    the backup of a folder or bucket: its name, or the newest until a
                    time such as 2026-05-01T12:00:00Z; by default the newest
  --key FILE        the private key of encrypted backups (BUNTING_BACKUP_KEY)
  --list            only list the complete backups
  --data DIR        the data folder, bunting-data by default (BUNTING_DATA);
                    created if missing
  --segments DIR    the folder for segment files, if the backup has some
                    (BUNTING_SEGMENTS); created if missing. Of s3://BUCKET/PREFIX the
                    prefix must be a new one: objects are never replaced
  --replace         replace an existing database, which is renamed to
                    bunting.db.before-TIME, and segment files, which are moved to a
                    folder before-TIME in the folder of --segments

If the restore of a backup with segment files is interrupted, run it again with
--replace. From a folder or bucket the data folder needs space for two
copies. Keys, ids and addresses are those of the backup, so clients need no change.
`

// backup copies a data folder's database into a file.
func backup(ctx context.Context, p *cli.Program, args []string) error {
	fs := cli.NewFlags("backup")
	data := fs.String("data", dataFolder(p), "")
	segments := fs.String("segments", p.Env["BUNTING_SEGMENTS"], "")
	output := fs.String("output", "", "")
	newKey := fs.String("new-key", "", "")
	switch err := cli.NoArgs(fs, args); {
	case err != nil:
		return err
	case *newKey != "" && *output == "":
		recipient, err := backups.NewKey(*newKey)
		if err != nil {
			return err
		}
		return p.Print(fmt.Sprintf("%s: a new key, with the public key %s\n", *newKey, recipient))
	case *output == "":
		return cli.BadUsage("backup", "--output is missing: name the file to write")
	}
	progress := cli.NewProgress(p.Stderr)
	copied, err := sqlstore.Backup(ctx, filepath.Join(*data, server.DatabaseFile), *segments, *output, progress.Bytes)
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
	segments := fs.String("segments", p.Env["BUNTING_SEGMENTS"], "")
	input := fs.String("input", "", "")
	replace := fs.Bool("replace", false, "")
	which := fs.String("backup", "", "")
	keyFile := fs.String("key", p.Env["BUNTING_BACKUP_KEY"], "")
	only := fs.Bool("list", false, "")
	rest, err := cli.ParseArgs(fs, args)
	if len(rest) == 1 && *input == "" {
		*input, rest = rest[0], nil
	}
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return cli.BadUsage("restore", "unexpected argument %q", rest[0])
	case *input == "":
		return cli.BadUsage("restore", "--input is missing: name the backup file, or the folder or bucket of serve --backup")
	case *only:
		return listBackups(ctx, p, *input)
	}
	path := filepath.Join(*data, server.DatabaseFile)
	progress := cli.NewProgress(p.Stderr)
	file, remove, err := fetchBackup(ctx, *input, *which, *keyFile, *data, progress)
	if err != nil {
		progress.Clear()
		return err
	}
	defer remove()
	copied, old, err := sqlstore.Restore(ctx, file, path, *segments, *replace, progress.Bytes)
	progress.Clear()
	if old.Database != "" {
		progress.Println("the database that was there is now %s", old.Database)
	}
	if old.Segments != "" {
		progress.Println("the segment files that were there are now in %s", old.Segments)
	}
	if err != nil {
		return err
	}
	return p.Print(copiedText(path, &copied))
}

// fetchBackup returns the file to restore: input, or a file in the data folder with the backup of a
// folder or bucket, which remove removes.
func fetchBackup(ctx context.Context, input, which, keyFile, data string, progress *cli.Progress) (file string, remove func(), err error) {
	info, err := os.Stat(input)
	isFile := err == nil && info.Mode().IsRegular()
	if isFile && backups.IsName(filepath.Base(input)) && which == "" {
		input, which, isFile = filepath.Dir(input), filepath.Base(input), false
	}
	if isFile || os.IsNotExist(err) && !strings.Contains(input, "://") {
		if which != "" {
			return "", nil, fmt.Errorf("--backup is for a folder or a bucket, and %s is none", input)
		}
		return input, func() {}, nil
	}
	key, err := backups.ReadKey(keyFile)
	if err != nil {
		return "", nil, fmt.Errorf("--key: %w", err)
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return "", nil, err
	}
	folder, err := os.MkdirTemp(data, ".restore-*")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	file = filepath.Join(folder, server.DatabaseFile)
	b, err := backups.Fetch(ctx, input, which, key, file, progress.Bytes)
	if err != nil {
		remove()
		return "", nil, err
	}
	progress.Println("restoring %s", b.Name)
	return file, remove, nil
}

// listBackups prints the backups of a folder or bucket, the oldest first.
func listBackups(ctx context.Context, p *cli.Program, address string) error {
	all, err := backups.List(ctx, address)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, b := range all {
		fmt.Fprintf(&text, "%s  %d bytes\n", b.Name, b.Size)
	}
	return p.Print(text.String())
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
	segments := ""
	if c.Segments > 0 {
		segments = fmt.Sprintf(", %d segment files", c.Segments)
	}
	return fmt.Sprintf("%s: %d bytes, %d events%s, schema %d, checked\nsha256 %s\n", path, c.Size, c.Events, segments, c.Schema, c.SHA256)
}
