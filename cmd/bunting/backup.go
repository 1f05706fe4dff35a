package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/sqlstore"
)

func backupHelp() string {
	return `Usage: bunting backup [--data DIR] --output FILE

Copies everything that is stored in the data folder into one file: events,
persons, groups, flags, cohorts, projects with their settings and keys, members,
invitations, everything else that people manage. The server may be running: what
it has answered before the copy begins is in it, what comes later is not. The
copy is checked, and on the disk when the command ends; only its owner may read
it. It holds personal data, and keys as hashes.

  --data DIR        the server's data folder, bunting-data by default
                    (BUNTING_DATA)
  --output FILE     a new file; while it is written it is called FILE.part

Do not copy bunting.db by hand: what was written last stands in bunting.db-wal
beside it, and a copy of bunting.db alone lacks that, or is damaged.

While it copies the database's log (bunting.db-wal) grows by what is written
meanwhile; a copy so slow that this takes half of the free disk is given up. Not
in it: the options that the server is started with, files of batch exports, and
events that wait in a --stream. Over HTTP an owner of every organization gets the
same file, unchecked:

  curl -f -X POST -H "Authorization: Bearer $BUNTING_KEY" -o FILE URL/api/instance/backup/

PostgreSQL (--database) has pg_dump for this; bunting move makes a SQLite file of
one too. bunting restore reads the file.
`
}

func restoreHelp() string {
	return `Usage: bunting restore --input FILE [--data DIR] [--replace]

Makes the database of a data folder out of a file that bunting backup has
written. The file is checked before anything is changed. No server may be using
the folder.

  --input FILE      the backup
  --data DIR        the data folder, bunting-data by default (BUNTING_DATA); made
                    when it is missing
  --replace         also where there is a database: it is kept under another name,
                    bunting.db.before-TIME

Keys, ids and addresses are those of the backup: clients need not be told.
`
}

// backup copies a data folder's database into a file.
func (p *program) backup(ctx context.Context, args []string) error {
	fs := newFlags("backup")
	data := fs.String("data", p.dataFolder(), "")
	output := fs.String("output", "", "")
	switch err := noArgs(fs, args); {
	case err != nil:
		return err
	case *output == "":
		return badUsage("backup", "--output is missing: say into which file")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	shown := newProgress(p.stderr)
	done, err := sqlstore.Backup(ctx, filepath.Join(*data, databaseFile), *output, shown.bytes)
	shown.clear()
	if err != nil {
		return noFolder(*data, err)
	}
	return p.print(copiedText(*output, &done))
}

// restore makes a data folder's database out of a backup.
func (p *program) restore(ctx context.Context, args []string) error {
	fs := newFlags("restore")
	data := fs.String("data", p.dataFolder(), "")
	input := fs.String("input", "", "")
	replace := fs.Bool("replace", false, "")
	switch err := noArgs(fs, args); {
	case err != nil:
		return err
	case *input == "":
		return badUsage("restore", "--input is missing: say which backup")
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	path := filepath.Join(*data, databaseFile)
	shown := newProgress(p.stderr)
	done, kept, err := sqlstore.Restore(ctx, *input, path, *replace, shown.bytes)
	shown.clear()
	if kept != "" {
		shown.say("the database that was there is now %s", kept)
	}
	if err != nil {
		return err
	}
	return p.print(copiedText(path, &done))
}

// dataFolder is --data where it is not given.
func (p *program) dataFolder() string {
	if dir := p.env["BUNTING_DATA"]; dir != "" {
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

// bytes shows how far a copy is.
func (p *progress) bytes(what string, done, total int64) {
	if total == 0 {
		p.show(0, 0, what)
		return
	}
	p.show(done, total, fmt.Sprintf("%s: %d of %d MiB", what, done>>20, total>>20))
}

func copiedText(path string, c *sqlstore.Copied) string {
	return fmt.Sprintf("%s: %d bytes, %d events, schema %d, checked\nsha256 %s\n", path, c.Size, c.Events, c.Schema, c.SHA256)
}

// snapshot is httpapi.Config.Backup.
func (s *server) snapshot(ctx context.Context) (*httpapi.Backup, error) {
	snapshot, err := s.store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return &httpapi.Backup{
		Name: "bunting-" + snapshot.At.UTC().Format("20060102T150405Z") + ".db",
		Size: snapshot.Size, Close: snapshot.Close,
		Copy: func(ctx context.Context, w io.Writer) error { return snapshot.Copy(ctx, w, nil) },
	}, nil
}

// backups is snapshot where there is a file to copy, nil elsewhere.
func (s *server) backups() func(context.Context) (*httpapi.Backup, error) {
	if !s.store.HasFile() {
		return nil
	}
	return s.snapshot
}
