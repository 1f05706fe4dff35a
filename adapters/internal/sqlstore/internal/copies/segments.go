package copies

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/url"
	"os"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// A backup contains the segment files that its catalogue lists, in parts of at most
// partSize bytes, so that writing and reading it needs little memory. The table exists
// only in backups.
const (
	partSize    = 1 << 20
	partsTable  = "segment_files"
	createParts = `CREATE TABLE segment_files (name TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (name, part)) WITHOUT ROWID`
)

// errIsBackup is the error for opening a backup with segment files as a database.
var errIsBackup = errors.New("this is a backup that contains segment files: restore it with bunting restore")

// listedSegment is a row of the catalogue of segment files.
type listedSegment struct {
	project, first, last, events, bytes int64
	checksum                            uint32
	name                                string
}

// listSegments returns the catalogue of segment files of a database. It is empty if the
// schema is older than the catalogue.
func listSegments(ctx context.Context, q database.Querier, singleWriter bool) ([]listedSegment, error) {
	if exists, err := database.HasTable(ctx, q, singleWriter, "event_segments"); err != nil || !exists {
		return nil, err
	}
	return database.List(ctx, q, func(s *listedSegment) []any {
		return []any{&s.project, &s.first, &s.last, &s.events, &s.bytes, &s.checksum, &s.name}
	}, `SELECT project_id, first_id, last_id, events, bytes, checksum, name FROM event_segments ORDER BY project_id, first_id`)
}

// totalBytes returns the size of some segment files.
func totalBytes(list []listedSegment) (n int64) {
	for i := range list {
		n += list[i].bytes
	}
	return n
}

// openSegments opens a folder of segments, which must exist, or a bucket. It returns nil if dir is
// empty. path is the SQLite file, or empty.
func openSegments(dir, path string) (*segment.Folder, error) {
	if dir == "" {
		return nil, nil
	}
	if !segment.IsBucket(dir) {
		if _, err := os.Stat(dir); err != nil { // OpenFolder would create it
			return nil, fmt.Errorf("--segments: %w", err)
		}
	}
	return segment.Open(dir, path)
}

// segmentSource is the folder of segments of a database that is being copied. It keeps
// servers from removing files.
type segmentSource struct {
	folder  *segment.Folder // may be nil
	release func() error
}

// holdSegments opens the folder of segments of a SQLite file. dir may be empty.
func holdSegments(dir, path string) (*segmentSource, error) {
	folder, err := openSegments(dir, path)
	if err != nil || folder == nil {
		return &segmentSource{release: func() error { return nil }}, err
	}
	unlock, err := folder.Hold()
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &segmentSource{folder, func() error { return errors.Join(unlock(), folder.Close()) }}, nil
}

// list returns the segment files of a snapshot that are to be added to its copy.
func (s *segmentSource) list(ctx context.Context, snapshot *Snapshot) ([]listedSegment, error) {
	if s == nil {
		return nil, nil
	}
	if isBackup, err := database.HasTable(ctx, snapshot.conn, true, partsTable); err != nil || isBackup {
		return nil, cmp.Or(err, errIsBackup)
	}
	list, err := listSegments(ctx, snapshot.conn, true)
	if err == nil && len(list) > 0 && s.folder == nil {
		err = events.ErrNoFolder
	}
	return list, err
}

