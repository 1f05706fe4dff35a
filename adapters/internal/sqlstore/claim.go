package sqlstore

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/capture"
)

// Claim implements capture.Tx. It assigns ids to the new events, which Save stores with their keys.
func (t *ledgerTx) Claim(keys []capture.EventKey) (isNew []bool, err error) {
	if t.keys != nil {
		return nil, errors.New("keys are claimed already")
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if t.keys, isNew, err = t.store.events.Claim(&t.Tx, keys, t.compared); err != nil {
		return nil, fmt.Errorf("claiming the keys of events: %w", err)
	}
	t.claimed, err = t.store.events.NextIDs(&t.Tx, t.keys.New())
	if err != nil {
		return nil, fmt.Errorf("numbering events: %w", err)
	}
	return isNew, nil
}

var findPeople = database.NewFind(`d.distinct_id, d.person_uuid, p.created_at, p.is_identified, p.version, p.properties`,
	`distinct_ids d LEFT JOIN persons p ON p.project_id = d.project_id AND p.uuid = d.person_uuid WHERE d.project_id = $1`,
	`d.distinct_id`, database.TextKey, 1)

// People implements capture.Tx. Distinct ids of the same person share one Person. An id
// without a person is Personless if it is stored, and the zero Identity otherwise.
func (t *ledgerTx) People(projectID int64, ids []string) ([]capture.Identity, error) {
	found := make(map[string]capture.Identity, len(ids))
	persons := map[capture.UUID]*capture.Person{}
	err := t.Find(&findPeople, []any{projectID}, len(ids),
		func(args []any, i int) []any { return append(args, ids[i]) },
		func(rows *sql.Rows) error {
			var id string
			var uuid []byte
			var created, identified, version sql.NullInt64
			var properties sql.NullString
			if err := rows.Scan(&id, &uuid, &created, &identified, &version, &properties); err != nil {
				return err
			}
			if !properties.Valid {
				found[id] = capture.Identity{Personless: true}
				return nil
			}
			u, err := database.UUIDOf(uuid)
			if err != nil {
				return err
			}
			// All distinct ids of one person share a Person, so that a change through
			// one is visible through all.
			if persons[u] == nil {
				object, err := capture.ParseObject(properties.String)
				if err != nil {
					return fmt.Errorf("person %s: %w", u, err)
				}
				persons[u] = &capture.Person{
					UUID: u, CreatedAt: database.FromMicros(created.Int64), Properties: object,
					Identified: identified.Int64 != 0, Version: version.Int64,
				}
			}
			found[id] = capture.Identity{Person: persons[u]}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("reading people: %w", err)
	}
	out := make([]capture.Identity, len(ids))
	for i, id := range ids {
		out[i] = found[id]
	}
	return out, nil
}

// GroupTypes implements capture.Tx. The index in the result is the index of the group
// type.
func (t *ledgerTx) GroupTypes(projectID int64) (names []string, err error) {
	err = t.Each(func(rows *sql.Rows) error { return people.AddGroupType(&names, rows) }, people.GroupTypesText, projectID)
	return names, database.WrapError("reading group types", err)
}

var findGroups = database.NewFind(`g.key, g.created_at, g.properties`, `stored_groups g WHERE g.project_id = $1 AND g.type_index = $2`, `g.key`, database.TextKey, 2)

// Groups implements capture.Tx. Groups that do not exist are nil in the result.
func (t *ledgerTx) Groups(projectID int64, keys []capture.GroupID) ([]*capture.Group, error) {
	byType := map[int][]string{}
	for _, k := range keys {
		byType[k.Type] = append(byType[k.Type], k.Key)
	}
	found := map[capture.GroupID]*capture.Group{}
	for index, list := range byType {
		err := t.Find(&findGroups, []any{projectID, index}, len(list),
			func(args []any, i int) []any { return append(args, list[i]) },
			func(rows *sql.Rows) error {
				var key, properties string
				var created int64
				if err := rows.Scan(&key, &created, &properties); err != nil {
					return err
				}
				g, err := people.StoredGroup(capture.GroupID{Type: index, Key: key}, created, properties)
				found[g.GroupID] = &g
				return err
			})
		if err != nil {
			return nil, fmt.Errorf("reading groups: %w", err)
		}
	}
	out := make([]*capture.Group, len(keys))
	for i, k := range keys {
		out[i] = found[k]
	}
	return out, nil
}
