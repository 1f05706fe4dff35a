package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// Names of folders in the folder of segments: the folders of projects, the folder with the
// files of the backup during a restore, and the folders with replaced files.
const (
	projectStart = "project="
	stagedName   = "restored.part"
	beforeStart  = "before-"
)

// checkRestore checks before a restore that the backup has the segment files that it
// lists, which it returns, that there is a folder for them with enough space, and that the
// folder has no other files, unless replace is true.
func checkRestore(ctx context.Context, from, dir string, replace bool) (list []listedSegment, err error) {
	if _, err := os.Stat(from); err != nil {
		return nil, fmt.Errorf("there is no database: %w", err)
	}
	db, err := sql.Open("sqlite", database.ReadingDSN(from))
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	hasParts, err := database.HasTable(ctx, db, true, partsTable)
	if err == nil {
		list, err = listSegments(ctx, db, true)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("database %s: %w", from, database.SQLite.Explain(err))
	case len(list) > 0 && !hasParts:
		return nil, fmt.Errorf("%s is no backup: it lists %d segment files, and does not contain them", from, len(list))
	case len(list) > 0 && dir == "":
		return nil, fmt.Errorf("the backup contains %d segment files: give a folder for them with --segments DIR", len(list))
	case dir == "":
		return nil, nil
	}
	if segment.IsBucket(dir) {
		return list, checkBucket(dir)
	}
	old, err := projectFolders(dir)
	if err == nil && len(old) > 0 && !replace {
		err = fmt.Errorf("%s already has segment files: choose another folder, or use --replace to replace them with those of the backup (the old files are moved to a folder %sTIME in it)", dir, beforeStart)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if free, ok := database.FreeDisk(dir); err == nil && ok && free < totalBytes(list) {
		err = fmt.Errorf("%s: the segment files need %d MiB, and %d MiB are free", dir, totalBytes(list)>>20+1, free>>20)
	}
	return list, err
}

// checkBucket returns an error unless the prefix of a bucket is new: nothing in it is replaced.
func checkBucket(address string) error {
	folder, err := segment.Open(address, "")
	if err != nil {
		return err
	}
	names, err := folder.Names()
	owner := int64(0)
	if err == nil {
		owner, err = folder.Owner()
	}
	if err = errors.Join(err, folder.Close()); err == nil && (len(names) > 0 || owner != 0) {
		err = fmt.Errorf("%s already belongs to a database: choose another prefix of the bucket", address)
	}
	return err
}

// projectFolders returns the names of the folders of projects in a folder of segments.
func projectFolders(dir string) (names []string, err error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), projectStart) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// openStaged opens the folder into which a restore writes segment files, and which undo removes: a
// folder below dir, or a bucket.
func openStaged(dir string, list []listedSegment) (folder *segment.Folder, undo func() error, err error) {
	if segment.IsBucket(dir) {
		folder, err = segment.Open(dir, "")
		return folder, func() (err error) {
			for i := range list {
				err = errors.Join(err, folder.Remove(list[i].name))
			}
			return errors.Join(err, folder.Close())
		}, err
	}
	staged := filepath.Join(dir, stagedName)
	if err := os.RemoveAll(staged); err != nil { // of a killed process
		return nil, nil, err
	}
	folder, err = segment.OpenFolder(staged)
	return folder, func() error { return errors.Join(folder.Close(), os.RemoveAll(staged)) }, err
}

// stageParts writes the segment files of a restored copy of a backup into a folder below
// dir or into a bucket, and removes them from the copy, which becomes smaller.
func stageParts(ctx context.Context, path, dir string, list []listedSegment, progress progress) error {
	folder, undo, err := openStaged(dir, list)
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", partsDSN(path))
	if err != nil {
		return errors.Join(err, undo())
	}
	db.SetMaxOpenConns(1)
	small := path + ".small"
	err = func() error {
		total, done := totalBytes(list), int64(0)
		for i := range list {
			s := &list[i]
			if err := extractFile(ctx, db, folder, s, func(n int64) { progress("writing segment files", done+n, total) }); err != nil {
				return fmt.Errorf("segment file %s: %w", s.name, err)
			}
			done += s.bytes
		}
		progress("removing segment files from the database", 0, 0)
		if _, err := db.ExecContext(ctx, `DROP TABLE segment_files`); err != nil {
			return err
		}
		return writeSmall(ctx, db, small)
	}()
	if err = errors.Join(database.SQLite.Explain(err), db.Close()); err != nil {
		return errors.Join(err, removeIfThere(small), undo())
	}
	return errors.Join(folder.Close(), os.Rename(small, path))
}

// writeSmall writes a copy of a database without free pages.
func writeSmall(ctx context.Context, db *sql.DB, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) // SQLite would choose other permissions
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `VACUUM INTO $1`, to); err != nil {
		return err
	}
	return syncFile(to)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// extractFile writes one segment file of a backup into a folder, and compares it with the
// catalogue.
func extractFile(ctx context.Context, db *sql.DB, folder *segment.Folder, s *listedSegment, progress func(int64)) error {
	seen := newContent(s)
	_, _, err := folder.Create(s.name, func(w io.Writer) error {
		w = io.MultiWriter(seen, w)
		err := database.Query(ctx, db, func(rows *sql.Rows) error {
			var part sql.RawBytes
			if err := rows.Scan(&part); err != nil {
				return err
			}
			_, err := w.Write(part)
			progress(seen.n)
			return err
		}, `SELECT data FROM segment_files WHERE name = $1 ORDER BY part`, s.name)
		if err != nil {
			return err
		}
		return seen.compare()
	})
	return err
}

// replaceSegments moves the files in the folder dir of segments, if there are any, to a folder below
// it with the path oldPath, and the staged files in their place. In a bucket they are in place. The
// folder then belongs to the restored database with a path.
func replaceSegments(ctx context.Context, path, dir string) (oldPath string, err error) {
	if !segment.IsBucket(dir) {
		if oldPath, err = placeStaged(dir); err != nil {
			return oldPath, err
		}
	}
	db, err := sql.Open("sqlite", database.ReadingDSN(path))
	if err != nil {
		return oldPath, err
	}
	number, err := folderNumber(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return oldPath, err
	}
	folder, err := segment.Open(dir, "")
	if err != nil {
		return oldPath, err
	}
	return oldPath, errors.Join(folder.SetOwner(number), folder.Close())
}

// placeStaged implements replaceSegments for the files of a folder.
func placeStaged(dir string) (oldPath string, err error) {
	old, err := projectFolders(dir)
	if err != nil {
		return "", err
	}
	if len(old) > 0 {
		if _, err := os.Stat(filepath.Join(dir, segment.OwnerFile)); err == nil {
			old = append(old, segment.OwnerFile)
		}
		oldPath = filepath.Join(dir, beforeStart+time.Now().UTC().Format("20060102T150405.000"))
		if err := moveEntries(dir, oldPath, old); err != nil {
			return oldPath, err
		}
	}
	staged := filepath.Join(dir, stagedName)
	restored, err := projectFolders(staged)
	if err == nil && len(restored) > 0 {
		err = moveEntries(staged, dir, restored)
	}
	return oldPath, errors.Join(err, os.RemoveAll(staged))
}

// moveEntries moves entries of a folder to another one, which is created.
func moveEntries(from, to string, names []string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return errors.Join(lastgood.SyncFolder(to), lastgood.SyncFolder(from))
}
