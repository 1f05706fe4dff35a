package sqlstore

import (
	"context"
	"errors"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
)

// Results of the functions that copy and examine databases.
type (
	// CopyResult describes the file that a backup or a restore has written: its size,
	// its hash, the version of its schema and its numbers of events and segment files.
	CopyResult = copies.CopyResult
	// Replaced are the paths to which a restore has moved the previous files.
	Replaced = copies.Replaced
	// Examination is the result of Examine.
	Examination = copies.Examination
)

// ErrNoDatabase is the error for a database that no server has initialized.
var ErrNoDatabase = copies.ErrNoDatabase

// Backup copies the SQLite file from, which a server may be using, to the new file to.
// The copy is consistent, contains everything that was committed before Backup was
// called, is checked for damage, and is synced to disk when Backup returns. If Backup
// fails, it removes its temporary file; a process that is killed leaves to.part behind.
// It returns an error if to exists or if there is not enough free space.
//
// segments is the folder of the database's segment files, which are in the copy too. It
// may be empty if the database lists no segment files. Servers do not remove files from it
// during the backup.
//
// progress is called with a description of the current step and with the number of
// bytes done and in total, both 0 if they are unknown.
func Backup(ctx context.Context, from, segments, to string, progress func(what string, done, total int64)) (CopyResult, error) {
	return copies.Backup(ctx, from, segments, to, progress)
}

// Restore writes the backup from to the SQLite file to, which no server may be using, and
// its segment files to the folder segments, which may be empty if there are no such files. An
// existing database, and files in the folder, are replaced only if replace is true; the
// database is then renamed together with its log, and the files are moved to a folder
// below segments. A restore that was killed may leave files of both stores there: it must
// be repeated.
func Restore(ctx context.Context, from, to, segments string, replace bool, progress func(what string, done, total int64)) (CopyResult, Replaced, error) {
	return copies.Restore(ctx, from, to, segments, replace, progress)
}

// Move copies all data, with all keys and ids, from the database with the URL from to
// the empty database with the URL to. Each may be SQLite or PostgreSQL, and no server
// may be using them. The schema of the source is migrated to the newest version,
// and its events are converted; otherwise the source is not changed. Segment files stay in their folder, and servers of
// the target need the same folder; the source must not be used with it any more.
//
// An interrupted move continues when Move is called with the same URLs. Until the move
// is complete, no server can open the target. At the end, counts and checksums of all
// tables are compared. progress is called with numbers of rows. The result has the
// numbers of tables, rows and segment files, and whether an interrupted move was continued.
func Move(ctx context.Context, from, to string, progress func(what string, done, total int64)) (copies.MoveResult, error) {
	return copies.Move(ctx, from, to, progress)
}

// Examine inspects the database with a URL without changing it, also while a server
// uses it. segments is the folder of its segment files; it may be empty if it lists no
// such files. If quick is true, it does not compare indexes with tables, decodes no blocks of
// events and reads no segment files, which may take long. PostgreSQL is responsible for its
// own files; of such a database only the contents of this product's tables are examined.
func Examine(ctx context.Context, url, segments string, quick bool) (Examination, error) {
	return copies.Examine(ctx, url, segments, quick)
}

// EachEvent calls visit for all events of a project with after < id, in their order. q may be a
// database or a transaction with the newest schema, and it is only read. segments is the folder or the bucket of its
// segment files, which may be empty if it lists no such files.
func EachEvent(ctx context.Context, q database.Querier, segments string, projectID, after int64, visit func(*capture.Record) error) (err error) {
	var files *segment.Folder
	if segments != "" {
		if files, err = segment.Open(segments, ""); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, files.Close()) }()
	}
	source, err := events.NewSource(ctx, q, files)
	if err != nil {
		return err
	}
	return events.EachEvent(ctx, source, projectID, after, visit)
}
