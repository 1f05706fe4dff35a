package copies

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
)

// Examination is the result of Examine.
type Examination struct {
	// URL is the URL of the database without its password.
	URL string
	// Postgres is true for PostgreSQL. Fields about files are zero then.
	Postgres bool
	// InUse is true if a server has the file open.
	InUse bool
	// Schema is the version of the schema, NewestSchema the version that this binary
	// migrates to.
	Schema, NewestSchema int64
	// MigratedBy is the version of bunting that migrated the schema, empty if it is
	// unknown.
	MigratedBy string
	// NewerSchema is an error with both versions if the schema is newer than
	// NewestSchema, and nil otherwise.
	NewerSchema error
	// Size and Log are the sizes of the file and its write-ahead log, Free is the free
	// space on their disk, in bytes; Free is -1 if it is unknown.
	Size, Log, Free int64
	// Open are the paths of files that users other than the owner can access.
	Open []string
	// Faults are descriptions of damage, at most ten.
	Faults []string
	// Events and Projects are the numbers of events and projects, Unindexed is the
	// number of events that are in no block yet, and Unconverted that of events of an earlier version
	// that a server still has to convert.
	Events, Projects, Unindexed, Unconverted int64
	// Moving is true if the database is the target of an incomplete move.
	Moving bool
	// Segments is the number of segment files that the database lists, SegmentBytes their
	// size.
	Segments     int
	SegmentBytes int64
	// SegmentFaults are descriptions of missing and damaged segment files, at most ten.
	SegmentFaults []string
	// Unlisted are the names of files in the folder of segments that the database does not
	// list.
	Unlisted []string
}

// ErrNoDatabase is the error for a database that no server has initialized.
var ErrNoDatabase = errors.New("there is no database yet: the first bunting serve creates it")

// Examine inspects the database with a URL without changing it, also while a server
// uses it. segments is the folder of its segment files; it may be empty if it lists no
// such files. If quick is true, it does not compare indexes with tables, decodes no blocks of
// events and reads no segment files, which may take long. PostgreSQL is responsible for its
// own files; of such a database only the contents of this product's tables are examined.
func Examine(ctx context.Context, url, segments string, quick bool) (Examination, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && path != ":memory:" {
		return examineFile(ctx, path, segments, quick)
	}
	o, err := database.Open(ctx, url)
	if err != nil {
		return Examination{}, err
	}
	e := Examination{URL: o.DisplayURL, Postgres: !o.Dialect.SingleWriter, NewestSchema: database.NewestSchema(), Free: -1}
	defer func() { _, _, _ = o.Write.Close(), o.Quick.Close(), o.Unlock() }()
	return e, o.Dialect.Explain(e.readCounts(ctx, o.Write, o.Dialect.SingleWriter, segments, quick))
}

// examineFile implements Examine for a SQLite file.
func examineFile(ctx context.Context, path, segments string, quick bool) (e Examination, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return e, err
	}
	e = Examination{URL: "sqlite:" + path, NewestSchema: database.NewestSchema(), Free: -1}
	if free, ok := database.FreeDisk(filepath.Dir(path)); ok {
		e.Free = free
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + end)
		switch {
		case errors.Is(err, os.ErrNotExist) && end == "":
			return e, ErrNoDatabase
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return e, err
		case info.Mode().Perm()&0o077 != 0:
			e.Open = append(e.Open, path+end)
		}
		switch end {
		case "":
			e.Size = info.Size()
		case "-wal":
			e.Log = info.Size()
		}
	}
	// A server holds an exclusive lock on this file, so a shared lock cannot be
	// acquired while one runs.
	if _, err := os.Stat(path + ".lock"); err == nil {
		lock := flock.New(path+".lock", flock.SetFlag(os.O_RDONLY))
		free, err := lock.TryRLock()
		e.InUse = err == nil && !free
		_ = lock.Close()
	}
	db, err := sql.Open("sqlite", database.ReadingDSN(path))
	if err != nil {
		return e, err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	check := `PRAGMA integrity_check(10)`
	if quick {
		check = `PRAGMA quick_check(10)`
	}
	if e.Faults, err = integrity(ctx, db, check); err != nil || len(e.Faults) > 0 {
		return e, database.SQLite.Explain(err)
	}
	return e, database.SQLite.Explain(e.readCounts(ctx, db, true, segments, quick))
}

