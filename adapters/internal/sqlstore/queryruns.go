package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
)

// BeginRun implements queries.RunStore. It reports false if the run exists, has not
// ended, and was updated after staleBefore. It also deletes old runs, so that the table
// stays within its bounds.
func (s *Store) BeginRun(ctx context.Context, r *queries.StoredRun, staleBefore time.Time, b queries.RunBounds) (isNew bool, err error) {
	err = s.db.InWrite(ctx, func(tx *sql.Tx) error {
		if err := deleteRunsBefore(ctx, tx, b.Before); err != nil {
			return err
		}
		// A row is replaced only if its run has ended or its server has stopped
		// updating it; otherwise the statement affects no row.
		result, err := tx.ExecContext(ctx, `INSERT INTO query_runs (project_id, id, server, seen_at, ended, status, result, size) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (project_id, id) DO UPDATE SET server = excluded.server, seen_at = excluded.seen_at, ended = excluded.ended,
				status = excluded.status, result = excluded.result, size = excluded.size
			WHERE query_runs.ended = 1 OR query_runs.seen_at < $9`, append(runRow(r), database.Micros(staleBefore))...)
		if err != nil {
			return err
		}
		if isNew, err = affectsOneRow(result, nil); err != nil {
			return err
		}
		// Delete the oldest runs that have ended, beyond the maximum count or the
		// maximum number of bytes of the project.
		_, err = tx.ExecContext(ctx, `DELETE FROM query_runs WHERE project_id = $1 AND ended = 1 AND seen_at <= (
			SELECT MAX(seen_at) FROM (
				SELECT seen_at, ROW_NUMBER() OVER (ORDER BY seen_at DESC, id) AS place, SUM(size) OVER (ORDER BY seen_at DESC, id) AS bytes
				FROM query_runs WHERE project_id = $1 AND ended = 1) AS kept
			WHERE place > $2 OR bytes > $3)`, r.Project, b.Count, b.Bytes)
		return err
	})
	return isNew, s.runError(err)
}

// UpdateRun implements queries.RunStore. With a single server no other server reads the
// state of a run in progress, so only its end is stored.
func (s *Store) UpdateRun(ctx context.Context, r *queries.StoredRun) (running bool, err error) {
	if s.db.Dialect.SingleWriter && !r.Ended {
		return true, nil
	}
	err = s.db.InWrite(ctx, func(tx *sql.Tx) (err error) {
		running, err = affectsOneRow(tx.ExecContext(ctx, `UPDATE query_runs SET seen_at = $4, ended = $5, status = $6, result = $7, size = $8
			WHERE project_id = $1 AND id = $2 AND server = $3 AND ended = 0`, runRow(r)...))
		return err
	})
	return running, s.runError(err)
}

// Run implements queries.RunStore. It returns nil if the run does not exist.
func (s *Store) Run(ctx context.Context, project int64, id string) (*queries.StoredRun, error) {
	found, err := database.List(ctx, s.db.Read, func(r *queries.StoredRun) []any {
		r.Project, r.ID = project, id
		return []any{&r.Server, database.ScanTime(&r.Seen), &r.Ended, database.ScanRawJSON(&r.Status), database.ScanRawJSON(&r.Result)}
	}, `SELECT server, seen_at, ended, status, result FROM query_runs WHERE project_id = $1 AND id = $2`, project, database.CleanText(id))
	if err != nil || len(found) == 0 {
		return nil, s.db.ReadError("a run of a query", err)
	}
	return &found[0], nil
}

// DeleteRuns implements queries.RunStore.
func (s *Store) DeleteRuns(ctx context.Context, before time.Time) error {
	return s.runError(s.db.InWrite(ctx, func(tx *sql.Tx) error { return deleteRunsBefore(ctx, tx, before) }))
}

// deleteRunsBefore deletes the runs of all projects that were last updated before a time.
func deleteRunsBefore(ctx context.Context, tx *sql.Tx, before time.Time) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM query_runs WHERE seen_at < $1`, database.Micros(before))
	return err
}

// runRow returns the values of the columns of a run.
func runRow(r *queries.StoredRun) []any {
	ended := 0
	if r.Ended {
		ended = 1
	}
	return []any{r.Project, database.CleanText(r.ID), r.Server, database.Micros(r.Seen), ended, string(r.Status), string(r.Result), len(r.Result)}
}

// affectsOneRow reports whether a statement affected one row.
func affectsOneRow(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// runError adds context to an error. Errors of the database itself match
// flags.ErrUnavailable.
func (s *Store) runError(err error) error {
	if err != nil && database.IsDatabaseFailure(err) {
		return fmt.Errorf("%w: keeping a run of a query: %w", flags.ErrUnavailable, s.db.Dialect.Explain(err))
	}
	return database.WrapError("keeping a run of a query", s.db.Dialect.Explain(err))
}

var _ queries.RunStore = (*Store)(nil)
