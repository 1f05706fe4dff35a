package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"
)

// countingConn counts the statements of a connection that are prepared and not closed,
// and lists the texts that were prepared.
type countingConn struct {
	sqliteConn
	texts []string
	open  int
}

type countedStmt struct {
	sqliteStmt
	conn *countingConn
}

func (c *countingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.sqliteConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	c.texts = append(c.texts, text)
	c.open++
	return countedStmt{s.(sqliteStmt), c}, nil
}

func (s countedStmt) Close() error {
	s.conn.open--
	return s.sqliteStmt.Close()
}

type countingConnector struct {
	driver.Connector
	conn *countingConn
}

func (c *countingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c.conn = &countingConn{sqliteConn: conn.(sqliteConn)}
	return newCachingConn(c.conn), nil
}

// openCounting returns a database in memory with one connection, which has a table n
// with the column i: 1, 2 and 3.
func openCounting(t *testing.T) (*sql.DB, *countingConn) {
	t.Helper()
	connector, err := sqlite.NewConnector(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingConnector{Connector: connector}
	db := sql.OpenDB(counting)
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	for _, text := range []string{`CREATE TABLE n (i INTEGER)`, `INSERT INTO n VALUES (1), (2), (3)`} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	return db, counting.conn
}

// numbers returns the first column of a query.
func numbers(t *testing.T, db Querier, text string, args ...any) []int {
	t.Helper()
	out, err := Column[int](t.Context(), db, text, args...)
	if err != nil {
		t.Fatalf("%.60s: %v", text, err)
	}
	return out
}

// A text is prepared once, in transactions and outside, also after an error and with
// other arguments, and is prepared again by SQLite if the schema has changed.
func TestStatements_Once(t *testing.T) {
	db, conn := openCounting(t)
	const text = `SELECT i FROM n WHERE i >= $1 ORDER BY i`
	const unique = `INSERT INTO u VALUES ($1)`
	for from := 1; from <= 3; from++ {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		want := []int{1, 2, 3}[from-1:]
		if got := numbers(t, tx, text, from); !slices.Equal(got, want) {
			t.Errorf("from %d: %v", from, got)
		}
		if err := [...]func() error{tx.Commit, tx.Rollback}[from%2](); err != nil {
			t.Error(err)
		}
		if got := numbers(t, db, text, from); !slices.Equal(got, want) {
			t.Errorf("from %d: %v", from, got)
		}
	}
	for _, change := range []string{`CREATE TABLE u (i INTEGER UNIQUE)`, `ALTER TABLE n RENAME TO old`, `CREATE TABLE n (i INTEGER)`, `INSERT INTO n VALUES (7)`} {
		if _, err := db.Exec(change); err != nil {
			t.Fatal(err)
		}
	}
	if got := numbers(t, db, text, 1); !slices.Equal(got, []int{7}) {
		t.Errorf("after another table has taken the name: %v, want 7", got)
	}
	for i, isNew := range []bool{true, false, false} {
		if _, err := db.Exec(unique, 1); (err == nil) != isNew {
			t.Errorf("insert %d: %v", i, err)
		}
	}
	if _, err := db.Exec(unique, 2); err != nil {
		t.Errorf("another value: %v", err)
	}
	if _, err := db.Exec(`ALTER TABLE n ADD COLUMN j INTEGER DEFAULT 8`); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, db, `SELECT j FROM n`); !slices.Equal(got, []int{8}) {
		t.Errorf("a new column: %v, want 8", got)
	}
	for _, text := range []string{text, unique, `BEGIN`, `COMMIT`, `ROLLBACK`} {
		n := 0
		for _, prepared := range conn.texts {
			n += strings.Count(prepared, text)
		}
		if n != 1 {
			t.Errorf("%s: prepared %d times, want once", text, n)
		}
	}
}

// A commit that fails ends its transaction, so that the next one can begin: a deferred foreign key is checked by COMMIT.
func TestStatements_FailedCommit(t *testing.T) {
	db, _ := openCounting(t)
	for _, text := range []string{`PRAGMA foreign_keys = 1`, `CREATE TABLE u (i INTEGER UNIQUE)`, `CREATE TABLE r (i REFERENCES u (i) DEFERRABLE INITIALLY DEFERRED)`} {
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		row     int
		succeed bool
	}{{7, false}, {8, true}} {
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`INSERT INTO u SELECT 8 WHERE $1 > 0`, `INSERT INTO r VALUES ($1)`} {
			if _, err := tx.Exec(text, c.row); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); (err == nil) != c.succeed {
			t.Errorf("a reference to %d: %v", c.row, err)
		}
	}
	if got := numbers(t, db, `SELECT i FROM r`); !slices.Equal(got, []int{8}) {
		t.Errorf("%v, want 8", got)
	}
}

