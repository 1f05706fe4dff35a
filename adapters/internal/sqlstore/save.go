package sqlstore

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// Save implements capture.Tx.
func (t *ledgerTx) Save(c *capture.Changes) error {
	t.saved = append(t.saved, c)
	for _, step := range []struct {
		what string
		do   func(*capture.Changes) error
	}{
		{"places in a stream", t.saveMoves}, // first, because the rest is not needed if it fails
		{"group types", t.saveGroupTypes},
		{"groups", t.saveGroups},
		{"persons", t.savePersons},
		{"merges", t.saveMerges},
		{"distinct ids", t.saveIDs},
		{"changes of persons", t.savePersonChanges},
		{"events", t.saveEvents},
		{"what answers rest on", t.saveRewritten},
		{"flag calls", t.saveCalls},
		{"names", t.saveSeen},
		{"warnings", t.saveWarnings},
		{"usage", t.saveUsage},
		{"counters", t.saveCounts},
	} {
		if err := step.do(c); err != nil {
			return fmt.Errorf("saving %s: %w", step.what, err)
		}
	}
	return nil
}

var insertGroupTypes = database.NewInsert(`INSERT INTO group_types (project_id, type_index, name, created_at)`, 4, "")

// saveGroupTypes inserts new group types, and increments the revision of their
// projects.
func (t *ledgerTx) saveGroupTypes(c *capture.Changes) error {
	now := database.Micros(t.store.now())
	var changed []int64
	for i := range c.GroupTypes {
		changed = append(changed, c.GroupTypes[i].ProjectID)
	}
	slices.Sort(changed) // the order in which every transaction locks projects
	changed = slices.Compact(changed)
	for _, project := range changed { // group types are part of the compiled definitions
		if _, err := t.Exec(`UPDATE projects SET revision = revision + 1 WHERE id = $1`, project); err != nil {
			return err
		}
	}
	if err := t.store.notifyServers(t.Ctx, t.SQL, changed); err != nil {
		return err
	}
	return t.Insert(&insertGroupTypes, len(c.GroupTypes), func(args []any, i int) []any {
		g := &c.GroupTypes[i]
		return append(args, g.ProjectID, g.Index, g.Name, now)
	})
}

var upsertGroups = database.NewInsert(`INSERT INTO stored_groups (project_id, type_index, key, created_at, properties)`, 5,
	`ON CONFLICT (project_id, type_index, key) DO UPDATE SET created_at = excluded.created_at, properties = excluded.properties`)

// saveGroups inserts or replaces groups.
func (t *ledgerTx) saveGroups(c *capture.Changes) error {
	type key struct {
		project int64
		id      capture.GroupID
	}
	list := lastByKey(c.Groups, func(g *capture.ProjectGroup) key { return key{g.ProjectID, g.GroupID} })
	return t.Insert(&upsertGroups, len(list), func(args []any, i int) []any {
		g := &list[i]
		return append(args, g.ProjectID, g.Type, g.Key, database.Micros(g.CreatedAt), g.Properties.String())
	})
}

var (
	moveIDs       = `UPDATE distinct_ids SET person_uuid = $3 WHERE project_id = $1 AND person_uuid = $2`
	moveOverrides = `UPDATE flag_overrides SET person_uuid = $3 WHERE project_id = $1 AND person_uuid = $2
	AND flag_key NOT IN (SELECT flag_key FROM flag_overrides WHERE project_id = $1 AND person_uuid = $3)`
	deleteOverrides = `DELETE FROM flag_overrides WHERE project_id = $1 AND person_uuid = $2`
	findOverridden  = database.NewFind(`person_uuid`, `flag_overrides WHERE project_id = $1`, `person_uuid`, database.BytesKey, 1)
	deletePersons   = database.NewLookup(`DELETE FROM persons WHERE project_id = $1 AND uuid`, 1)
)

// saveMerges assigns the distinct ids and flag overrides of merged persons to the
// other ones, whose own overrides have precedence (§10.5), and deletes the merged
// persons. Static cohorts contain distinct ids and need no change.
func (t *ledgerTx) saveMerges(c *capture.Changes) error {
	return forEachProject(groupByProject(c.Merges, func(m *capture.Merge) int64 { return m.ProjectID }), t.saveProjectMerges)
}

