package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// definitionTables are the tables of definitions, by kind, with the expression for
// their key and the statement that writes them. Cohorts have no key.
var definitionTables = [...]struct {
	table, key string
	put        *database.Bulk
}{
	management.FlagDefinition:   {"flag_records", "key", &putFlags},
	management.CohortDefinition: {"cohort_records", "''", &putCohorts},
}

// definitions calls visit for each definition that a condition selects.
func (t *manageTx) definitions(kind management.DefinitionKind, visit func(management.Definition), where string, args ...any) error {
	d := definitionTables[kind]
	err := database.Query(t.ctx, t.tx, func(rows *sql.Rows) error {
		var x management.Definition
		err := rows.Scan(&x.ID, &x.Key, database.ScanRawJSON(&x.Record), database.ScanRawJSON(&x.Meta), &x.Origin, &x.Deleted)
		visit(x)
		return err
	}, `SELECT id, `+d.key+`, record, meta, origin, deleted FROM `+d.table+` WHERE `+where, args...)
	return database.WrapError("reading definitions", err)
}

// Definition implements rooms.Tx. It also returns deleted definitions.
func (t *manageTx) Definition(kind management.DefinitionKind, projectID, id int64) (found *management.Definition, err error) {
	err = t.definitions(kind, func(d management.Definition) { found = &d }, `project_id = $1 AND id = $2`, projectID, id)
	return found, err
}

// DefinitionByKey implements rooms.Tx.
func (t *manageTx) DefinitionByKey(kind management.DefinitionKind, projectID int64, key string) (found *management.Definition, err error) {
	// The subquery needs only the index of keys, which contains the ids. In a query for
	// all columns SQLite prefers to scan all flags of the project.
	err = t.definitions(kind, func(d management.Definition) { found = &d },
		`project_id = $1 AND id IN (SELECT id FROM `+definitionTables[kind].table+` WHERE project_id = $1 AND `+definitionTables[kind].key+` = $2 AND deleted = 0)`,
		projectID, database.CleanText(key))
	return found, err
}

// Definitions implements rooms.Tx. The count is the number of all matching definitions,
// of at most management.MaxScan if the query has a filter in Go.
func (t *manageTx) Definitions(q management.DefinitionQuery) (page []management.Definition, count int, err error) {
	const condition = `project_id = $1 AND deleted = $2`
	table, args := definitionTables[q.Kind].table, []any{q.Project, database.BoolToInt(q.Deleted)}
	// The subquery needs only an index, as in DefinitionByKey.
	where := func(limit, offset int) string {
		return fmt.Sprintf(`project_id = $1 AND id IN (SELECT id FROM %s WHERE %s ORDER BY id DESC LIMIT %d OFFSET %d) ORDER BY id DESC`, table, condition, limit, offset)
	}
	if q.Match == nil {
		if _, err := t.queryRow("counting definitions", `SELECT COUNT(*) FROM `+table+` WHERE `+condition, args, &count); err != nil {
			return nil, 0, err
		}
		err = t.definitions(q.Kind, func(d management.Definition) { page = append(page, d) }, where(pageLimit(q.Limit), max(q.Offset, 0)), args...)
		return page, count, err
	}
	err = t.definitions(q.Kind, func(d management.Definition) {
		if !q.Match(&d) {
			return
		}
		if count >= q.Offset && (q.Limit <= 0 || count < q.Offset+q.Limit) {
			page = append(page, d)
		}
		count++
	}, where(management.MaxScan, 0), args...)
	return page, count, err
}

// PutDefinition implements rooms.Tx. If the id is 0, it assigns one.
func (t *manageTx) PutDefinition(kind management.DefinitionKind, projectID int64, d *management.Definition) error {
	before, err := t.readSize(kind, projectID, d.ID)
	if err == nil && d.ID == 0 {
		d.ID, err = t.ReserveDefinitionIDs(kind, 1)
	}
	if err == nil {
		err = t.saveDefinitions(kind, projectID, []*management.Definition{d})
	}
	if err != nil {
		return err
	}
	t.addToTotals(kind, projectID, before, -1)
	if !d.Deleted {
		t.addToTotals(kind, projectID, definitionSize{1, int64(len(database.JSONOrDefault(d.Record, "{}")) + len(database.JSONOrDefault(d.Meta, "{}")))}, 1)
	}
	return nil
}

// DeleteDefinition implements rooms.Tx. It deletes the row.
func (t *manageTx) DeleteDefinition(kind management.DefinitionKind, projectID, id int64) error {
	before, err := t.readSize(kind, projectID, id)
	if err != nil {
		return err
	}
	t.addToTotals(kind, projectID, before, -1)
	t.markChanged(projectID)
	return t.exec("deleting a definition", `DELETE FROM `+definitionTables[kind].table+` WHERE project_id = $1 AND id = $2`, projectID, id)
}

// AddMembers implements rooms.Tx.
func (t *manageTx) AddMembers(projectID, cohort int64, distinctIDs []string) error {
	t.markChanged(projectID)
	return t.bulk("adding members", &insertMembers, nil, len(distinctIDs), func(args []any, i int) []any {
		return append(args, projectID, database.CleanText(distinctIDs[i]), cohort)
	})
}

