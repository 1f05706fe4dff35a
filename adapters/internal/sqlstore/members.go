package sqlstore

import "github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"

// The statements for the members of static cohorts.
var (
	insertMembers = database.NewInsert(`INSERT INTO cohort_members (project_id, distinct_id, cohort_id)`, 3, `ON CONFLICT DO NOTHING`)
	deleteMembers = database.NewLookup(`DELETE FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id`, 2)
)
