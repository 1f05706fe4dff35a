package pgtest

import (
	"context"
	"database/sql"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sqlitedriver "modernc.org/sqlite"
)

// SQLiteMigrated prepares the database at url so that it has the tables that open creates,
// and returns url. The tables are copied from a template, in a tenth of the time
// of the migrations. url is one of
//
//	sqlite:PATH        a file, which is created if it does not exist
//	sqlite::memory:    all in-memory databases that this process opens from now on
//
// URLs of other databases are returned unchanged. Tests of migrations must not use it.
func SQLiteMigrated[C any, S io.Closer](t testing.TB, url string, open func(ctx context.Context, url string, c C) (S, error)) string {
	t.Helper()
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		return url
	}
	migratedSQLite.once.Do(func() { migratedSQLite.file = migratedFile(t, open) })
	if path == ":memory:" {
		migratedSQLite.inMemory.Do(func() { sqlitedriver.RegisterConnectionHook(fillMemory) })
		return url
	}
	if _, err := os.Stat(path); os.IsNotExist(err) {
		must(t, os.WriteFile(path, migratedSQLite.file, 0o600))
	}
	return url
}

// migratedSQLite is the template that SQLiteMigrated copies.
var migratedSQLite struct {
	once, inMemory sync.Once
	file           []byte
}

func migratedFile[C any, S io.Closer](t testing.TB, open func(context.Context, string, C) (S, error)) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "migrated.db")
	migrate(t, "sqlite:"+path, open)
	// A database in memory has no write-ahead log.
	db, err := sql.Open("sqlite", path)
	must(t, err)
	_, err = db.Exec(`PRAGMA journal_mode = DELETE`)
	must(t, err)
	must(t, db.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	return file
}

// fillMemory fills a new database in memory.
func fillMemory(conn sqlitedriver.ExecQuerierContext, dsn string) error {
	if !strings.HasPrefix(dsn, "file::memory:") {
		return nil
	}
	return conn.(interface{ Deserialize([]byte) error }).Deserialize(migratedSQLite.file)
}

// migrate opens a database, which creates its tables, and closes it.
func migrate[C any, S io.Closer](t testing.TB, url string, open func(context.Context, string, C) (S, error)) {
	t.Helper()
	var defaults C
	s, err := open(context.Background(), url, defaults)
	must(t, err)
	must(t, s.Close())
}
