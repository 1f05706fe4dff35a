package sqlstore

import (
	"database/sql"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// versionAfterErasing is added to the last version of an erased person when a person
// with the same UUID is created (decision 17).
const versionAfterErasing = 100

var (
	insertPersons = database.NewInsert(`INSERT INTO persons (project_id, uuid, created_at, is_identified, version, properties)`, 6, `ON CONFLICT DO NOTHING`)
	upsertPersons = database.NewInsert(`INSERT INTO persons (project_id, uuid, created_at, is_identified, version, properties)`, 6,
		`ON CONFLICT (project_id, uuid) DO UPDATE SET created_at = excluded.created_at, is_identified = excluded.is_identified,
		version = excluded.version, properties = excluded.properties`)
	someErased   = `SELECT 1 FROM erased_persons WHERE project_id = $1 LIMIT 1`
	findErased   = database.NewFind(`uuid, version`, `erased_persons WHERE project_id = $1`, `uuid`, database.BytesKey, 1)
	deleteErased = `DELETE FROM erased_persons WHERE project_id = $1 AND uuid = $2`
)

// savePersons inserts or replaces persons, each in its last state if it occurs several
// times.
func (t *ledgerTx) savePersons(c *capture.Changes) error {
	type key struct {
		project int64
		id      capture.UUID
	}
	list := lastByKey(c.Persons, func(p *capture.ProjectPerson) key { return key{p.ProjectID, p.UUID} })
	return forEachProject(groupByProject(list, func(p *capture.ProjectPerson) int64 { return p.ProjectID }), t.saveProjectPersons)
}

// saveProjectPersons implements savePersons for one project, and counts the persons that
// did not exist.
func (t *ledgerTx) saveProjectPersons(project int64, list []*capture.ProjectPerson) error {
	var added, changed []*capture.ProjectPerson
	for _, p := range list {
		if p.IsNew {
			added = append(added, p)
		} else {
			changed = append(changed, p)
		}
	}
	row := func(list []*capture.ProjectPerson) func(args []any, i int) []any {
		return func(args []any, i int) []any {
			p := list[i]
			return append(args, project, p.UUID[:], database.Micros(p.CreatedAt), database.BoolToInt(p.Identified), p.Version, p.Properties.String())
		}
	}
	if err := t.setVersions(project, added); err != nil {
		return err
	}
	inserted, err := t.Change(&insertPersons, nil, len(added), row(added))
	if err != nil {
		return err
	}
	if inserted < int64(len(added)) { // IsNew does not exclude that the person exists
		changed = list
	}
	if err := t.Insert(&upsertPersons, len(changed), row(changed)); err != nil {
		return err
	}
	t.count(project, database.CounterPersons, inserted)
	return nil
}

// setVersions sets the version of new persons that were erased before.
func (t *ledgerTx) setVersions(project int64, list []*capture.ProjectPerson) error {
	if len(list) == 0 {
		return nil
	}
	some := false
	err := t.Each(func(*sql.Rows) error { some = true; return nil }, someErased, project)
	if err != nil || !some {
		return err
	}
	erased := map[capture.UUID]int64{}
	err = t.Find(&findErased, []any{project}, len(list),
		func(args []any, i int) []any { return append(args, list[i].UUID[:]) },
		func(rows *sql.Rows) error {
			var id capture.UUID
			var version int64
			err := rows.Scan(database.ScanUUID(&id), &version)
			erased[id] = version
			return err
		})
	if err != nil {
		return err
	}
	for _, p := range list {
		if last, ok := erased[p.UUID]; ok {
			p.Version = last + versionAfterErasing
			if _, err := t.Exec(deleteErased, project, p.UUID[:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastByKey returns the list with only the last of several elements with equal keys, in
// order: one statement must not write a row twice.
func lastByKey[T any, K comparable](list []T, key func(*T) K) []T {
	if len(list) < 2 {
		return list
	}
	lastIndex := make(map[K]int, len(list))
	for i := range list {
		lastIndex[key(&list[i])] = i
	}
	if len(lastIndex) == len(list) {
		return list
	}
	out := make([]T, 0, len(lastIndex))
	for i := range list {
		if lastIndex[key(&list[i])] == i {
			out = append(out, list[i])
		}
	}
	return out
}
