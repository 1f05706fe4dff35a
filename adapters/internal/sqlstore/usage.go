package sqlstore

import (
	"context"
	"database/sql"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/serving"
)

// flagsResource is the resource under which requests for flags are counted, with
// project 0.
const flagsResource = "feature_flags"

// Spend implements serving.Usage.
func (s *Store) Spend(ctx context.Context, organizationID string, when time.Time, n int64) (total int64, err error) {
	err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) error {
		// Both statements run in one transaction, so that the total includes n and the
		// row stays locked against other servers in between.
		return s.db.InQuickWrite(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO usage (organization_id, resource, day, project_id, n) VALUES ($1, $2, $3, 0, $4)
				ON CONFLICT (organization_id, resource, day, project_id) DO UPDATE SET n = usage.n + excluded.n`,
				organizationID, flagsResource, dayOf(when), n)
			if err != nil {
				return err
			}
			total, err = sumUsage(ctx, tx, organizationID, flagsResource, when)
			return err
		})
	})
	return total, database.WrapError("counting requests for flags", err)
}

// Used implements capture.UsageReader.
func (s *Store) Used(ctx context.Context, organizationID string, r capture.Resource, when time.Time) (n int64, err error) {
	err = s.db.LookUp(ctx, database.LookupTime, func(ctx context.Context) (err error) {
		n, err = sumUsage(ctx, s.db.Quick, organizationID, string(r), when)
		return err
	})
	return n, s.db.ReadError("what was counted", err)
}

// sumUsage returns the sum for the UTC calendar month of when, over all projects.
func sumUsage(ctx context.Context, db database.Querier, organizationID, resource string, when time.Time) (n int64, err error) {
	month := dayOf(when) / 100 * 100
	err = db.QueryRowContext(ctx, `SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM usage
		WHERE organization_id = $1 AND resource = $2 AND day > $3 AND day < $4`,
		organizationID, resource, month, month+100).Scan(&n)
	return n, err
}

// dayOf returns the UTC day as a number such as 20261120.
func dayOf(t time.Time) int {
	year, month, day := t.UTC().Date()
	return year*10000 + int(month)*100 + day
}

var (
	_ serving.Usage       = (*Store)(nil)
	_ capture.UsageReader = (*Store)(nil)
)