// A text can be executed again while its rows are open. Each of 3 rows reads the 3 rows.
func TestStatements_Nested(t *testing.T) {
	db, conn := openCounting(t)
	const text = `SELECT i FROM n WHERE i > $1 ORDER BY i`
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	for range 3 {
		var got []string
		err := Query(t.Context(), tx, func(rows *sql.Rows) error {
			var outer int
			err := rows.Scan(&outer)
			got = append(got, fmt.Sprint(outer, numbers(t, tx, text, outer)))
			return err
		}, text, 0)
		if want := []string{"1 [2 3]", "2 [3]", "3 []"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	// Rows that are closed before their end, twice, leave the statement usable.
	for range 2 {
		rows, err := tx.Query(text, 0)
		if err != nil {
			t.Fatal(err)
		}
		rows.Next()
		_, _ = rows.Close(), rows.Close()
	}
	if got := numbers(t, tx, text, 0); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("%v, want 1, 2, 3", got)
	}
	if conn.open != 4 { // of the table, its rows, the beginning of the transaction and the query
		t.Errorf("%d statements are open, want 4", conn.open)
	}
}

// A pragma is executed each time.
func TestStatements_Pragma(t *testing.T) {
	db, _ := openCounting(t)
	for i, size := range []int{10, 20, 10, 20} {
		if _, err := db.Exec(fmt.Sprintf(`PRAGMA cache_size = %d`, size)); err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, db, `pragma cache_size`); !slices.Equal(got, []int{size}) {
			t.Errorf("change %d: cache_size is %v, want %d", i, got, size)
		}
	}
}

// The number of prepared statements is bounded. Texts that are executed once do not
// replace those that are executed repeatedly, very long texts are not kept, and a
// statement that is replaced while its rows are open is closed after them.
func TestStatements_Bound(t *testing.T) {
	db, conn := openCounting(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	const frequent, reading = `SELECT 1`, `SELECT i AS reading FROM n`
	numbers(t, tx, frequent)
	numbers(t, tx, frequent)
	var got []int
	err = Query(t.Context(), tx, func(rows *sql.Rows) error {
		var i int
		err := rows.Scan(&i)
		got = append(got, i)
		for n := range 1000 {
			numbers(t, tx, fmt.Sprintf(`SELECT %d + %d`, n, i*1000))
		}
		return err
	}, reading)
	if err != nil || !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("rows of a replaced statement: %v, %v, want 1, 2, 3", got, err)
	}
	if conn.open != newStatements+1 { // and the frequent one
		t.Errorf("%d statements are open after 3,000 texts, want %d", conn.open, newStatements+1)
	}
	prepared := len(conn.texts)
	numbers(t, tx, frequent)
	numbers(t, tx, `SELECT 5 /*`+strings.Repeat("x", maxStatementText)+`*/`)
	if len(conn.texts) != prepared {
		t.Errorf("%.60s was prepared", conn.texts[prepared:])
	}
	for n := range 1000 {
		numbers(t, tx, fmt.Sprintf(`SELECT %d`, n))
		numbers(t, tx, fmt.Sprintf(`SELECT %d`, n))
	}
	if want := repeatedStatements + newStatements; conn.open > want || conn.open < repeatedStatements {
		t.Errorf("%d statements are open after 1,000 repeated texts, want at most %d", conn.open, want)
	}
	_ = tx.Rollback()
	if err := db.Close(); err != nil || conn.open != 0 {
		t.Errorf("%d statements are open after Close: %v", conn.open, err)
	}
}

// Goroutines read and write with the same texts; some of their queries are canceled.
func TestStatements_Concurrent(t *testing.T) {
	db, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.Write.Exec(`CREATE TABLE n (i INTEGER)`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers, each = 4, 25
	for range writers {
		wg.Go(func() {
			for i := range each {
				err := db.InWrite(t.Context(), func(tx *sql.Tx) error {
					_, err := tx.Exec(`INSERT INTO n VALUES ($1)`, i)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for i := range each {
				ctx, cancel := context.WithCancel(t.Context())
				rows, err := db.Read.QueryContext(ctx, `SELECT i FROM n WHERE i >= $1`, i)
				if err == nil {
					cancel() // while the rows are open
					_ = rows.Close()
				}
				cancel()
				found, err := Column[int](t.Context(), db.Read, `SELECT i FROM n WHERE i >= $1`, i)
				if err != nil || slices.ContainsFunc(found, func(n int) bool { return n < i }) {
					t.Errorf("from %d: %v, %v", i, found, err)
				}
			}
		})
	}
	wg.Wait()
	if found, err := Column[int](t.Context(), db.Read, `SELECT i FROM n WHERE i >= $1`, 0); err != nil || len(found) != writers*each {
		t.Errorf("%d rows, %v, want %d", len(found), err, writers*each)
	}
}