// readCounts reads the fields that exist for both kinds of databases. The schema may be
// older or newer than that of this binary, so the existence of tables is checked first.
func (e *Examination) readCounts(ctx context.Context, db *sql.DB, singleWriter bool, segments string, quick bool) error {
	has := func(table string) (bool, error) { return database.HasTable(ctx, db, singleWriter, table) }
	if ok, err := has("goose_db_version"); err != nil || !ok {
		return errors.Join(err, ErrNoDatabase)
	}
	type number struct {
		table, text string
		to          *int64
	}
	numbers := []number{
		{"goose_db_version", database.SchemaVersion, &e.Schema},
		{"projects", `SELECT COUNT(*) FROM projects WHERE deleted = 0`, &e.Projects},
	}
	for _, n := range numbers {
		if ok, err := has(n.table); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("the table %s is missing: restore a backup", n.table))
		}
		if err := db.QueryRowContext(ctx, n.text).Scan(n.to); err != nil {
			return err
		}
	}
	e.MigratedBy = database.MigratedBy(ctx, db)
	e.NewerSchema = database.CheckSchema(e.Schema, e.MigratedBy)
	folder, err := e.examineSegments(ctx, db, singleWriter, segments, quick)
	if folder != nil {
		defer func() { _ = folder.Close() }()
	}
	if err != nil {
		return err
	}
	if err := e.examineEvents(ctx, events.Source{Querier: db, Files: folder}, has, quick || len(e.SegmentFaults) > 0); err != nil {
		return err
	}
	if ok, err := has("moving"); err != nil || !ok {
		return err
	}
	return db.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM moving`).Scan(&e.Moving)
}

// examineEvents counts the events, and checks their blocks and chunks unless quick is true or they are
// being converted from an earlier schema.
func (e *Examination) examineEvents(ctx context.Context, db events.Source, has func(string) (bool, error), quick bool) (err error) {
	if e.Events, e.Unconverted, err = countEvents(ctx, db, has); err != nil {
		return err
	}
	if isNewest, err := has("event_new_chunks"); err != nil || !isNewest {
		return err
	}
	err = db.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM event_new_chunks`).Scan(&e.Unindexed)
	if err == nil && !quick && e.Unconverted == 0 {
		e.Faults, err = events.CheckBlocks(ctx, db, maxFaults)
	}
	return err
}

// countEvents returns the number of events, and of those that are not converted from an earlier schema.
func countEvents(ctx context.Context, db database.Querier, has func(string) (bool, error)) (n, unconverted int64, err error) {
	for table, text := range events.Unconverted {
		exists, err := has(table)
		if err != nil {
			return 0, 0, err
		}
		if exists {
			var some int64
			if err := db.QueryRowContext(ctx, text).Scan(&some); err != nil {
				return 0, 0, err
			}
			unconverted += some
		}
	}
	for _, table := range []string{"event_blocks", "event_chunks", "event_new_chunks"} {
		exists, err := has(table)
		if err == nil && !exists && unconverted == 0 {
			err = fmt.Errorf("the table %s is missing: restore a backup", table)
		}
		if err != nil {
			return 0, 0, err
		}
		if !exists { // the schema has not been migrated: no event is converted
			return unconverted, unconverted, nil
		}
	}
	areInBlocks := true // those that are not converted
	if unconverted > 0 {
		err = db.QueryRowContext(ctx, `SELECT COALESCE((SELECT id FROM places WHERE name = $1) <= (SELECT id FROM places WHERE name = $2), FALSE)`,
			database.PositionUnconverted, database.PositionIndexed).Scan(&areInBlocks)
	}
	switch {
	case err != nil:
	case areInBlocks:
		err = db.QueryRowContext(ctx, events.Count).Scan(&n)
	default: // blocks have only some of them
		err = db.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM event_chunks`).Scan(&n)
		n += unconverted
	}
	return n, unconverted, err
}
