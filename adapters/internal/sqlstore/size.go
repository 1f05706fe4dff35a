package sqlstore

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// diskSpace is the disk space of a store in bytes. A field is -1 if it is unknown.
type diskSpace struct {
	// Database is the size of the database, WAL the size of SQLite's write-ahead log.
	Database, WAL int64
	// Segments is the size of the segment files, SegmentFiles their number.
	Segments, SegmentFiles int64
	// Unsealed is the number of events in the database that are to be written into segment files because
	// there are enough of them. It is unknown if events are not sealed.
	Unsealed int64
	// SegmentsFree is the free space on the disk of the segment files if that is another disk.
	SegmentsFree int64
	// Free is the free space on the disk of a SQLite file.
	Free int64
}

// Size returns the sizes of the files, or of the PostgreSQL database, whose log and disk
// are unknown.
func (s *Store) Size(ctx context.Context) diskSpace {
	out := diskSpace{-1, -1, -1, -1, -1, -1, -1}
	if err := s.db.Quick.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT), COUNT(*) FROM event_segments`).Scan(&out.Segments, &out.SegmentFiles); err != nil {
		out.Segments, out.SegmentFiles = -1, -1
	}
	if s.files != nil {
		if n, err := s.events.Unsealed(ctx); err == nil {
			out.Unsealed = n
		}
		out.SegmentsFree = s.segmentsFree()
	}
	switch {
	case s.db.File != "":
		out.Database, out.WAL = database.FileSize(s.db.File), max(database.FileSize(s.db.File+"-wal"), 0)
		if free, ok := database.FreeDisk(filepath.Dir(s.db.File)); ok {
			out.Free = free
		}
	case !s.db.Dialect.SingleWriter:
		if err := s.db.Quick.QueryRowContext(ctx, `SELECT pg_database_size(current_database())`).Scan(&out.Database); err != nil {
			out.Database = -1
		}
	}
	return out
}

// segmentsFree returns the free space on the disk of the segment files, or -1 if it is that of a SQLite
// file, or that of a bucket.
func (s *Store) segmentsFree() int64 {
	if s.files.IsBucket() {
		return -1
	}
	folder := s.files.String()
	free, ok := database.FreeDisk(folder)
	if !ok || s.db.File != "" && database.SameDisk(folder, filepath.Dir(s.db.File)) {
		return -1
	}
	return free
}

// errNoSnapshot is the error for stores that are not a SQLite file.
var errNoSnapshot = errors.New("sqlstore: there is no SQLite file to copy")

// Snapshot returns a snapshot of the store. The error is errNoSnapshot for a store on
// PostgreSQL or in memory. The caller must close the snapshot.
func (s *Store) Snapshot(ctx context.Context) (*copies.Snapshot, error) {
	if s.db.File == "" {
		return nil, errNoSnapshot
	}
	return copies.OpenSnapshot(ctx, s.db.File)
}

// File returns the path of the SQLite file, of which snapshots can be taken. It is empty if
// the store has no file.
func (s *Store) File() string { return s.db.File }
