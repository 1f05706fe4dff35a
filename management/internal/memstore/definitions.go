package memstore

import (
	"cmp"
	"fmt"

	"github.com/bunting-flags/bunting/management"
)

// copyDefinition returns a copy in stored form that shares no memory with d.
func copyDefinition(d management.Definition) management.Definition {
	d.Key, d.Record, d.Meta = clean(d.Key), object(d.Record), object(d.Meta)
	return d
}

// newestFirst orders definitions by descending id, as lists have them.
func newestFirst(a, b management.Definition) int { return cmp.Compare(b.ID, a.ID) }

// Definition implements rooms.Tx.
func (t *tx) Definition(kind management.DefinitionKind, projectID, id int64) (*management.Definition, error) {
	return lookup(t.definitions, definitionName{kind, projectID, id}, copyDefinition), nil
}

// DefinitionByKey implements rooms.Tx. Deleted definitions are not found by their key.
func (t *tx) DefinitionByKey(kind management.DefinitionKind, projectID int64, key string) (*management.Definition, error) {
	return firstOf(filter(t.definitions, func(name definitionName, d management.Definition) bool {
		return name.kind == kind && name.project == projectID && d.Key == clean(key) && !d.Deleted
	}, copyDefinition, newestFirst)), nil
}

// Definitions implements rooms.Tx.
func (t *tx) Definitions(q management.DefinitionQuery) ([]management.Definition, int, error) {
	list := filter(t.definitions, func(name definitionName, d management.Definition) bool {
		return name.kind == q.Kind && name.project == q.Project && d.Deleted == q.Deleted
	}, copyDefinition, newestFirst)
	list, n := page(list, q.Match, q.Offset, q.Limit)
	return list, n, nil
}

// ReserveDefinitionIDs implements rooms.Tx. Ids are unique for a kind over all projects.
func (t *tx) ReserveDefinitionIDs(kind management.DefinitionKind, n int) (first int64, err error) {
	name := fmt.Sprint("definitions", kind)
	for ids := range t.definitions {
		if ids.kind == kind && t.writes {
			t.numbers[name] = max(t.numbers[name], ids.id) // ids from definitions files count too
		}
	}
	return t.NextMany(name, int64(n))
}

// PutDefinition implements rooms.Tx.
func (t *tx) PutDefinition(kind management.DefinitionKind, projectID int64, d *management.Definition) (err error) {
	if d.ID == 0 {
		if d.ID, err = t.ReserveDefinitionIDs(kind, 1); err != nil {
			return err
		}
	}
	return t.PutDefinitions(kind, projectID, []*management.Definition{d})
}

// PutDefinitions implements rooms.Tx.
func (t *tx) PutDefinitions(kind management.DefinitionKind, projectID int64, list []*management.Definition) error {
	return t.write(func() {
		for _, d := range list {
			t.definitions[definitionName{kind, projectID, d.ID}] = copyDefinition(*d)
			t.changed[projectID] = true
		}
	})
}

// DeleteDefinition implements rooms.Tx.
func (t *tx) DeleteDefinition(kind management.DefinitionKind, projectID, id int64) error {
	return t.write(func() {
		delete(t.definitions, definitionName{kind, projectID, id})
		t.changed[projectID] = true
	})
}

// DefinitionTotals implements rooms.Tx: it counts definitions that are not deleted, and their
// bytes.
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
