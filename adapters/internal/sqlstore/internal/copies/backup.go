package copies

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// CopyResult describes the file that a backup or a restore has written.
type CopyResult struct {
	// Size is the size of the file in bytes.
	Size int64
	At   time.Time // the time of the state in the file
	// Schema is the version of the schema.
	Schema int64
	// Events is the number of stored events.
	Events int64
	SHA256 string // of the file, in hexadecimal
	// Segments is the number of segment files that the backup contains, or that were
	// restored.
	Segments int
}

// progress is called with a description of the current step and with the number of
// bytes done and in total, both 0 if they are unknown.
type progress func(what string, done, total int64)

// Backup copies the SQLite file from, which a server may be using, to the new file to.
// The copy is consistent, contains everything that was committed before Backup was
// called, is checked for damage, and is synced to disk when Backup returns. If Backup
// fails, it removes its temporary file; a process that is killed leaves to.part behind.
// It returns an error if to exists or if there is not enough free space.
//
// segments is the folder of the database's segment files, which are in the copy too. It
// may be empty if the database lists no segment files. Servers do not remove files from it
// during the backup.
func Backup(ctx context.Context, from, segments, to string, progress progress) (_ CopyResult, err error) {
	if _, err := os.Lstat(to); err == nil {
		return CopyResult{}, fmt.Errorf("%s already exists: choose another name, or remove it", to)
	}
	source, err := holdSegments(segments, from)
	if err != nil {
		return CopyResult{}, err
	}
	defer func() { err = errors.Join(err, source.release()) }()
	return copyFile(ctx, from, to, source, progress)
}

// copyFile copies a SQLite file to to.part, checks the copy and renames it to its final
// name. The segment files that it lists are added from source, unless source is nil.
func copyFile(ctx context.Context, from, to string, source *segmentSource, progress progress) (out CopyResult, err error) {
	if to, err = filepath.Abs(to); err != nil {
		return out, err
	}
	snapshot, err := OpenSnapshot(ctx, from)
	if err != nil {
		return out, err
	}
	part := to + ".part"
	// Remove the temporary file of a failed copy.
	defer func() {
		if err = errors.Join(err, snapshot.Close()); err != nil {
			_ = os.Remove(part)
		}
	}()
	out.Schema = snapshot.Schema
	if err := database.CheckSchema(snapshot.Schema, database.MigratedBy(ctx, snapshot.conn)); err != nil {
		return out, fmt.Errorf("%s: %w", from, err)
	}
	list, err := source.list(ctx, snapshot)
	if err != nil {
		return out, fmt.Errorf("%s: %w", from, err)
	}
	total := snapshot.Size + totalBytes(list)
	if free, ok := database.FreeDisk(filepath.Dir(to)); ok && free < total {
		return out, fmt.Errorf("%s: the copy needs %d MiB, and %d MiB are free", filepath.Dir(to), total>>20+1, free>>20)
	}
	copying := func(written int64) { progress("copying", written, total) }
	out.Size, out.At, out.Segments = snapshot.Size, snapshot.At, len(list)
	if out.SHA256, err = snapshot.write(ctx, part, copying); err != nil {
		return out, fmt.Errorf("writing %s: %w", part, err)
	}
	if err := snapshot.Close(); err != nil { // the rest may take long, and an open snapshot prevents checkpoints
		return out, err
	}
	if err := source.add(ctx, part, list, func(added int64) { copying(out.Size + added) }); err != nil {
		return out, err
	}
	progress("checking", 0, 0)
	if len(list) > 0 {
		if err := out.measure(part); err != nil {
			return out, err
		}
	}
	if err := out.check(ctx, part); err != nil {
		return out, err
	}
	if err := os.Rename(part, to); err != nil {
		return out, err
	}
	return out, lastgood.SyncFolder(filepath.Dir(to))
}

// write writes the snapshot to a file with permissions for its owner only, and returns
// the hash.
func (s *Snapshot) write(ctx context.Context, path string, copying func(written int64)) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	err = s.Copy(ctx, io.MultiWriter(f, hash), copying)
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Sync(), f.Close())
}

// measure sets the size and the hash of the file.
func (c *CopyResult) measure(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	hash := sha256.New()
	c.Size, err = io.Copy(hash, f)
	c.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return errors.Join(err, f.Close())
}

