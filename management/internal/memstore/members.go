package memstore

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// AddMembers implements rooms.Tx.
func (t *tx) AddMembers(projectID, cohort int64, distinctIDs []string) error {
	return t.setMembers(projectID, cohort, distinctIDs, func(m member) { t.members[m] = true })
}

// RemoveMembers implements rooms.Tx.
func (t *tx) RemoveMembers(projectID, cohort int64, distinctIDs []string) error {
	return t.setMembers(projectID, cohort, distinctIDs, func(m member) { delete(t.members, m) })
}

// setMembers calls set for each member and marks the project's definitions as changed, since the
// members of static cohorts are a part of them.
func (t *tx) setMembers(projectID, cohort int64, distinctIDs []string, set func(member)) error {
	return t.write(func() {
		for _, id := range distinctIDs {
			set(member{projectID, cohort, clean(id)})
		}
		t.changed[projectID] = true
	})
}

// memberIDs returns the sorted distinct ids of a static cohort.
func (t *tx) memberIDs(projectID, cohort int64) (out []string) {
	for m := range t.members {
		if m.project == projectID && m.cohort == cohort {
			out = append(out, m.distinctID)
		}
	}
	slices.Sort(out)
	return out
}

// Members implements rooms.Tx.
func (t *tx) Members(projectID, cohort int64, after string, limit int) ([]string, error) {
	list := slices.DeleteFunc(t.memberIDs(projectID, cohort), func(id string) bool { return id <= clean(after) })
	return list[:min(max(limit, 0), len(list))], nil
}

// FilterMembers implements rooms.Tx.
func (t *tx) FilterMembers(projectID, cohort int64, distinctIDs []string) ([]string, error) {
	requested := map[string]bool{}
	for _, id := range distinctIDs {
		requested[clean(id)] = true
	}
	return slices.DeleteFunc(t.memberIDs(projectID, cohort), func(id string) bool { return !requested[id] }), nil
}

// personsOf returns the persons with one of some distinct ids, and the ids without a person.
func (t *tx) personsOf(projectID int64, distinctIDs []string) (persons [][]string, unmatched []string) {
	remaining := map[string]bool{}
	for _, id := range distinctIDs {
		remaining[clean(id)] = true
	}
	for _, ids := range t.external.Persons[projectID] {
		if slices.ContainsFunc(ids, func(id string) bool { return remaining[id] }) {
			persons = append(persons, ids)
		}
	}
	for _, ids := range persons {
		for _, id := range ids {
			delete(remaining, id)
		}
	}
	return persons, slices.Sorted(maps.Keys(remaining))
}

// SamePersons implements rooms.Tx: it returns all distinct ids of the persons, and the ids without
// a person.
func (t *tx) SamePersons(projectID int64, distinctIDs []string) ([]string, error) {
	persons, ids := t.personsOf(projectID, distinctIDs)
	ids = append(ids, slices.Concat(persons...)...)
	slices.Sort(ids)
	return ids, nil
}

// CountMembers implements rooms.Tx. An id without a person counts as a person.
func (t *tx) CountMembers(projectID, cohort int64) (int, error) {
	persons, unmatched := t.personsOf(projectID, t.memberIDs(projectID, cohort))
	return len(persons) + len(unmatched), nil
}

// MembersOf implements rooms.Tx: the smallest cohorts come first, until the limit is reached.
func (t *tx) MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	out, listed := map[int64][]string{}, map[int64][]string{}
	for _, cohort := range cohorts {
		listed[cohort] = t.memberIDs(projectID, cohort)
	}
	smallest := slices.SortedFunc(maps.Keys(listed), func(a, b int64) int { return cmp.Or(cmp.Compare(len(listed[a]), len(listed[b])), cmp.Compare(a, b)) })
	for _, cohort := range smallest {
		ids, err := t.SamePersons(projectID, listed[cohort])
		if err != nil {
			return nil, err
		}
		// A cohort counts with all ids of its persons, and is omitted unless it fits completely.
		limit.IDs -= len(ids)
		for _, id := range ids {
			limit.Bytes -= len(id)
		}
		if limit.IDs < 0 || limit.Bytes < 0 {
			break
		}
		out[cohort] = append([]string{}, ids...)
	}
	return out, nil
}
