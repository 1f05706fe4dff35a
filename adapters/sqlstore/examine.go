package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Examination is what Examine has found.
type Examination struct {
	// URL is the database without its password.
	URL string
	// Postgres: it is PostgreSQL; what is about files is zero then.
	Postgres bool
	// InUse: a server has it open.
	InUse bool
	// Schema is the number of the last migration, Known that of this version.
	Schema, NewestSchema int64
	// Size and Log are the bytes of the file and of its log; Free those that are free
	// on its disk, -1 where that is not known.
	Size, Log, Free int64
	// Open are files that others than their owner may read.
	Open []string
	// Faults are what is damaged, at most ten.
	Faults []string
	// Events and Projects are how many there are; Unindexed how many events wait to
	// be indexed.
	Events, Projects, Unindexed int64
	// Moving: a move into it has not ended.
	Moving bool
}

// ErrNoDatabase is for databases that no server has started with.
var ErrNoDatabase = errors.New("there is nothing yet: the first bunting serve makes it")

// Examine looks at a database, by its URL, without changing anything: also while a
// server uses it. quick leaves out whether indexes and tables agree, which takes long.
// PostgreSQL checks its files by itself; of it only what this product keeps is looked
// at.
func Examine(ctx context.Context, url string, quick bool) (Examination, error) {
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok && path != ":memory:" {
		return examineFile(ctx, path, quick)
	}
	o, err := openURL(ctx, url)
	if err != nil {
		return Examination{}, err
	}
	e := Examination{URL: o.displayURL, Postgres: !o.dialect.singleWriter, NewestSchema: newestSchema(), Free: -1}
	defer func() { _, _, _ = o.write.Close(), o.quick.Close(), o.unlock() }()
	return e, o.dialect.explain(e.readCounts(ctx, o.write, o.dialect.singleWriter))
}

func examineFile(ctx context.Context, path string, quick bool) (e Examination, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return e, err
	}
	e = Examination{URL: "sqlite:" + path, NewestSchema: newestSchema(), Free: -1}
	if free, ok := freeDisk(filepath.Dir(path)); ok {
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
	if _, err := os.Stat(path + ".lock"); err == nil {
		lock := flock.New(path+".lock", flock.SetFlag(os.O_RDONLY))
		free, err := lock.TryRLock()
		e.InUse = err == nil && !free
		_ = lock.Close()
	}
	db, err := sql.Open("sqlite", readingDSN(path))
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
		return e, sqlite.explain(err)
	}
	return e, sqlite.explain(e.readCounts(ctx, db, true))
}

// readCounts reads what both kinds of databases have.
func (e *Examination) readCounts(ctx context.Context, db *sql.DB, singleWriter bool) error {
	existsQuery := `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`
	if !singleWriter {
		existsQuery = `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1`
	}
	has := func(table string) (bool, error) {
		var n int
		err := db.QueryRowContext(ctx, existsQuery, table).Scan(&n)
		return n > 0, err
	}
	if ok, err := has("goose_db_version"); err != nil || !ok {
		return errors.Join(err, ErrNoDatabase)
	}
	type number struct {
		table, text string
		to          *int64
	}
	numbers := []number{
		{"goose_db_version", schemaVersion, &e.Schema},
		{"projects", `SELECT COUNT(*) FROM projects WHERE deleted = 0`, &e.Projects},
		{"events", `SELECT COUNT(*) FROM events`, &e.Events},
	}
	if singleWriter {
		numbers = append(numbers, number{"places", `SELECT (SELECT id FROM places WHERE name = 'event_id') - (SELECT id FROM places WHERE name = 'event_index')`, &e.Unindexed})
	}
	for _, n := range numbers {
		if ok, err := has(n.table); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("the table %s is missing: restore a backup", n.table))
		}
		if err := db.QueryRowContext(ctx, n.text).Scan(n.to); err != nil {
			return err
		}
	}
	if ok, err := has("moving"); err != nil || !ok {
		return err
	}
	return db.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM moving`).Scan(&e.Moving)
}
