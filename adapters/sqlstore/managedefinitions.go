package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// definitionTables are the tables of definitions, and what their keys are.
var definitionTables = [...]struct{ table, key string }{
	featureflags.FlagDefinition:   {"flag_records", "key"},
	featureflags.CohortDefinition: {"cohort_records", "''"},
}

func (t *manageTx) definitions(kind featureflags.DefinitionKind, visit func(featureflags.Definition), where string, args ...any) error {
	d := definitionTables[kind]
	err := t.each(func(rows *sql.Rows) error {
		var x featureflags.Definition
		var record, meta string
		err := rows.Scan(&x.ID, &x.Key, &record, &meta, &x.Origin, &x.Deleted)
		x.Record, x.Meta = []byte(record), []byte(meta)
		visit(x)
		return err
	}, `SELECT id, `+d.key+`, record, meta, origin, deleted FROM `+d.table+` WHERE `+where, args...)
	if err != nil {
		return fmt.Errorf("reading definitions: %w", err)
	}
	return nil
}

// Definition implements rooms.Tx.
func (t *manageTx) Definition(kind featureflags.DefinitionKind, projectID, id int64) (found *featureflags.Definition, err error) {
	err = t.definitions(kind, func(d featureflags.Definition) { found = &d }, `project_id = $1 AND id = $2`, projectID, id)
	return found, err
}

// DefinitionByKey implements rooms.Tx.
func (t *manageTx) DefinitionByKey(kind featureflags.DefinitionKind, projectID int64, key string) (found *featureflags.Definition, err error) {
	// The index of keys holds the ids. Asked for all columns SQLite would rather go
	// through the project's every flag.
	err = t.definitions(kind, func(d featureflags.Definition) { found = &d },
		`project_id = $1 AND id IN (SELECT id FROM `+definitionTables[kind].table+` WHERE project_id = $1 AND `+definitionTables[kind].key+` = $2 AND deleted = 0)`,
		projectID, cleanText(key))
	return found, err
}

