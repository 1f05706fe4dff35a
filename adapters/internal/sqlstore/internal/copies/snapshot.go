package copies

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Snapshot is the state of a SQLite file at one moment, including its write-ahead log:
// a reading transaction on a connection of its own. Commits continue concurrently, but
// the log cannot be reset until the snapshot is closed.
type Snapshot struct {
	// Size is the number of bytes that Copy writes.
	Size int64
	// At is the time of the snapshot: it contains everything committed before.
	At time.Time
	// Schema is the version of the schema.
	Schema int64

	path     string
	db       *sql.DB
	conn     *sql.Conn
	page     int64 // size of a page in bytes
	LogLimit int64 // maximum size of the log during a copy, 0 for no limit
}

// OpenSnapshot opens a snapshot of a file that this process or another one may be
// writing. The caller must close it.
func OpenSnapshot(ctx context.Context, path string) (_ *Snapshot, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no database: %w", err)
	}
	s := &Snapshot{path: path}
	if s.db, err = sql.Open("sqlite", database.ReadingDSN(path)); err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	if err = s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, database.SQLite.Explain(err)), s.Close())
	}
	return s, nil
}

// begin starts the reading transaction and reads the sizes.
func (s *Snapshot) begin(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	s.At = time.Now()
	// The first read of the transaction determines its snapshot.
	var pages int64
	if err := s.conn.QueryRowContext(ctx, database.SchemaVersion).Scan(&s.Schema); err != nil {
		return fmt.Errorf("this is no database of bunting: %w", err)
	}
	if err := s.conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&s.page); err != nil {
		return err
	}
	s.Size = pages * s.page
	// If the disk may fill up because of the copy, the copy has to end first.
	if free, ok := database.FreeDisk(filepath.Dir(s.path)); ok {
		s.LogLimit = s.LogSize() + free/2
	}
	return nil
}

// LogSize returns the current size of the write-ahead log in bytes.
func (s *Snapshot) LogSize() int64 { return max(database.FileSize(s.path+"-wal"), 0) }

// snapshotPiece is the approximate number of bytes of one write.
const snapshotPiece = 1 << 20

// ErrLogGrows is the error for a copy that is slower than concurrent writes: the log,
// which cannot be reset during the copy, has grown by half of the free space of the
// disk.
var ErrLogGrows = errors.New("while it was copied the database's log has grown by half of the free disk: copy to something faster, or when less is written")

// Copy writes the file in a form that needs no log. After each MiB it calls progress,
// unless it is nil, with the number of bytes written. It must be called at most one
// time.
func (s *Snapshot) Copy(ctx context.Context, w io.Writer, progress func(written int64)) error {
	rows, err := s.conn.QueryContext(ctx, `SELECT data FROM sqlite_dbpage`)
	if err != nil {
		return database.SQLite.Explain(err)
	}
	defer func() { _ = rows.Close() }()
	piece := bytes.NewBuffer(make([]byte, 0, snapshotPiece+s.page))
	written := int64(0)
	flush := func() error {
		n, err := w.Write(piece.Bytes())
		written += int64(n)
		piece.Reset()
		if err == nil && s.LogLimit > 0 && s.LogSize() > s.LogLimit {
			err = ErrLogGrows
		}
		if progress != nil {
			progress(written)
		}
		return err
	}
	var page sql.RawBytes
	for n := int64(0); rows.Next(); n++ {
		if err := rows.Scan(&page); err != nil {
			return database.SQLite.Explain(err)
		}
		if n == 0 && int64(len(page)) == s.page {
			page = withoutLog(page, s.Size/s.page)
		}
		if piece.Write(page); piece.Len() >= snapshotPiece {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := rows.Err(); err != nil {
		return database.SQLite.Explain(err)
	}
	if err := flush(); err != nil {
		return err
	}
	if written != s.Size {
		return fmt.Errorf("the database has %d bytes, of which %d could be read", s.Size, written)
	}
	return nil
}

// withoutLog changes the header in the first page to that of a file without a log, so
// that the file can be read where no log can be created. The offsets are from SQLite's
// file format, §1.3.
func withoutLog(first []byte, pages int64) []byte {
	out := bytes.Clone(first)
	out[18], out[19] = 1, 1
	binary.BigEndian.PutUint32(out[28:], uint32(pages))
	copy(out[92:96], out[24:28]) // marks the number of pages as valid
	return out
}

// Close ends the transaction, so that the log can be reset. It may be called more than
// once, and on nil.
func (s *Snapshot) Close() error {
	if s == nil {
		return nil
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	return s.db.Close()
}