// RemoveMembers implements rooms.Tx.
func (t *manageTx) RemoveMembers(projectID, cohort int64, distinctIDs []string) error {
	t.markChanged(projectID)
	return t.bulk("removing members", &deleteMembers, []any{projectID, cohort}, len(distinctIDs), func(args []any, i int) []any {
		return append(args, database.CleanText(distinctIDs[i]))
	})
}

// Members implements rooms.Tx.
func (t *manageTx) Members(projectID, cohort int64, after string, limit int) ([]string, error) {
	out, err := database.Column[string](t.ctx, t.tx, `SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id > $3
		ORDER BY distinct_id LIMIT $4`, projectID, cohort, database.CleanText(after), limit)
	return out, database.WrapError("listing members", err)
}

// findMembers selects the members of a cohort among some distinct ids.
var findMembers = database.NewLookup(`SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id`, 2)

// FilterMembers implements rooms.Tx. The result is sorted.
func (t *manageTx) FilterMembers(projectID, cohort int64, distinctIDs []string) ([]string, error) {
	out, err := t.queryColumn("looking for members", &findMembers, []any{projectID, cohort}, distinctIDs)
	slices.Sort(out)
	return out, err
}

// CountMembers implements rooms.Tx. It counts persons; a distinct id without a person
// counts as a person.
func (t *manageTx) CountMembers(projectID, cohort int64) (n int, err error) {
	_, err = t.queryRow("counting members", `SELECT COUNT(DISTINCT d.person_uuid) + SUM(CASE WHEN d.person_uuid IS NULL THEN 1 ELSE 0 END)
		FROM cohort_members m LEFT JOIN distinct_ids d ON d.project_id = m.project_id AND d.distinct_id = m.distinct_id
		WHERE m.project_id = $1 AND m.cohort_id = $2 HAVING COUNT(*) > 0`, []any{projectID, cohort}, &n)
	return n, err
}

// GroupTypes implements rooms.Tx.
func (t *manageTx) GroupTypes(projectID int64) (map[int]string, error) {
	out := map[int]string{}
	err := database.Query(t.ctx, t.tx, func(rows *sql.Rows) error {
		var index int
		var name string
		err := rows.Scan(&index, &name)
		out[index] = name
		return err
	}, `SELECT type_index, name FROM group_types WHERE project_id = $1`, projectID)
	return out, database.WrapError("reading group types", err)
}

// FlagCalls implements rooms.Tx.
func (t *manageTx) FlagCalls(projectID int64, key string) ([]management.FlagCall, error) {
	return listRows(t, "reading calls of a flag", func(c *management.FlagCall) []any {
		return []any{&c.Value, &c.Calls, database.ScanTime(&c.First), database.ScanTime(&c.Last)}
	}, `SELECT value, calls, first_called_at, last_called_at FROM flag_calls WHERE project_id = $1 AND flag_key = $2 ORDER BY value`, projectID, database.CleanText(key))
}

// LastCalls implements rooms.Tx.
func (t *manageTx) LastCalls(projectID int64) (map[string]time.Time, error) {
	type last struct {
		flag string
		at   time.Time
	}
	rows, err := listRows(t, "reading when flags were called", func(l *last) []any { return []any{&l.flag, database.ScanTime(&l.at)} },
		`SELECT flag_key, MAX(last_called_at) FROM flag_calls WHERE project_id = $1 GROUP BY flag_key`, projectID)
	out := make(map[string]time.Time, len(rows))
	for _, l := range rows {
		out[l.flag] = l.at
	}
	return out, err
}

// UnseenEvents implements rooms.Tx.
func (t *manageTx) UnseenEvents(projectID int64, names []string) (unseen []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	const what = "reading names of events"
	const ofProject = `SELECT name FROM seen_names WHERE project_id = $1 AND kind = $2 AND group_index = 0`
	args := []any{projectID, int(capture.SeenEvent)}
	for _, name := range names {
		args = append(args, database.CleanText(name))
	}
	text := func(name *string) []any { return []any{name} }
	seen, err := listRows(t, what, text, ofProject+` AND name IN (`+database.Placeholders(3, len(names))+`)`, args...)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.Contains(seen, database.CleanText(name)) {
			unseen = append(unseen, name)
		}
	}
	if len(seen) > 0 || len(unseen) == 0 {
		return unseen, nil
	}
	if seen, err = listRows(t, what, text, ofProject+` LIMIT 1`, args[:2]...); len(seen) == 0 {
		return nil, err
	}
	return unseen, err
}

// Usage implements rooms.Tx.
func (t *manageTx) Usage(organizationID, resource string, since time.Time) ([]organizations.DayUsage, error) {
	return listRows(t, "reading usage", func(u *organizations.DayUsage) []any { return []any{database.ScanDay(&u.Day), &u.Project, &u.N} },
		`SELECT day, project_id, n FROM usage WHERE organization_id = $1 AND resource = $2 AND day >= $3 ORDER BY day, project_id`,
		database.CleanText(organizationID), resource, dayOf(since))
}
