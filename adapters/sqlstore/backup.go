package sqlstore

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
	"sync"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// schemaVersion reads the schema that a database has, as goose keeps it.
const schemaVersion = `SELECT MAX(version_id) FROM goose_db_version WHERE is_applied`

// CopyResult is what a backup or a restore has written.
type CopyResult struct {
	Size   int64
	At     time.Time // whose state it is
	Schema int64
	Events int64
	SHA256 string // of the file, in hexadecimal
}

// progress is told what is being done, and how many bytes of how many are; 0 of 0
// where that is not known.
type progress func(what string, done, total int64)

// Backup copies the SQLite file from, which a server may be using, to a new file:
// consistent, with all that was committed before it began, checked, and on the disk
// when it returns. What was begun and not ended is taken away again; a process
// that is killed leaves to.part. An error for a file that is there already, or too
// little room.
func Backup(ctx context.Context, from, to string, progress progress) (CopyResult, error) {
	if _, err := os.Lstat(to); err == nil {
		return CopyResult{}, fmt.Errorf("%s is there already: choose another name, or remove it", to)
	}
	return copyFile(ctx, from, to, progress)
}

// copyFile copies a SQLite file to to.part, checks that and renames it.
func copyFile(ctx context.Context, from, to string, progress progress) (out CopyResult, err error) {
	if to, err = filepath.Abs(to); err != nil {
		return out, err
	}
	snapshot, err := openSnapshot(ctx, from)
	if err != nil {
		return out, err
	}
	part := to + ".part"
	defer func() {
		if err = errors.Join(err, snapshot.Close()); err != nil {
			_ = os.Remove(part)
		}
	}()
	if out.Schema = snapshot.Schema; out.Schema > newestSchema() {
		return out, fmt.Errorf("%s was written by a newer version of bunting (schema %d, this one knows %d): use that version", from, out.Schema, newestSchema())
	}
	if free, ok := freeDisk(filepath.Dir(to)); ok && free < snapshot.Size {
		return out, fmt.Errorf("%s: the copy needs %d MiB, and %d MiB are free", filepath.Dir(to), snapshot.Size>>20+1, free>>20)
	}
	out.Size, out.At = snapshot.Size, snapshot.At
	if out.SHA256, err = snapshot.write(ctx, part, progress); err != nil {
		return out, fmt.Errorf("writing %s: %w", part, err)
	}
	if err := snapshot.Close(); err != nil { // checking may take long
		return out, err
	}
	progress("checking", 0, 0)
	if err := out.check(ctx, part); err != nil {
		return out, err
	}
	if err := os.Rename(part, to); err != nil {
		return out, err
	}
	return out, lastgood.SyncFolder(filepath.Dir(to))
}

// write copies to a file that only its owner may read, and returns its hash.
func (s *snapshot) write(ctx context.Context, path string, progress progress) (sum string, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	err = s.Copy(ctx, io.MultiWriter(f, hash), func(written int64) { progress("copying", written, s.Size) })
	return hex.EncodeToString(hash.Sum(nil)), errors.Join(err, f.Sync(), f.Close())
}

// check looks whether a copy is whole.
func (c *CopyResult) check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", readingDSN(path))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	faults, err := integrity(ctx, db, `PRAGMA quick_check(10)`)
	if err != nil {
		return fmt.Errorf("checking %s: %w", path, sqlite.explain(err))
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s is damaged, and so is what it was copied from: %s", path, faults[0])
	}
	if err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM events`).Scan(&c.Events); err != nil {
		return fmt.Errorf("checking %s: %w", path, err)
	}
	return nil
}

// integrity runs one of SQLite's checks and returns what it finds.
func integrity(ctx context.Context, db *sql.DB, check string) (faults []string, err error) {
	err = query(ctx, db, func(rows *sql.Rows) error {
		var line string
		if err := rows.Scan(&line); err != nil || line == "ok" {
			return err
		}
		faults = append(faults, line)
		return nil
	}, check)
	return faults, err
}

// Restore makes the SQLite file to, which no server may be using, out of a backup. A
// database that is there is only replaced when asked for, and is kept as kept, with
// its log.
func Restore(ctx context.Context, from, to string, replace bool, progress progress) (out CopyResult, oldPath string, err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return out, "", err
	}
	unlock, err := lockFile(to)
	if err != nil {
		return out, "", err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	_, missing := os.Lstat(to)
	if missing == nil && !replace {
		return out, "", fmt.Errorf("%s is there already: name another folder, or say --replace to put the backup in its place (the database is kept under another name)", to)
	}
	restored := to + ".restored"
	if out, err = copyFile(ctx, from, restored, progress); err != nil {
		return out, "", err
	}
	if oldPath, err = setAside(to, missing == nil); err != nil {
		return out, oldPath, err
	}
	if err := os.Rename(restored, to); err != nil {
		return out, oldPath, err
	}
	return out, oldPath, lastgood.SyncFolder(filepath.Dir(to))
}

// setAside gives a database that is there another name, and its log with it, and
// removes what one that is gone has left: another database must not meet them.
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
	// Where it is not damaged its log is emptied first, so that a kill between two
	// renamings does not part them.
	if db, err := sql.Open("sqlite", sqliteDSN(path)); err == nil {
		_, _ = db.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
		_ = db.Close()
	}
	oldPath = path + ".before-" + time.Now().UTC().Format("20060102T150405.000")
	// A second name, so that there is a database under the first one at any moment: a
	// server that starts without one begins an empty one. Not every file system can.
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

// newestSchema is the schema that this version makes.
var newestSchema = sync.OnceValue(func() (newest int64) {
	files, _ := migrationFiles.ReadDir("migrations") // they are in the binary
	for _, f := range files {
		if version, err := goose.NumericComponent(f.Name()); err == nil {
			newest = max(newest, version)
		}
	}
	return newest
})
