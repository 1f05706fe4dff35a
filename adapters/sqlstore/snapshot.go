package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// snapshot is a SQLite file as it was at one moment, with what stands in its log: a
// transaction that reads, on a connection of its own. Commits go on beside it, but
// the log cannot begin anew until it is closed.
type snapshot struct {
	// Size is how many bytes Copy writes.
	Size int64
	// At is when it was taken: what was committed before is in it.
	At time.Time
	// Schema is the number of the last migration.
	Schema int64

	path     string
	db       *sql.DB
	conn     *sql.Conn
	page     int64 // the size of a page
	logLimit int64 // how long the log may become meanwhile
}

// ErrNoSnapshot is for stores that are no file of SQLite's.
var ErrNoSnapshot = errors.New("sqlstore: there is no SQLite file to copy")

// Snapshot takes a snapshot of the store: ErrNoSnapshot where that is PostgreSQL or
// in memory.
func (s *Store) Snapshot(ctx context.Context) (*snapshot, error) {
	if s.file == "" {
		return nil, ErrNoSnapshot
	}
	return openSnapshot(ctx, s.file)
}

// HasFile reports whether the store is a SQLite file, which snapshots are taken of.
func (s *Store) HasFile() bool { return s.file != "" }

// openSnapshot takes a snapshot of a file that this or another process may be
// writing to. It has to be closed.
func openSnapshot(ctx context.Context, path string) (_ *snapshot, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("there is no database: %w", err)
	}
	s := &snapshot{path: path}
	if s.db, err = sql.Open("sqlite", readingDSN(path)); err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	if err = s.begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, sqlite.explain(err)), s.Close())
	}
	return s, nil
}

// readingDSN opens a file for nothing but reading: nothing is made that is not there.
func readingDSN(path string) string {
	q := url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)", fmt.Sprintf("cache_size(%d)", readerCache)}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func (s *snapshot) begin(ctx context.Context) (err error) {
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return err
	}
	if _, err := s.conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	s.At = time.Now()
	// The first reading is the moment.
	var pages int64
	if err := s.conn.QueryRowContext(ctx, schemaVersion).Scan(&s.Schema); err != nil {
		return fmt.Errorf("this is no database of bunting: %w", err)
	}
	if err := s.conn.QueryRowContext(ctx, `PRAGMA page_count`).Scan(&pages); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, `PRAGMA page_size`).Scan(&s.page); err != nil {
		return err
	}
	s.Size = pages * s.page
	if free, ok := freeDisk(filepath.Dir(s.path)); ok {
		s.logLimit = s.logSize() + free/2
	}
	return nil
}

func (s *snapshot) logSize() int64 { return max(fileSize(s.path+"-wal"), 0) }

// snapshotPiece is how much is written at once, in bytes.
const snapshotPiece = 1 << 20

// ErrLogGrows ends a copy that is slower than the writing beside it: the log, which
// waits for its end, has taken half of what was free on the disk.
var ErrLogGrows = errors.New("while it was copied the database's log has grown by half of the free disk: copy to something faster, or when less is written")

// Copy writes the file: one that needs no log beside it. progress, where it is not
// nil, is told after each piece of a MiB how many bytes are written. It can be
// called once.
func (s *snapshot) Copy(ctx context.Context, w io.Writer, progress func(written int64)) error {
	rows, err := s.conn.QueryContext(ctx, `SELECT data FROM sqlite_dbpage`)
	if err != nil {
		return sqlite.explain(err)
	}
	defer func() { _ = rows.Close() }()
	piece := bytes.NewBuffer(make([]byte, 0, snapshotPiece+s.page))
	written := int64(0)
	flush := func() error {
		n, err := w.Write(piece.Bytes())
		written += int64(n)
		piece.Reset()
		if err == nil && s.logLimit > 0 && s.logSize() > s.logLimit {
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
			return sqlite.explain(err)
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
		return sqlite.explain(err)
	}
	if err := flush(); err != nil {
		return err
	}
	if written != s.Size {
		return fmt.Errorf("the database has %d bytes, of which %d could be read", s.Size, written)
	}
	return nil
}

// withoutLog makes the first page that of a file without a log, so that it can be read
// where nothing may be written; the places are those of SQLite's file format, §1.3.
func withoutLog(first []byte, pages int64) []byte {
	out := bytes.Clone(first)
	out[18], out[19] = 1, 1
	binary.BigEndian.PutUint32(out[28:], uint32(pages))
	copy(out[92:96], out[24:28]) // the number of pages is valid
	return out
}

// Close lets the log go on. A nil Snapshot is closed.
func (s *snapshot) Close() error {
	if s == nil {
		return nil
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
	return s.db.Close()
}
