package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
)

// saveDefinitions writes the differences of a project's group types, flags and cohorts,
// and reports whether there were any.
func (y *fileSync) saveDefinitions(p *fileProject) (changed bool, err error) {
	for _, step := range []func(*fileProject) (bool, error){y.saveGroupTypes, y.saveFlags, y.saveCohorts} {
		c, err := step(p)
		if err != nil {
			return false, err
		}
		changed = changed || c
	}
	return changed, nil
}

// saveGroupTypes adds the group types that are missing in the store. Group types that
// are not in the file stay, because events refer to their numbers.
func (y *fileSync) saveGroupTypes(p *fileProject) (changed bool, err error) {
	names, err := readGroupTypes(y.ctx, y.tx, p.ID)
	if err != nil {
		return false, err
	}
	for _, index := range slices.Sorted(maps.Keys(p.Definitions.GroupTypes)) {
		name := cleanText(p.Definitions.GroupTypes[index])
		switch other := slices.Index(names, name); {
		case index < len(names) && names[index] == name:
			continue
		case index < len(names) && names[index] != "":
			return false, fmt.Errorf("group_type_mapping: %d is %q in the file and %q in the store: give %q another number", index, name, names[index], name)
		case other >= 0 && name != "":
			return false, fmt.Errorf("group_type_mapping: %q is %d in the file and %d in the store: give it that number", name, index, other)
		}
		if err := y.exec(`INSERT INTO group_types (project_id, type_index, name, created_at) VALUES ($1, $2, $3, $4)`,
			p.ID, index, name, micros(y.store.now())); err != nil {
			return false, err
		}
		for len(names) <= index {
			names = append(names, "")
		}
		names[index], changed = name, true
	}
	return changed, nil
}

// record is a stored flag or cohort.
type record struct {
	key, text, origin string
	deleted           bool
}

// storedRecords reads the records of a project by id, including deleted ones.
func (y *fileSync) storedRecords(text string, projectID int64) (map[int64]record, error) {
	out := map[int64]record{}
	err := query(y.ctx, y.tx, func(rows *sql.Rows) error {
		var id int64
		var r record
		err := rows.Scan(&id, &r.key, &r.text, &r.origin, &r.deleted)
		out[id] = r
		return err
	}, text, projectID)
	return out, err
}

// saveFlags inserts and updates the flags of the file and softly deletes the flags that
// are no longer in it.
func (y *fileSync) saveFlags(p *fileProject) (changed bool, err error) {
	stored, err := y.storedRecords(`SELECT id, key, record, origin, deleted FROM flag_records WHERE project_id = $1`, p.ID)
	if err != nil {
		return false, err
	}
	keys := map[string]bool{}
	for _, f := range p.flags {
		keys[f.key] = true
		if old, ok := stored[f.id]; ok && old == (record{f.key, f.text, y.origin, false}) {
			continue
		}
		changed = true
		if err := y.exec(`INSERT INTO flag_records (project_id, id, key, record, origin) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (project_id, id) DO UPDATE SET key = excluded.key, record = excluded.record, origin = excluded.origin, deleted = 0`,
			p.ID, f.id, f.key, f.text, y.origin); err != nil {
			return false, err
		}
	}
	for id, old := range stored {
		// A flag from any file, even one under an earlier name, is deleted if this file
		// does not contain it. A flag from the API is replaced if the file has a flag
		// with the same key.
		replaced := old.origin != "" || old.key != "" && keys[old.key]
		if !replaced || old.deleted || slices.ContainsFunc(p.flags, func(f fileRecord) bool { return f.id == id }) {
			continue
		}
		changed = true
		if err := y.exec(`UPDATE flag_records SET deleted = 1 WHERE project_id = $1 AND id = $2`, p.ID, id); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// saveCohorts inserts and updates the cohorts of the file with their members, and
// softly deletes the cohorts that are no longer in it. Cohorts from the API stay.
func (y *fileSync) saveCohorts(p *fileProject) (changed bool, err error) {
	stored, err := y.storedRecords(`SELECT id, '', record, origin, deleted FROM cohort_records WHERE project_id = $1`, p.ID)
	if err != nil {
		return false, err
	}
	for _, c := range p.cohorts {
		membersChanged, err := y.saveMembers(p.ID, c)
		if err != nil {
			return false, fmt.Errorf("cohort %d: members: %w", c.id, err)
		}
		changed = changed || membersChanged
		if old, ok := stored[c.id]; ok && old == (record{"", c.text, y.origin, false}) {
			continue
		}
		changed = true
		if err := y.exec(`INSERT INTO cohort_records (project_id, id, record, origin) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, origin = excluded.origin, deleted = 0`,
			p.ID, c.id, c.text, y.origin); err != nil {
			return false, err
		}
	}
	for id, old := range stored {
		if old.origin == "" || old.deleted || slices.ContainsFunc(p.cohorts, func(c fileRecord) bool { return c.id == id }) {
			continue
		}
		changed = true
		if err := y.exec(`UPDATE cohort_records SET deleted = 1 WHERE project_id = $1 AND id = $2`, p.ID, id); err != nil {
			return false, err
		}
		if err := y.exec(`DELETE FROM cohort_members WHERE project_id = $1 AND cohort_id = $2`, p.ID, id); err != nil {
			return false, err
		}
	}
	return changed, nil
}

var (
	insertMembers = newInsert(`INSERT INTO cohort_members (project_id, distinct_id, cohort_id)`, 3, `ON CONFLICT DO NOTHING`)
	deleteMembers = newLookup(`DELETE FROM cohort_members WHERE project_id = $1 AND cohort_id = $2 AND distinct_id`, 2)
)

// saveMembers makes the stored members of a cohort equal to the list in the file. If
// the file has no list, the members that were added through the API stay.
func (y *fileSync) saveMembers(projectID int64, c fileRecord) (changed bool, err error) {
	if c.unlisted {
		return false, nil
	}
	stored, err := column[string](y.ctx, y.tx, `SELECT distinct_id FROM cohort_members WHERE project_id = $1 AND cohort_id = $2`, projectID, c.id)
	if err != nil {
		return false, err
	}
	var removed []string
	existing := map[string]bool{}
	for _, id := range stored {
		if existing[id] = true; !c.members[id] {
			removed = append(removed, id)
		}
	}
	var added []string
	for id := range c.members {
		if !existing[id] {
			added = append(added, id)
		}
	}
	slices.Sort(added)
	err = insertMembers.run(&y.store.dialect, nil, len(added), func(args []any, i int) []any { return append(args, projectID, added[i], c.id) }, y.exec)
	if err != nil {
		return false, err
	}
	err = deleteMembers.run(&y.store.dialect, []any{projectID, c.id}, len(removed), func(args []any, i int) []any { return append(args, removed[i]) }, y.exec)
	return len(added)+len(removed) > 0, err
}