// check checks the copy for damage and counts its events.
func (c *CopyResult) check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", database.ReadingDSN(path))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	faults, err := integrity(ctx, db, `PRAGMA quick_check(10)`)
	if err != nil {
		return fmt.Errorf("checking %s: %w", path, database.SQLite.Explain(err))
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s is damaged, and so is the database that it was copied from: %s", path, faults[0])
	}
	c.Events, _, err = countEvents(ctx, db, func(table string) (bool, error) { return database.HasTable(ctx, db, true, table) })
	return database.WrapError("checking "+path, err)
}

// integrity runs one of SQLite's integrity pragmas and returns the faults that it
// reports.
func integrity(ctx context.Context, db *sql.DB, check string) (faults []string, err error) {
	err = database.Query(ctx, db, func(rows *sql.Rows) error {
		var line string
		if err := rows.Scan(&line); err != nil || line == "ok" {
			return err
		}
		faults = append(faults, line)
		return nil
	}, check)
	return faults, err
}

// Replaced are the paths to which a restore has moved the previous database and the
// previous segment files. A path is empty if there were no such files.
type Replaced struct{ Database, Segments string }

// Restore writes the backup from to the SQLite file to, which no server may be using, and
// its segment files to the folder segments, which may be empty if there are no such files. An
// existing database, and files in the folder, are replaced only if replace is true; the
// database is then renamed together with its log, and the files are moved to a folder
// below segments. A restore that was killed may leave files of both stores there: it must
// be repeated.
func Restore(ctx context.Context, from, to, segments string, replace bool, progress progress) (out CopyResult, old Replaced, err error) {
	if from, err = filepath.Abs(from); err != nil {
		return out, old, err
	}
	if to, err = filepath.Abs(to); err != nil {
		return out, old, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return out, old, err
	}
	unlock, err := database.LockFile(to)
	if err != nil {
		return out, old, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	_, missing := os.Lstat(to)
	if missing == nil && !replace {
		return out, old, fmt.Errorf("%s already exists: choose another folder, or use --replace to replace it with the backup (the old database is renamed)", to)
	}
	list, err := checkRestore(ctx, from, segments, replace)
	if err != nil {
		return out, old, err
	}
	restored := to + ".restored"
	if out, err = copyBackup(ctx, from, restored, segments, list, progress); err != nil {
		return out, old, err
	}
	if old.Database, err = setAside(to, missing == nil); err != nil {
		return out, old, err
	}
	if segments != "" {
		if old.Segments, err = replaceSegments(ctx, restored, segments); err != nil {
			return out, old, err
		}
	}
	if err := os.Rename(restored, to); err != nil {
		return out, old, err
	}
	return out, old, lastgood.SyncFolder(filepath.Dir(to))
}

// copyBackup copies a backup without its segment files, which it writes to a folder below
// segments.
func copyBackup(ctx context.Context, from, to, segments string, list []listedSegment, progress progress) (CopyResult, error) {
	out, err := copyFile(ctx, from, to, nil, progress)
	if err != nil || len(list) == 0 {
		return out, err
	}
	if err := stageParts(ctx, to, segments, list, progress); err != nil {
		return out, errors.Join(err, os.Remove(to))
	}
	out.Segments = len(list)
	return out, out.measure(to)
}

// setAside renames an existing database and its log. If there is no database, it
// removes log files that a deleted one left behind: SQLite would apply them to the new
// database.
func setAside(path string, exists bool) (oldPath string, err error) {
	suffixes := []string{"", "-wal", "-shm"}
	if !exists {
		for _, suffix := range suffixes[1:] {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
				return "", err
			}
		}
		return "", nil
	}
	// The log is emptied first unless the database is damaged, so that a kill between
	// two renames does not separate the database from its log.
	if db, err := sql.Open("sqlite", database.SQLiteDSN(path)); err == nil {
		_, _ = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		_ = db.Close()
	}
	oldPath = path + ".before-" + time.Now().UTC().Format("20060102T150405.000")
	// A hard link, so that a database exists under the first name at any moment: a
	// server that starts without one creates an empty one. Some file systems have no
	// links.
	if err := os.Link(path, oldPath); err != nil {
		if err := os.Rename(path, oldPath); err != nil {
			return oldPath, err
		}
	}
	for _, suffix := range suffixes[1:] {
		if err := os.Rename(path+suffix, oldPath+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return oldPath, err
		}
	}
	return oldPath, lastgood.SyncFolder(filepath.Dir(path))
}
