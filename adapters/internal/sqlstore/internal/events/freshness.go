package events

import (
	"context"
	"database/sql"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/queries"
)

// State is a part of queries.States. It reads three counters by key, and is cheap enough
// for every query.
func (s *Reader) State(ctx context.Context, projectID int64) (out queries.State, err error) {
	err = database.Query(ctx, s.db.Read, func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		// Counters have names; the row of the project has an empty one.
		switch name {
		case database.CounterEvents:
			out.Events = n
		case database.CounterRewritten:
			out.Rewritten = n
		default:
			out.Revision = n
		}
		return err
	}, `SELECT name, n FROM counters WHERE project_id = $1 AND name IN ($2, $3)
		UNION ALL SELECT '', revision FROM projects WHERE id = $1`, projectID, database.CounterEvents, database.CounterRewritten)
	return out, s.db.ReadError("how fresh answers are", err)
}

// rewritten returns only the field Rewritten of State.
func (s *Reader) rewritten(ctx context.Context, projectID int64) (n int64, err error) {
	return rewrittenCount(ctx, s.db.Read, projectID)
}

// rewrittenCount returns the counter of a project that changes whenever stored events are erased or deleted.
func rewrittenCount(ctx context.Context, q database.Querier, projectID int64) (n int64, err error) {
	found, err := database.Column[int64](ctx, q, `SELECT n FROM counters WHERE project_id = $1 AND name = $2`, projectID, database.CounterRewritten)
	if len(found) == 1 {
		n = found[0]
	}
	return n, err
}
