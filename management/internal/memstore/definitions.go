package memstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

func copyDefinition(kind management.DefinitionKind, d management.Definition) management.Definition {
	d.Key, d.Record, d.Meta = clean(d.Key), object(d.Record), object(d.Meta)
	if kind == management.CohortDefinition {
		d.Key = ""
	}
	return d
}

// Definition implements management.Tx.
func (t *tx) Definition(kind management.DefinitionKind, projectID, id int64) (*management.Definition, error) {
	d, there := t.definitions[definitionName{kind, projectID, id}]
	if !there {
		return nil, nil
	}
	d = copyDefinition(kind, d)
	return &d, nil
}

// DefinitionByKey implements management.Tx.
func (t *tx) DefinitionByKey(kind management.DefinitionKind, projectID int64, key string) (*management.Definition, error) {
	for name, d := range t.definitions {
		if name.kind == kind && name.project == projectID && d.Key == clean(key) && !d.Deleted {
			return t.Definition(kind, projectID, name.id)
		}
	}
	return nil, nil
}

// Definitions implements management.Tx.
func (t *tx) Definitions(q management.DefinitionQuery) ([]management.Definition, int, error) {
	var list []management.Definition
	for name, d := range t.definitions {
		if name.kind == q.Kind && name.project == q.Project && d.Deleted == q.Deleted {
			list = append(list, copyDefinition(q.Kind, d))
		}
	}
	slices.SortFunc(list, func(a, b management.Definition) int { return cmp.Compare(b.ID, a.ID) })
	if q.Match != nil {
		list = slices.DeleteFunc(page(list, 0, 0), func(d management.Definition) bool { return !q.Match(&d) })
	}
	return page(list, q.Offset, q.Limit), len(list), nil
}

// NumberDefinitions implements management.Tx.
func (t *tx) NumberDefinitions(kind management.DefinitionKind, n int) (first int64, err error) {
	name := fmt.Sprint("definitions", kind)
	for of := range t.definitions {
		if of.kind == kind && t.writes {
			t.numbers[name] = max(t.numbers[name], of.id) // files have numbers of their own
		}
	}
	return t.NextMany(name, int64(n))
}

// PutDefinition implements management.Tx.
func (t *tx) PutDefinition(kind management.DefinitionKind, projectID int64, d *management.Definition) (err error) {
	if d.ID == 0 {
		if d.ID, err = t.NumberDefinitions(kind, 1); err != nil {
			return err
		}
	}
	return t.PutDefinitions(kind, projectID, []*management.Definition{d})
}

// PutDefinitions implements management.Tx.
func (t *tx) PutDefinitions(kind management.DefinitionKind, projectID int64, list []*management.Definition) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	for _, d := range list {
		t.definitions[definitionName{kind, projectID, d.ID}] = copyDefinition(kind, *d)
		t.changed[projectID] = true
	}
	return nil
}

// DropDefinition implements management.Tx.
func (t *tx) DropDefinition(kind management.DefinitionKind, projectID, id int64) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	delete(t.definitions, definitionName{kind, projectID, id})
	t.changed[projectID] = true
	return nil
}

// DefinitionTotals implements management.Tx.
func (t *tx) DefinitionTotals(projectID int64) (out management.DefinitionTotals, err error) {
	for name, d := range t.definitions {
		switch {
		case name.project != projectID || d.Deleted:
			continue
		case name.kind == management.FlagDefinition:
			out.Flags++
		default:
			out.Cohorts++
		}
		out.Bytes += int64(len(d.Record) + len(d.Meta))
	}
	return out, nil
}

// AddMembers implements management.Tx.
func (t *tx) AddMembers(projectID, cohort int64, distinctIDs []string) error {
	return t.setMembers(projectID, cohort, distinctIDs, func(m member) { t.members[m] = true })
}

// RemoveMembers implements management.Tx.
func (t *tx) RemoveMembers(projectID, cohort int64, distinctIDs []string) error {
	return t.setMembers(projectID, cohort, distinctIDs, func(m member) { delete(t.members, m) })
}

func (t *tx) setMembers(projectID, cohort int64, distinctIDs []string, set func(member)) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	for _, id := range distinctIDs {
		set(member{projectID, cohort, clean(id)})
	}
	t.changed[projectID] = true
	return nil
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

// Members implements management.Tx.
func (t *tx) Members(projectID, cohort int64, after string, limit int) ([]string, error) {
	list := slices.DeleteFunc(t.listed(projectID, cohort), func(id string) bool { return id <= clean(after) })
	return list[:min(max(limit, 0), len(list))], nil
}

// MembersAmong implements management.Tx.
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

// SamePersons implements management.Tx.
func (t *tx) SamePersons(projectID int64, distinctIDs []string) ([]string, error) {
	persons, ids := t.people(projectID, distinctIDs)
	ids = append(ids, slices.Concat(persons...)...)
	slices.Sort(ids)
	return ids, nil
}

// CountMembers implements management.Tx.
func (t *tx) CountMembers(projectID, cohort int64) (int, error) {
	persons, nobody := t.people(projectID, t.listed(projectID, cohort))
	return len(persons) + len(nobody), nil
}

// MembersOf implements management.Tx.
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

// GroupTypes implements management.Tx.
func (t *tx) GroupTypes(projectID int64) (map[int]string, error) {
	out := map[int]string{}
	maps.Copy(out, t.outside.GroupTypes[projectID])
	return out, nil
}

// FlagCalls implements management.Tx.
func (t *tx) FlagCalls(projectID int64, key string) ([]management.FlagCall, error) {
	return slices.Clone(t.outside.FlagCalls[Flag{projectID, key}]), nil
}

// Spent implements management.Tx.
func (t *tx) Spent(projectID int64, since time.Time) (out []management.Spent, err error) {
	for _, x := range t.outside.Spent {
		if x.Project == projectID && sinceDay(x.Day, since) {
			out = append(out, x)
		}
	}
	return out, nil
}

// Usage implements management.Tx.
func (t *tx) Usage(organizationID, resource string, since time.Time) (out []management.DayUsage, err error) {
	for _, x := range t.outside.Usage[Resource{organizationID, resource}] {
		if sinceDay(x.Day, since) {
			out = append(out, x)
		}
	}
	return out, nil
}
