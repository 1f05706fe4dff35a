package featureflags

import (
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// bufferedTx is a transaction in which the flags and cohorts of one project are read
// once, changed in memory, and written together by flush: many changes cost few
// statements. Versions and lines of the log wait for flush, too, and cannot be read
// before.
type bufferedTx struct {
	Tx
	project int64
	kinds   [2]definitionBuffer // by DefinitionKind
	records []*management.Record
	types   map[int]string // of groups, nil while nobody has asked
	// next to last are numbers of the log that are this transaction's.
	next, last int64
}

// definitionBuffer are the definitions of one kind.
type definitionBuffer struct {
	byID        map[int64]*Definition // those that are not deleted, and what was changed
	ids         []int64               // ascending
	keys        map[string]int64
	deleted     []Definition // deleted before, of all keys
	deletedRead bool         // gone is read
	changed     map[int64]bool
	dropped     map[int64]bool
}

func newBufferedTx(tx Tx, project int64) (*bufferedTx, error) {
	d := &bufferedTx{Tx: tx, project: project}
	for kind := range d.kinds {
		k := &d.kinds[kind]
		*k = definitionBuffer{byID: map[int64]*Definition{}, keys: map[string]int64{}, changed: map[int64]bool{}, dropped: map[int64]bool{}}
		list, _, err := tx.Definitions(DefinitionQuery{Kind: DefinitionKind(kind), Project: project})
		if err != nil {
			return nil, err
		}
		for i := range slices.Backward(list) {
			k.put(&list[i])
		}
	}
	return d, nil
}

// put makes a definition what its id and key lead to.
func (k *definitionBuffer) put(x *Definition) {
	if old := k.byID[x.ID]; old == nil {
		k.ids = append(k.ids, x.ID)
	} else if k.keys[old.Key] == x.ID {
		delete(k.keys, old.Key)
	}
	k.byID[x.ID] = x
	if !x.Deleted {
		k.keys[x.Key] = x.ID
	}
}

// Definition implements Tx.
func (d *bufferedTx) Definition(kind DefinitionKind, projectID, id int64) (*Definition, error) {
	if k := &d.kinds[kind]; projectID == d.project && k.byID[id] != nil && !k.dropped[id] {
		found := *k.byID[id]
		return &found, nil
	}
	return d.Tx.Definition(kind, projectID, id)
}

// DefinitionByKey implements Tx.
func (d *bufferedTx) DefinitionByKey(kind DefinitionKind, projectID int64, key string) (*Definition, error) {
	if projectID != d.project {
		return d.Tx.DefinitionByKey(kind, projectID, key)
	}
	id, ok := d.kinds[kind].keys[key]
	if !ok {
		return nil, nil
	}
	found := *d.kinds[kind].byID[id]
	return &found, nil
}

// Definitions implements Tx. Deleted ones are those of before.
func (d *bufferedTx) Definitions(q DefinitionQuery) (page []Definition, count int, err error) {
	if q.Project != d.project {
		return d.Tx.Definitions(q)
	}
	visit := func(x *Definition) {
		if q.Match != nil && !q.Match(x) {
			return
		}
		if count >= q.Offset && (q.Limit <= 0 || count < q.Offset+q.Limit) {
			page = append(page, *x)
		}
		count++
	}
	k := &d.kinds[q.Kind]
	if !q.Deleted {
		for _, id := range slices.Backward(k.ids) {
			if x := k.byID[id]; !x.Deleted && !k.dropped[id] {
				visit(x)
			}
		}
		return page, count, nil
	}
	if !k.deletedRead {
		if k.deleted, _, err = d.Tx.Definitions(DefinitionQuery{Kind: q.Kind, Project: q.Project, Deleted: true}); err != nil {
			return nil, 0, err
		}
		k.deletedRead = true
	}
	for i := range k.deleted {
		if !k.dropped[k.deleted[i].ID] {
			visit(&k.deleted[i])
		}
	}
	return page, count, nil
}

// PutDefinition implements Tx.
func (d *bufferedTx) PutDefinition(kind DefinitionKind, projectID int64, x *Definition) error {
	if projectID != d.project {
		return d.Tx.PutDefinition(kind, projectID, x)
	}
	if x.ID == 0 {
		var err error
		if x.ID, err = d.ReserveDefinitionIDs(kind, 1); err != nil {
			return err
		}
	}
	stored := *x
	d.kinds[kind].put(&stored)
	d.kinds[kind].changed[x.ID] = true
	return nil
}

// DeleteDefinition implements Tx.
func (d *bufferedTx) DeleteDefinition(kind DefinitionKind, projectID, id int64) error {
	if k := &d.kinds[kind]; projectID == d.project {
		k.dropped[id] = true
		delete(k.changed, id)
		if x := k.byID[id]; x != nil && k.keys[x.Key] == id {
			delete(k.keys, x.Key)
		}
	}
	return d.Tx.DeleteDefinition(kind, projectID, id)
}

// GroupTypes implements Tx.
func (d *bufferedTx) GroupTypes(projectID int64) (types map[int]string, err error) {
	if projectID != d.project {
		return d.Tx.GroupTypes(projectID)
	}
	if d.types == nil {
		d.types, err = d.Tx.GroupTypes(projectID)
	}
	return d.types, err
}

// Put implements Tx.
func (d *bufferedTx) Put(r *management.Record) error {
	if r.Kind != management.KindActivity && r.Kind != kindFlagVersion {
		return d.Tx.Put(r)
	}
	stored := *r
	d.records = append(d.records, &stored)
	return nil
}

// activityNumbers is how many numbers of the log are taken at a time.
const activityNumbers = 1000

// Next implements Tx.
func (d *bufferedTx) Next(name string) (n int64, err error) {
	if name != management.KindActivity {
		return d.Tx.Next(name)
	}
	if d.next == d.last {
		if d.next, err = d.NextMany(name, activityNumbers); err != nil {
			return 0, err
		}
		d.last = d.next + activityNumbers
	}
	d.next++
	return d.next - 1, nil
}

// flush writes what was changed, as far as the project may have it.
func (d *bufferedTx) flush() error {
	before, err := d.DefinitionTotals(d.project)
	if err != nil {
		return err
	}
	for kind := range d.kinds {
		k := &d.kinds[kind]
		list := make([]*Definition, 0, len(k.changed))
		for _, id := range slices.Sorted(maps.Keys(k.changed)) {
			list = append(list, k.byID[id])
		}
		if err := d.PutDefinitions(DefinitionKind(kind), d.project, list); err != nil {
			return err
		}
		clear(k.changed)
	}
	after, err := d.DefinitionTotals(d.project)
	if err != nil {
		return err
	}
	if err := checkGrowth(before, after); err != nil {
		return err
	}
	records := d.records
	d.records = nil
	return d.AddRecords(records)
}