// partsDSN returns the driver's address of an incomplete copy: without a journal,
// because such a copy is removed after an error.
func partsDSN(path string) string {
	q := url.Values{"_pragma": {"journal_mode(OFF)", "synchronous(OFF)", "locking_mode(EXCLUSIVE)", "cache_size(-4096)"}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// add adds segment files to the copy of a database. progress is called with the number of
// bytes of segment files that were added.
func (s *segmentSource) add(ctx context.Context, path string, list []listedSegment, progress func(int64)) error {
	if len(list) == 0 {
		return nil
	}
	db, err := sql.Open("sqlite", partsDSN(path))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	err = s.addAll(ctx, db, list, progress)
	return errors.Join(database.SQLite.Explain(err), db.Close(), syncFile(path))
}

func (s *segmentSource) addAll(ctx context.Context, db *sql.DB, list []listedSegment, progress func(int64)) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	if _, err := tx.ExecContext(ctx, createParts); err != nil {
		return err
	}
	done, part := int64(0), make([]byte, partSize)
	for i := range list {
		if err := addFile(ctx, tx, s.folder, &list[i], part, func(n int64) { progress(done + n) }); err != nil {
			return fmt.Errorf("segment file %s: %w", list[i].name, err)
		}
		done += list[i].bytes
	}
	return tx.Commit()
}

// addFile adds one segment file, and compares it with the catalogue.
func addFile(ctx context.Context, tx *sql.Tx, folder *segment.Folder, s *listedSegment, part []byte, progress func(int64)) (err error) {
	file, err := folder.Read(s.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	seen := newContent(s)
	for number := 0; ; number++ {
		n, err := io.ReadFull(file, part)
		if err == io.EOF {
			return seen.compare()
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return err
		}
		if _, err := seen.Write(part[:n]); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO segment_files (name, part, data) VALUES ($1, $2, $3)`, s.name, number, part[:n]); err != nil {
			return err
		}
		progress(seen.n)
	}
}

// content compares the bytes of a segment file that are written to it with the catalogue.
type content struct {
	listed *listedSegment
	n      int64
	sum    uint32
}

func newContent(s *listedSegment) *content { return &content{listed: s} }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write implements io.Writer. It fails if there are more bytes than listed.
func (c *content) Write(b []byte) (int, error) {
	if c.n += int64(len(b)); c.n > c.listed.bytes {
		return 0, c.differs()
	}
	c.sum = crc32.Update(c.sum, castagnoli, b)
	return len(b), nil
}

func (c *content) differs() error {
	return fmt.Errorf("it is damaged: %d bytes with the checksum %08x, and the database lists %d bytes with %08x", c.n, c.sum, c.listed.bytes, c.listed.checksum)
}

// compare returns an error if the bytes that were written differ from the listed bytes.
func (c *content) compare() error {
	if c.n != c.listed.bytes || c.sum != c.listed.checksum {
		return c.differs()
	}
	return nil
}

// syncFile writes a file that another handle has written to the disk.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ClaimFolder returns an error if a folder of segments belongs to another database, because files
// that the database does not list are removed. If the folder is empty and the database lists no
// segment files, it belongs to the database from then on. Both then have the same random number. The
// servers of a PostgreSQL database must all use the same folder. folder may be nil.
func ClaimFolder(ctx context.Context, db *database.DB, folder *segment.Folder) error {
	inDatabase, err := folderNumber(ctx, db.Write)
	isShared := inDatabase != 0 && !db.Dialect.SingleWriter
	switch {
	case err != nil:
		return err
	case folder == nil && isShared:
		return events.ErrNoFolder
	case folder == nil:
		return nil
	}
	inFolder, err := folder.Owner()
	if err != nil || inDatabase != 0 && inFolder == inDatabase {
		return err
	}
	files, err := folder.Names()
	if err != nil {
		return err
	}
	list, err := listSegments(ctx, db.Write, db.Dialect.SingleWriter)
	switch {
	case err != nil:
		return err
	case inFolder != 0 || len(files) > 0:
		return errForeign(folder)
	case len(list) > 0:
		return fmt.Errorf("%s is not the folder of this database, which lists %d segment files: choose that one with --segments", folder, len(list))
	case isShared:
		return fmt.Errorf("%s is not the folder of this database: choose the one of its other servers with --segments, and look whether it is mounted; to use another one, stop all servers and copy the file %q to it", folder, segment.OwnerFile)
	}
	return claim(ctx, db, folder)
}

func errForeign(folder *segment.Folder) error {
	return fmt.Errorf("the segment files in %s belong to another database: choose another folder with --segments", folder)
}

// claim stores the number of a database in its folder of segments, and chooses a number if
// the database has no number yet. Other servers may do the same at the same time.
func claim(ctx context.Context, db *database.DB, folder *segment.Folder) error {
	_, err := db.Write.ExecContext(ctx, `INSERT INTO places (name, id) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, database.PositionSegments, 1+rand.Int64N(1<<62))
	if err != nil {
		return err
	}
	number, err := folderNumber(ctx, db.Write)
	if err != nil {
		return err
	}
	owner, err := folder.Claim(number)
	if err == nil && owner != number {
		err = errForeign(folder)
	}
	return err
}

// folderNumber returns the number of the folder of segments of a database, 0 if there
// is no number.
func folderNumber(ctx context.Context, q database.Querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionSegments).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