// Definitions implements rooms.Tx.
func (t *manageTx) Definitions(q featureflags.DefinitionQuery) (page []featureflags.Definition, count int, err error) {
	const shown = `project_id = $1 AND deleted = $2`
	table, args := definitionTables[q.Kind].table, []any{q.Project, truth(q.Deleted)}
	// The index of what is shown holds the ids, as that of keys does.
	where := func(limit, offset int) string {
		return fmt.Sprintf(`project_id = $1 AND id IN (SELECT id FROM %s WHERE %s ORDER BY id DESC LIMIT %d OFFSET %d) ORDER BY id DESC`, table, shown, limit, offset)
	}
	if q.Match == nil {
		if _, err := t.one(`SELECT COUNT(*) FROM `+table+` WHERE `+shown, args, &count); err != nil {
			return nil, 0, fmt.Errorf("counting definitions: %w", err)
		}
		limit := q.Limit
		if limit <= 0 || limit > management.MaxScan {
			limit = management.MaxScan
		}
		err = t.definitions(q.Kind, func(d featureflags.Definition) { page = append(page, d) }, where(limit, max(q.Offset, 0)), args...)
		return page, count, err
	}
	err = t.definitions(q.Kind, func(d featureflags.Definition) {
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

// PutDefinition implements rooms.Tx.
func (t *manageTx) PutDefinition(kind featureflags.DefinitionKind, projectID int64, d *featureflags.Definition) error {
	table := definitionTables[kind].table
	before, err := t.weigh(kind, projectID, d.ID)
	if err != nil {
		return err
	}
	if d.ID == 0 {
		var highest int64
		if _, err := t.one(`SELECT COALESCE(MAX(id), 0) FROM `+table, nil, &highest); err != nil {
			return fmt.Errorf("numbering a definition: %w", err)
		}
		for d.ID <= highest { // files may have taken numbers
			if d.ID, err = t.Next(table); err != nil {
				return fmt.Errorf("numbering a definition: %w", err)
			}
			if d.ID <= highest {
				if err := t.exec(`UPDATE sequences SET n = $2 WHERE name = $1`, table, highest); err != nil {
					return fmt.Errorf("numbering a definition: %w", err)
				}
			}
		}
	}
	args := []any{projectID, d.ID, jsonOr(d.Record, "{}"), jsonOr(d.Meta, "{}"), d.Origin, truth(d.Deleted)}
	text := `INSERT INTO cohort_records (project_id, id, record, meta, origin, deleted) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted`
	if kind == featureflags.FlagDefinition {
		args = append(args, cleanText(d.Key))
		text = `INSERT INTO flag_records (project_id, id, record, meta, origin, deleted, key) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted, key = excluded.key`
	}
	if err := t.exec(text, args...); err != nil {
		return fmt.Errorf("saving a definition: %w", err)
	}
	t.reckon(kind, projectID, before, -1)
	if !d.Deleted {
		t.reckon(kind, projectID, weight{1, int64(len(args[2].(string)) + len(args[3].(string)))}, 1)
	}
	t.definitionsChanged(projectID)
	return nil
}

// DropDefinition implements rooms.Tx.
func (t *manageTx) DropDefinition(kind featureflags.DefinitionKind, projectID, id int64) error {
	before, err := t.weigh(kind, projectID, id)
	if err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM `+definitionTables[kind].table+` WHERE project_id = $1 AND id = $2`, projectID, id); err != nil {
		return fmt.Errorf("deleting a definition: %w", err)
	}
	t.reckon(kind, projectID, before, -1)
	t.definitionsChanged(projectID)
	return nil
}

// AddMembers implements rooms.Tx.
func (t *manageTx) AddMembers(projectID, cohort int64, distinctIDs []string) error {
	err := t.bulk(&insertMembers, len(distinctIDs), func(args []any, i int) []any {
		return append(args, projectID, cleanText(distinctIDs[i]), cohort)
	})
	if err != nil {
		return fmt.Errorf("adding members: %w", err)
	}
	t.definitionsChanged(projectID)
	return nil
}

// RemoveMembers implements rooms.Tx.
func (t *manageTx) RemoveMembers(projectID, cohort int64, distinctIDs []string) error {
	err := deleteMembers.chunks(&t.store.dialect, len(distinctIDs), func(text string, from, n int) error {
		args := []any{projectID, cohort}
		for _, id := range distinctIDs[from : from+n] {
			args = append(args, cleanText(id))
		}
		return t.exec(text, args...)
	})
	if err != nil {
		return fmt.Errorf("removing members: %w", err)
	}
	t.definitionsChanged(projectID)
	return nil
}

// Members implements rooms.Tx.
func (t *manageTx) Members(projectID, cohort int64, after string, limit int) (out []string, err error) {
	err = t.each(func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	}, `SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id > $3 ORDER BY distinct_id LIMIT $4`,
		projectID, cohort, cleanText(after), limit)
	if err != nil {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	return out, nil
}

// membersAmong looks for some distinct ids among the members of a cohort.
var membersAmong = lookups(`SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id`, 2, "ORDER BY distinct_id")

// MembersAmong implements rooms.Tx.
func (t *manageTx) MembersAmong(projectID, cohort int64, distinctIDs []string) (out []string, err error) {
	ids := make([]string, len(distinctIDs))
	for i, id := range distinctIDs {
		ids[i] = cleanText(id)
	}
	slices.Sort(ids)
	err = membersAmong.chunks(&t.store.dialect, len(ids), func(text string, from, n int) error {
		args := []any{projectID, cohort}
		for _, id := range ids[from : from+n] {
			args = append(args, id)
		}
		return t.each(func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			out = append(out, id)
			return err
		}, text, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for members: %w", err)
	}
	return out, nil
}

// CountMembers implements rooms.Tx.
func (t *manageTx) CountMembers(projectID, cohort int64) (n int, err error) {
	if _, err = t.one(`SELECT COUNT(DISTINCT d.person_uuid) + SUM(CASE WHEN d.person_uuid IS NULL THEN 1 ELSE 0 END)
		FROM cohort_members m LEFT JOIN distinct_ids d ON d.project_id = m.project_id AND d.distinct_id = m.distinct_id
		WHERE m.project_id = $1 AND m.cohort_id = $2 HAVING COUNT(*) > 0`, []any{projectID, cohort}, &n); err != nil {
		return 0, fmt.Errorf("counting members: %w", err)
	}
	return n, nil
}

// GroupTypes implements rooms.Tx.
func (t *manageTx) GroupTypes(projectID int64) (map[int]string, error) {
	out := map[int]string{}
	err := t.each(func(rows *sql.Rows) error {
		var index int
		var name string
		err := rows.Scan(&index, &name)
		out[index] = name
		return err
	}, `SELECT type_index, name FROM group_types WHERE project_id = $1`, projectID)
	if err != nil {
		return nil, fmt.Errorf("reading group types: %w", err)
	}
	return out, nil
}

// FlagCalls implements rooms.Tx.
func (t *manageTx) FlagCalls(projectID int64, key string) (out []featureflags.FlagCall, err error) {
	err = t.each(func(rows *sql.Rows) error {
		var c featureflags.FlagCall
		var first, last int64
		err := rows.Scan(&c.Value, &c.Calls, &first, &last)
		c.First, c.Last = fromMicros(first), fromMicros(last)
		out = append(out, c)
		return err
	}, `SELECT value, calls, first_called_at, last_called_at FROM flag_calls WHERE project_id = $1 AND flag_key = $2 ORDER BY value`, projectID, cleanText(key))
	if err != nil {
		return nil, fmt.Errorf("reading calls of a flag: %w", err)
	}
	return out, nil
}

// Usage implements rooms.Tx.
func (t *manageTx) Usage(organizationID, resource string, since time.Time) (out []organizations.DayUsage, err error) {
	err = t.each(func(rows *sql.Rows) error {
		var u organizations.DayUsage
		var day int
		err := rows.Scan(&day, &u.Project, &u.N)
		u.Day = time.Date(day/10000, time.Month(day/100%100), day%100, 0, 0, 0, 0, time.UTC)
		out = append(out, u)
		return err
	}, `SELECT day, project_id, n FROM usage WHERE organization_id = $1 AND resource = $2 AND day >= $3 ORDER BY day, project_id`,
		cleanText(organizationID), resource, dayOf(since))
	if err != nil {
		return nil, fmt.Errorf("reading usage: %w", err)
	}
	return out, nil
}
