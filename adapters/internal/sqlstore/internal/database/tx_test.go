package database

import (
	"context"
	"database/sql"
	"errors"
	"testing"
)

// After the end of its context, a transaction on SQLite fails with the context's error, although its
// statements do not watch the context.
func TestTx_EndOfContext(t *testing.T) {
	db, err := Open(t.Context(), "sqlite::memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	err = db.InWrite(ctx, func(tx *sql.Tx) error {
		x := db.NewTx(ctx, tx)
		_, err := x.Exec(`CREATE TABLE x (a)`)
		for cancel(); err == nil; {
			_, err = x.Exec(`INSERT INTO x VALUES (1)`)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	if _, err := db.Read.ExecContext(t.Context(), `SELECT a FROM x`); err == nil {
		t.Error("the transaction was not rolled back")
	}
}
