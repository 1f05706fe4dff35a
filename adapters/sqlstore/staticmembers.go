package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// membersText reads the members of the cohorts that %s lists. Only cohorts whose
// listed members are within the limit $3 together, the smallest first, are looked
// at, and $2, which is one more, bounds what is counted of each. Rows of kind 0
// name a cohort, those of kind 1 its distinct ids: all ids of the persons who are
// listed, and listed ids of nobody. CROSS JOIN keeps SQLite to the order of the
// tables.
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

// membersReader reads the rows of membersText.
type membersReader struct {
	limit        flags.MembersLimit
	out          map[int64][]string
	count, bytes int
	enough       bool
}

func newMembersReader(limit flags.MembersLimit) *membersReader {
	return &membersReader{limit: limit, out: map[int64][]string{}}
}

// query is membersText for at least one cohort, and its arguments.
func (m *membersReader) query(projectID int64, cohorts []int64) (string, []any) {
	var list strings.Builder
	for i, id := range cohorts {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString("(" + strconv.FormatInt(id, 10) + ")")
	}
	return fmt.Sprintf(membersText, list.String()), []any{projectID, m.limit.IDs + 1, m.limit.IDs, m.limit.IDs + len(cohorts) + 1}
}

func (m *membersReader) scan(rows *sql.Rows) error {
	var n, cohort int64
	var kind int
	var id string
	if err := rows.Scan(&n, &cohort, &kind, &id); err != nil || m.enough {
		return err
	}
	if kind == 0 {
		m.out[cohort] = []string{}
		return nil
	}
	m.count, m.bytes = m.count+1, m.bytes+len(id)
	if m.enough = m.count > m.limit.IDs || m.bytes > m.limit.Bytes; m.enough {
		delete(m.out, cohort)
		return nil
	}
	m.out[cohort] = append(m.out[cohort], id)
	return nil
}

// StaticMembers implements flags.Members. The size of a cohort is the number of
// its members that are listed.
func (s *Store) StaticMembers(ctx context.Context, projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	m := newMembersReader(limit)
	if len(cohorts) == 0 {
		return m.out, nil
	}
	text, args := m.query(projectID, cohorts)
	err := s.lookUp(ctx, 5*lookupTime, func(ctx context.Context) error { // there may be many
		return query(ctx, s.quick, m.scan, text, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("reading the members of static cohorts: %w", s.dialect.explain(err))
	}
	return m.out, nil
}

var _ flags.Members = (*Store)(nil)
