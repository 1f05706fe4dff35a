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

func (t *tx) setMembers(projectID, cohort int64, distinctIDs []string, set func(member)) error {
	return t.write(func() {
		for _, id := range distinctIDs {
			set(member{projectID, cohort, clean(id)})
		}
		t.changed[projectID] = true
	})
}

// listed are the distinct ids of a static cohort, in order.
func (t *tx) listed(projectID, cohort int64) (out []string) {
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
	list := slices.DeleteFunc(t.listed(projectID, cohort), func(id string) bool { return id <= clean(after) })
	return list[:min(max(limit, 0), len(list))], nil
}

// MembersAmong implements rooms.Tx.
func (t *tx) MembersAmong(projectID, cohort int64, distinctIDs []string) ([]string, error) {
	asked := map[string]bool{}
	for _, id := range distinctIDs {
		asked[clean(id)] = true
	}
	return slices.DeleteFunc(t.listed(projectID, cohort), func(id string) bool { return !asked[id] }), nil
}

// people are the persons who have one of some distinct ids, and those of nobody.
func (t *tx) people(projectID int64, distinctIDs []string) (persons [][]string, nobody []string) {
	left := map[string]bool{}
	for _, id := range distinctIDs {
		left[clean(id)] = true
	}
	for _, ids := range t.outside.Persons[projectID] {
		if slices.ContainsFunc(ids, func(id string) bool { return left[id] }) {
			persons = append(persons, ids)
		}
	}
	for _, ids := range persons {
		for _, id := range ids {
			delete(left, id)
		}
	}
	return persons, slices.Sorted(maps.Keys(left))
}

// SamePersons implements rooms.Tx.
func (t *tx) SamePersons(projectID int64, distinctIDs []string) ([]string, error) {
	persons, ids := t.people(projectID, distinctIDs)
	ids = append(ids, slices.Concat(persons...)...)
	slices.Sort(ids)
	return ids, nil
}

// CountMembers implements rooms.Tx.
func (t *tx) CountMembers(projectID, cohort int64) (int, error) {
	persons, nobody := t.people(projectID, t.listed(projectID, cohort))
	return len(persons) + len(nobody), nil
}

// MembersOf implements rooms.Tx.
func (t *tx) MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	out, of := map[int64][]string{}, map[int64][]string{}
	for _, cohort := range cohorts {
		of[cohort] = t.listed(projectID, cohort)
	}
	smallest := slices.SortedFunc(maps.Keys(of), func(a, b int64) int { return cmp.Or(cmp.Compare(len(of[a]), len(of[b])), cmp.Compare(a, b)) })
	for _, cohort := range smallest {
		ids, err := t.SamePersons(projectID, of[cohort])
		if err != nil {
			return nil, err
		}
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
