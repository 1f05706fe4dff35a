package database

import (
	"context"
	"database/sql"
)

// Tx is a transaction of which statements are prepared, for use in many transactions.
type Tx struct {
	Ctx context.Context
	SQL *sql.Tx
	db  *DB
	// unprepared are the texts of statements to prepare after the transaction. args is
	// a reusable buffer.
	unprepared []string
	args       []any
}

// NewTx returns a Tx for a transaction, which may be nil and set later. Prepare should be
// called after its end.
func (db *DB) NewTx(ctx context.Context, tx *sql.Tx) Tx { return Tx{Ctx: ctx, SQL: tx, db: db} }

// statement returns the prepared statement for a text, or nil if it is not prepared
// yet; then it is prepared after the transaction. On PostgreSQL it returns nil, because
// pgx prepares and caches statements itself.
func (t *Tx) statement(text string) *sql.Stmt {
	if !t.db.Dialect.SingleWriter {
		return nil
	}
	l := &t.db.statements
	l.mu.Lock()
	stmt := l.byText[text]
	l.mu.Unlock()
	if stmt == nil {
		t.unprepared = append(t.unprepared, text)
		return nil
	}
	return t.SQL.StmtContext(t.Ctx, stmt)
}

// Exec executes a statement, prepared if possible.
func (t *Tx) Exec(text string, args ...any) (sql.Result, error) {
	if stmt := t.statement(text); stmt != nil {
		return stmt.ExecContext(t.Ctx, args...)
	}
	return t.SQL.ExecContext(t.Ctx, text, args...)
}

// Each runs a query and calls scan for each of its rows.
func (t *Tx) Each(scan func(rows *sql.Rows) error, text string, args ...any) error {
	stmt := t.statement(text)
	if stmt == nil {
		return Query(t.Ctx, t.SQL, scan, text, args...)
	}
	rows, err := stmt.QueryContext(t.Ctx, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, scan)
}

// maxStatements limits the number of prepared statements. The ledger has about 100
// texts.
const maxStatements = 192

// Prepare prepares the statements that the transaction found unprepared. It
// runs after the transaction, which uses the only connection that writes.
func (t *Tx) Prepare() {
	l := &t.db.statements
	for _, text := range t.unprepared {
		l.mu.Lock()
		_, exists := l.byText[text]
		full := len(l.byText) >= maxStatements
		l.mu.Unlock()
		if exists || full {
			continue
		}
		stmt, err := t.db.Write.PrepareContext(t.Ctx, text)
		if err != nil {
			return // the next transaction tries again
		}
		l.mu.Lock()
		if l.byText == nil {
			l.byText = map[string]*sql.Stmt{}
		}
		l.byText[text] = stmt
		l.mu.Unlock()
	}
}

// arguments returns the arguments for some rows, in a buffer that the next call
// overwrites; row appends the arguments of row i.
func (t *Tx) arguments(fixed []any, from, rows int, row func(args []any, i int) []any) []any {
	t.args = append(t.args[:0], fixed...)
	for i := from; i < from+rows; i++ {
		t.args = row(t.args, i)
	}
	return t.args
}

// Insert executes a bulk statement for n rows.
func (t *Tx) Insert(b *Bulk, n int, row func(args []any, i int) []any) error {
	return b.Chunks(&t.db.Dialect, n, func(text string, from, rows int) error {
		_, err := t.Exec(text, t.arguments(nil, from, rows, row)...)
		return err
	})
}

// Find runs a bulk query for n rows and calls scan for each row of the results.
func (t *Tx) Find(b *Bulk, fixed []any, n int, row func(args []any, i int) []any, scan func(rows *sql.Rows) error) error {
	return b.Chunks(&t.db.Dialect, n, func(text string, from, rows int) error {
		return t.Each(scan, text, t.arguments(fixed, from, rows, row)...)
	})
}

// FindTexts is like Find for one string argument in each row.
func (t *Tx) FindTexts(b *Bulk, texts []string, scan func(rows *sql.Rows) error, fixed ...any) error {
	return t.Find(b, fixed, len(texts), func(args []any, i int) []any { return append(args, texts[i]) }, scan)
}

// FindExisting returns the set of texts that a bulk query with one column finds.
func (t *Tx) FindExisting(b *Bulk, texts []string, fixed ...any) (map[string]bool, error) {
	existing := map[string]bool{}
	err := t.FindTexts(b, texts, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		existing[text] = true
		return err
	}, fixed...)
	return existing, err
}
