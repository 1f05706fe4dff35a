package memstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// copyRecord returns a copy in stored form that shares no memory with r.
func copyRecord(r management.Record) management.Record {
	r.Parent, r.ID, r.Other, r.Sort, r.Unique = clean(r.Parent), clean(r.ID), clean(r.Other), clean(r.Sort), clean(r.Unique)
	r.Data = object(r.Data)
	return r
}

// Get implements rooms.Tx.
func (t *tx) Get(kind, parent, id string) (*management.Record, error) {
	return lookup(t.records, recordName{kind, clean(parent), clean(id)}, copyRecord), nil
}

// compareRecords is the order of lists: by Sort, and for equal ones by ID.
func compareRecords(a, b management.Record) int {
	return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.ID, b.ID))
}

// Find implements rooms.Tx.
func (t *tx) Find(kind, unique string) (*management.Record, error) {
	return firstOf(filter(t.records, func(_ recordName, r management.Record) bool {
		return unique != "" && r.Kind == kind && r.Unique == clean(unique)
	}, copyRecord, compareRecords)), nil
}

// List implements rooms.Tx.
func (t *tx) List(q management.Query) ([]management.Record, int, error) {
	list := filter(t.records, func(_ recordName, r management.Record) bool {
		matches := q.Other == "" && r.Parent == clean(q.Parent) || q.Other != "" && r.Other == clean(q.Other)
		return matches && r.Kind == q.Kind && r.Hidden == q.Hidden && r.Sort >= clean(q.From) && (q.To == "" || r.Sort < clean(q.To))
	}, copyRecord, compareRecords)
	if q.Descending {
		slices.Reverse(list)
	}
	list, n := page(list, q.Match, q.Offset, q.Limit)
	return list, n, nil
}

// Put implements rooms.Tx.
func (t *tx) Put(r *management.Record) error {
	stored := copyRecord(*r)
	name := recordName{stored.Kind, stored.Parent, stored.ID}
	if other, _ := t.Find(stored.Kind, stored.Unique); other != nil && (recordName{other.Kind, other.Parent, other.ID}) != name {
		return management.ErrDuplicate
	}
	return t.write(func() { t.records[name] = stored })
}

// AddRecords implements rooms.Tx. The records must be new and have no Unique.
func (t *tx) AddRecords(list []*management.Record) error {
	for _, r := range list {
		if old, _ := t.Get(r.Kind, r.Parent, r.ID); old != nil || r.Unique != "" {
			return fmt.Errorf("memstore: the record %s %s %s is there already, or has a unique text", r.Kind, r.Parent, r.ID)
		}
		if err := t.Put(r); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements rooms.Tx.
func (t *tx) Delete(kind, parent, id string) error {
	return t.write(func() { delete(t.records, recordName{kind, clean(parent), clean(id)}) })
}

// DeleteUnder implements rooms.Tx.
func (t *tx) DeleteUnder(kind, parent string) error {
	return t.write(func() {
		maps.DeleteFunc(t.records, func(name recordName, _ management.Record) bool {
			return name.kind == kind && name.parent == clean(parent)
		})
	})
}
