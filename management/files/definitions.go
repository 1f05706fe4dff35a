package files

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// saveDefinitions writes the differences of a project's group types, flags and cohorts,
// and reports whether there were any.
func (y *state) saveDefinitions(p *project) (changed bool, err error) {
	for _, step := range []func(*project) (bool, error){y.saveGroupTypes, y.saveFlags, y.saveCohorts} {
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
func (y *state) saveGroupTypes(p *project) (changed bool, err error) {
	names, err := y.tx.GroupTypes(p.ID)
	if err != nil {
		return false, err
	}
	for _, number := range slices.Sorted(maps.Keys(p.Definitions.GroupTypes)) {
		name := y.tx.Text(p.Definitions.GroupTypes[number])
		switch other := slices.Index(names, name); {
		case number < len(names) && names[number] == name:
			continue
		case number < len(names) && names[number] != "":
			return false, fmt.Errorf("group_type_mapping: %d is %q in the file and %q in the store: give %q another number", number, name, names[number], name)
		case other >= 0 && name != "":
			return false, fmt.Errorf("group_type_mapping: %q is %d in the file and %d in the store: give it that number", name, number, other)
		}
		if err := y.tx.AddGroupType(p.ID, number, name); err != nil {
			return false, err
		}
		for len(names) <= number {
			names = append(names, "")
		}
		names[number], changed = name, true
	}
	return changed, nil
}

// saveFlags inserts and updates the flags of the file and softly deletes the flags that
// are no longer in it.
func (y *state) saveFlags(p *project) (changed bool, err error) {
	stored, err := y.tx.Records(management.FlagDefinition, p.ID)
	if err != nil {
		return false, err
	}
	ids, keys := map[int64]bool{}, map[string]bool{}
	for _, f := range p.flags {
		next := Record{Key: y.tx.Text(f.key), Text: f.text, Origin: y.origin}
		ids[f.id], keys[next.Key] = true, true
		if old, ok := stored[f.id]; ok && old == next {
			continue
		}
		changed = true
		if err := y.tx.PutRecord(management.FlagDefinition, p.ID, f.id, next); err != nil {
			return false, err
		}
	}
	for id, old := range stored {
		// A flag from any file, even one under an earlier name, is deleted if this file
		// does not contain it. A flag from the API is replaced if the file has a flag
		// with the same key.
		replaced := old.Origin != "" || old.Key != "" && keys[old.Key]
		if !replaced || old.Deleted || ids[id] {
			continue
		}
		changed = true
		if err := y.tx.DeleteRecord(management.FlagDefinition, p.ID, id); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// saveCohorts inserts and updates the cohorts of the file with their members, and
// softly deletes the cohorts that are no longer in it. Cohorts from the API stay, and so
// do members that were added through the API to a cohort without a list.
func (y *state) saveCohorts(p *project) (changed bool, err error) {
	stored, err := y.tx.Records(management.CohortDefinition, p.ID)
	if err != nil {
		return false, err
	}
	ids := map[int64]bool{}
	for _, c := range p.cohorts {
		ids[c.id] = true
		if !c.unlisted {
			membersChanged, err := y.tx.SetMembers(p.ID, c.id, c.members)
			if err != nil {
				return false, fmt.Errorf("cohort %d: members: %w", c.id, err)
			}
			changed = changed || membersChanged
		}
		next := Record{Text: c.text, Origin: y.origin}
		if old, ok := stored[c.id]; ok && old == next {
			continue
		}
		changed = true
		if err := y.tx.PutRecord(management.CohortDefinition, p.ID, c.id, next); err != nil {
			return false, err
		}
	}
	for id, old := range stored {
		if old.Origin == "" || old.Deleted || ids[id] {
			continue
		}
		changed = true
		if err := y.tx.DeleteRecord(management.CohortDefinition, p.ID, id); err != nil {
			return false, err
		}
	}
	return changed, nil
}
