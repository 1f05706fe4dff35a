package sqlstore

import (
	"context"
	"os"
	"path/filepath"
)

// Size is what a store takes on its disk, in bytes; -1 where that is not known.
type Size struct {
	// Database is the size of the database, WAL that of SQLite's write-ahead log.
	Database, WAL int64
	// Free is what may still be written beside an SQLite file.
	Free int64
}

// Size asks the file system, or PostgreSQL.
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

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}
