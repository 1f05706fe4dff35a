package memstore

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// copied is a record that shares nothing with another, as it is kept.
func copied(r management.Record) management.Record {
	r.Parent, r.ID, r.Other, r.Sort, r.Unique = clean(r.Parent), clean(r.ID), clean(r.Other), clean(r.Sort), clean(r.Unique)
	r.Data = object(r.Data)
	return r
}

// Get implements management.Tx.
func (t *tx) Get(kind, parent, id string) (*management.Record, error) {
	r, there := t.records[recordName{kind, clean(parent), clean(id)}]
	if !there {
		return nil, nil
	}
	r = copied(r)
	return &r, nil
}

// Find implements management.Tx.
func (t *tx) Find(kind, unique string) (*management.Record, error) {
	unique = clean(unique)
	for name, r := range t.records {
		if unique != "" && name.kind == kind && r.Unique == unique {
			r = copied(r)
			return &r, nil
		}
	}
	return nil, nil
}

// List implements management.Tx.
func (t *tx) List(q management.Query) ([]management.Record, int, error) {
	parent, other := clean(q.Parent), clean(q.Other)
	var list []management.Record
	for _, r := range t.records {
		here := r.Parent == parent
		if other != "" {
			here = r.Other == other
		}
		if here && r.Kind == q.Kind && r.Hidden == q.Hidden && r.Sort >= clean(q.From) && (q.To == "" || r.Sort < clean(q.To)) {
			list = append(list, copied(r))
		}
	}
	slices.SortFunc(list, func(a, b management.Record) int {
		order := cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(a.ID, b.ID))
		if q.Descending {
			return -order
		}
		return order
	})
	if q.Match != nil {
		list = slices.DeleteFunc(page(list, 0, 0), func(r management.Record) bool { return !q.Match(&r) })
	}
	return page(list, q.Offset, q.Limit), len(list), nil
}

// Put implements management.Tx.
func (t *tx) Put(r *management.Record) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	kept := copied(*r)
	other, err := t.Find(kept.Kind, kept.Unique)
	if err != nil {
		return err
	}
	if other != nil && (other.Parent != kept.Parent || other.ID != kept.ID) {
		return management.ErrTaken
	}
	t.records[recordName{kept.Kind, kept.Parent, kept.ID}] = kept
	return nil
}

// AddRecords implements management.Tx.
func (t *tx) AddRecords(list []*management.Record) error {
	for _, r := range list {
		if _, there := t.records[recordName{r.Kind, clean(r.Parent), clean(r.ID)}]; there || r.Unique != "" {
			return fmt.Errorf("memstore: the record %s %s %s is there already, or has a unique text", r.Kind, r.Parent, r.ID)
		}
		if err := t.Put(r); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements management.Tx.
func (t *tx) Delete(kind, parent, id string) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	delete(t.records, recordName{kind, clean(parent), clean(id)})
	return nil
}

// DeleteUnder implements management.Tx.
func (t *tx) DeleteUnder(kind, parent string) error {
	if err := t.mayWrite(); err != nil {
		return err
	}
	parent = clean(parent)
	for name := range t.records {
		if name.kind == kind && name.parent == parent {
			delete(t.records, name)
		}
	}
	return nil
}
