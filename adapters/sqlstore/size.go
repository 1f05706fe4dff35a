package sqlstore

import (
	"context"
	"os"
	"path/filepath"
)

// Size is the disk space of a store in bytes. A field is -1 if it is unknown.
type Size struct {
	// Database is the size of the database, WAL the size of SQLite's write-ahead log.
	Database, WAL int64
	// Free is the free space on the disk of a SQLite file.
	Free int64
}

// Size returns the sizes of the files, or of the PostgreSQL database, whose other
// fields are unknown.
func (s *Store) Size(ctx context.Context) Size {
	out := Size{-1, -1, -1}
	switch {
	case s.file != "":
		out.Database, out.WAL = fileSize(s.file), max(fileSize(s.file+"-wal"), 0)
		if free, ok := freeDisk(filepath.Dir(s.file)); ok {
			out.Free = free
		}
	case !s.dialect.singleWriter:
		if err := s.quick.QueryRowContext(ctx, `SELECT pg_database_size(current_database())`).Scan(&out.Database); err != nil {
			out.Database = -1
		}
	}
	return out
}

// fileSize returns the size of a file in bytes, or -1.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
