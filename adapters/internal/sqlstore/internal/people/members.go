package people

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// membersText selects the members of the cohorts in %s. Beginning with the smallest,
// only cohorts are read whose listed members together are within the limit $3; at most
// $2 members, which is one more, are counted in each. Rows of kind 0 name a cohort,
// rows of kind 1 its distinct ids: all distinct ids of persons with a listed id, and
// listed ids without a person. CROSS JOIN makes SQLite join the tables in the written
// order.
const membersText = `WITH c(id) AS (VALUES %s),
	counted AS (SELECT id, (SELECT COUNT(*) FROM (SELECT 1 FROM cohort_members m WHERE m.project_id = $1 AND m.cohort_id = c.id LIMIT $2) found) AS n FROM c),
	ranked AS (SELECT id, n, SUM(n) OVER (ORDER BY n, id) AS total FROM counted),
	fitting AS (SELECT id, n FROM ranked WHERE total <= $3),
	people AS (SELECT DISTINCT f.id, f.n, d.person_uuid FROM fitting f CROSS JOIN cohort_members m CROSS JOIN distinct_ids d
		WHERE m.project_id = $1 AND m.cohort_id = f.id
		AND d.project_id = $1 AND d.distinct_id = m.distinct_id AND d.person_uuid IS NOT NULL)
	SELECT n, id, 0 AS kind, '' AS distinct_id FROM fitting
	UNION ALL SELECT p.n, p.id, 1, o.distinct_id FROM people p CROSS JOIN distinct_ids o
		WHERE o.project_id = $1 AND o.person_uuid = p.person_uuid
	UNION ALL SELECT f.n, f.id, 1, m.distinct_id FROM fitting f CROSS JOIN cohort_members m
		WHERE m.project_id = $1 AND m.cohort_id = f.id
		AND NOT EXISTS (SELECT 1 FROM distinct_ids d WHERE d.project_id = $1 AND d.distinct_id = m.distinct_id AND d.person_uuid IS NOT NULL)
	ORDER BY 1, 2, 3, 4 LIMIT $4`

// ReadMembers reads the members of the cohorts that fit within a limit. The cohorts
// that do not fit are missing in the result.
func ReadMembers(ctx context.Context, db database.Querier, projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	out := map[int64][]string{}
	if len(cohorts) == 0 {
		return out, nil
	}
	values := make([]string, len(cohorts))
	for i, id := range cohorts {
		values[i] = "(" + strconv.FormatInt(id, 10) + ")"
	}
	count, bytes, full := 0, 0, false
	err := database.Query(ctx, db, func(rows *sql.Rows) error {
		var n, cohort int64
		var kind int
		var id string
		if err := rows.Scan(&n, &cohort, &kind, &id); err != nil || full {
			return err
		}
		if kind == 0 {
			out[cohort] = []string{}
			return nil
		}
		// The limit counts all distinct ids of the persons, which may be more than the
		// listed members. The cohort that exceeds it is left out with all later ones.
		count, bytes = count+1, bytes+len(id)
		if full = count > limit.IDs || bytes > limit.Bytes; full {
			delete(out, cohort)
			return nil
		}
		out[cohort] = append(out[cohort], id)
		return nil
	}, fmt.Sprintf(membersText, strings.Join(values, ", ")), projectID, limit.IDs+1, limit.IDs, limit.IDs+len(cohorts)+1)
	return out, err
}

// StaticMembers implements serving.Members. The size of a cohort is the number of its
// listed members.
func (s *Store) StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit flags.MembersLimit) (out map[int64][]string, err error) {
	err = s.db.LookUp(ctx, 5*database.LookupTime, func(ctx context.Context) error { // there may be many members
		out, err = ReadMembers(ctx, s.db.Quick, projectID, cohorts, limit)
		return err
	})
	return out, s.db.ReadError("the members of static cohorts", err)
}

var _ serving.Members = (*Store)(nil)