// saveProjectMerges implements saveMerges for one project.
func (t *ledgerTx) saveProjectMerges(project int64, list []*capture.Merge) error {
	from := func(args []any, i int) []any { return append(args, list[i].From[:]) }
	hasOverrides := false // of any merged person, which is rare
	err := t.Find(&findOverridden, []any{project}, len(list), from, func(*sql.Rows) error {
		hasOverrides = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, m := range list {
		if m.From == m.Into {
			return fmt.Errorf("person %s cannot be merged into itself", m.From)
		}
		if _, err := t.Exec(moveIDs, project, m.From[:], m.Into[:]); err != nil {
			return err
		}
		if !hasOverrides {
			continue
		}
		if _, err := t.Exec(moveOverrides, project, m.From[:], m.Into[:]); err != nil {
			return err
		}
		if _, err := t.Exec(deleteOverrides, project, m.From[:]); err != nil {
			return err
		}
	}
	deleted, err := t.Change(&deletePersons, []any{project}, len(list), from)
	if err == nil {
		t.count(project, database.CounterPersons, -deleted)
	}
	return err
}

var (
	insertIDs = database.NewInsert(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid)`, 3, `ON CONFLICT DO NOTHING`)
	upsertIDs = database.NewInsert(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid)`, 3,
		`ON CONFLICT (project_id, distinct_id) DO UPDATE SET person_uuid = excluded.person_uuid`)
	insertPersonless = database.NewInsert(`INSERT INTO distinct_ids (project_id, distinct_id)`, 2, `ON CONFLICT DO NOTHING`)
)

// saveIDs assigns distinct ids to persons, and inserts distinct ids without a person.
func (t *ledgerTx) saveIDs(c *capture.Changes) error {
	type key struct {
		project int64
		id      string
	}
	list := lastByKey(c.IDs, func(d *capture.ProjectID) key { return key{d.ProjectID, d.DistinctID} })
	err := forEachProject(groupByProject(list, func(d *capture.ProjectID) int64 { return d.ProjectID }), t.saveProjectIDs)
	if err != nil {
		return err
	}
	return t.Insert(&insertPersonless, len(c.Personless), func(args []any, i int) []any {
		return append(args, c.Personless[i].ProjectID, c.Personless[i].DistinctID)
	})
}

// saveProjectIDs assigns distinct ids of a project to persons, and adds the project to t.moved if some
// of them exist already: their events belong to another person from now on.
func (t *ledgerTx) saveProjectIDs(project int64, list []*capture.ProjectID) error {
	row := func(args []any, i int) []any { return append(args, project, list[i].DistinctID, list[i].Person[:]) }
	inserted, err := t.Change(&insertIDs, nil, len(list), row)
	if err != nil || inserted == int64(len(list)) {
		return err
	}
	if t.moved == nil {
		t.moved = map[int64]bool{}
	}
	t.moved[project] = true
	return t.Insert(&upsertIDs, len(list), row)
}

// saveEvents stores the events with the ids that Claim assigned to their keys.
func (t *ledgerTx) saveEvents(c *capture.Changes) error {
	if len(c.Events) != len(t.claimed) {
		return fmt.Errorf("%d events to store, but the keys of %d are claimed", len(c.Events), len(t.claimed))
	}
	if len(c.Events) == 0 {
		return nil
	}
	for i := range c.Events {
		c.Events[i].ID = t.claimed[i]
	}
	chunks, err := events.Save(&t.Tx, c.Events)
	if err != nil {
		return err
	}
	if err := t.keys.Store(&t.Tx, c.Events); err != nil {
		return err
	}
	t.newChunks += int64(chunks)
	last := t.claimed[len(t.claimed)-1]
	t.claimed = nil
	for i := range c.Events {
		t.count(c.Events[i].ProjectID, database.CounterEvents, 1)
	}
	if !t.store.db.Dialect.SingleWriter { // a sequence has the last id
		return nil
	}
	_, err = t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionEventID, last)
	return err
}
