package database

import (
	"context"
	"database/sql"
	"errors"
)

// Tx is a transaction with methods for statements with many rows.
type Tx struct {
	Ctx context.Context
	SQL *sql.Tx
	db  *DB
	// statement is the context of the statements of the methods. On SQLite it does not end: the driver
	// starts a goroutine for each statement whose context may end, and these are short. After the end
	// of Ctx, database/sql rolls the transaction back, and the next statement fails.
	statement context.Context
	args      []any // a reusable buffer
}

// NewTx returns a Tx for a transaction, which may be nil and set later. ctx must be that with which
// the transaction begins.
func (db *DB) NewTx(ctx context.Context, tx *sql.Tx) Tx {
	t := Tx{Ctx: ctx, SQL: tx, db: db, statement: ctx}
	if db.Dialect.SingleWriter {
		t.statement = context.WithoutCancel(ctx)
	}
	return t
}

// Exec executes a statement.
func (t *Tx) Exec(text string, args ...any) (sql.Result, error) {
	result, err := t.SQL.ExecContext(t.statement, text, args...)
	return result, t.explain(err)
}

// Each runs a query and calls scan for each of its rows.
func (t *Tx) Each(scan func(rows *sql.Rows) error, text string, args ...any) error {
	return t.explain(Query(t.statement, t.SQL, scan, text, args...))
}

// explain returns the error of Ctx if it has ended the transaction.
func (t *Tx) explain(err error) error {
	if errors.Is(err, sql.ErrTxDone) && t.Ctx.Err() != nil {
		return t.Ctx.Err()
	}
	return err
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
	_, err := t.Change(b, nil, n, row)
	return err
}

// Change executes a bulk statement for n rows and returns the number of rows that it changed.
func (t *Tx) Change(b *Bulk, fixed []any, n int, row func(args []any, i int) []any) (changed int64, err error) {
	err = b.Chunks(&t.db.Dialect, n, func(text string, from, rows int) error {
		result, err := t.Exec(text, t.arguments(fixed, from, rows, row)...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		changed += n
		return err
	})
	return changed, err
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
