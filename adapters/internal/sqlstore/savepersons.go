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
	upsertPersons = database.NewInsert(`INSERT INTO persons (project_id, uuid, created_at, is_identified, version, properties)`, 6,
		`ON CONFLICT (project_id, uuid) DO UPDATE SET created_at = excluded.created_at, is_identified = excluded.is_identified,
		version = excluded.version, properties = excluded.properties`)
	findErased   = database.NewFind(`uuid, version`, `erased_persons WHERE project_id = $1`, `uuid`, database.BytesKey, 1)
	deleteErased = `DELETE FROM erased_persons WHERE project_id = $1 AND uuid = $2`
	findPersons  = database.NewFind(`uuid, version`, `persons WHERE project_id = $1`, `uuid`, database.BytesKey, 1)
)

// savePersons inserts or replaces persons, each in its last state if it occurs several
// times.
func (t *ledgerTx) savePersons(c *capture.Changes) error {
	type key struct {
		project int64
		id      capture.UUID
	}
	newPersons := map[int64][]*capture.Person{}
	for i := range c.Persons {
		if p := &c.Persons[i]; p.IsNew {
			newPersons[p.ProjectID] = append(newPersons[p.ProjectID], p.Person)
		}
	}
	for project, list := range newPersons {
		if err := t.initNewPersons(project, list); err != nil {
			return err
		}
	}
	list := lastByKey(c.Persons, func(p *capture.ProjectPerson) key { return key{p.ProjectID, p.UUID} })
	return t.Insert(&upsertPersons, len(list), func(args []any, i int) []any {
		p := &list[i]
		return append(args, p.ProjectID, p.UUID[:], database.Micros(p.CreatedAt), database.BoolToInt(p.Identified), p.Version, p.Properties.String())
	})
}

// initNewPersons counts the persons that do not exist yet, and sets the version of
// persons that were erased before.
func (t *ledgerTx) initNewPersons(project int64, list []*capture.Person) error {
	versions := func(b *database.Bulk) (map[capture.UUID]int64, error) {
		found := map[capture.UUID]int64{}
		err := t.Find(b, []any{project}, len(list),
			func(args []any, i int) []any { return append(args, list[i].UUID[:]) },
			func(rows *sql.Rows) error {
				var id capture.UUID
				var version int64
				err := rows.Scan(database.ScanUUID(&id), &version)
				found[id] = version
				return err
			})
		return found, err
	}
	erased, err := versions(&findErased)
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
	// IsNew does not exclude that the person exists; then it is counted already.
	existing, err := versions(&findPersons)
	if err != nil {
		return err
	}
	ids := map[capture.UUID]bool{}
	for _, p := range list {
		if _, ok := existing[p.UUID]; !ok {
			ids[p.UUID] = true
		}
	}
	return t.Count(project, database.CounterPersons, int64(len(ids)))
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
