package featureflags

import (
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// bufferedTx is a transaction that buffers the flags and cohorts of one project: they are read
// once, changed in memory, and written together by flush, so that many changes need few
// statements. Versions of flags and entries of the activity log are buffered as well and cannot
// be read before flush. Definitions of other projects and all other records are passed through.
type bufferedTx struct {
	storeTx
	project int64
	kinds   [2]definitionBuffer // by management.DefinitionKind
	records []*management.Record
	types   map[int]string // of groups, nil before they are first read
	// The numbers from next up to, but not including, last are reserved for entries of the log.
	next, last int64
}

// definitionBuffer contains the definitions of one kind.
type definitionBuffer struct {
	// byID contains the definitions that were not deleted at the start, and all changed ones.
	byID        map[int64]*management.Definition
	ids         []int64                 // ascending
	keys        map[string]int64        // ids of the definitions that are not deleted, by key
	deleted     []management.Definition // definitions that were already deleted at the start
	deletedRead bool                    // whether deleted has been read
	changed     map[int64]bool          // ids to write in flush
	dropped     map[int64]bool          // ids that have been removed from the store
}

// newBufferedTx reads the definitions of a project that are not deleted. Deleted ones are read
// when they are first requested.
func newBufferedTx(tx storeTx, project int64) (*bufferedTx, error) {
	d := &bufferedTx{storeTx: tx, project: project}
	for kind := range d.kinds {
		k := &d.kinds[kind]
		*k = definitionBuffer{byID: map[int64]*management.Definition{}, keys: map[string]int64{}, changed: map[int64]bool{}, dropped: map[int64]bool{}}
		list, _, err := tx.Definitions(management.DefinitionQuery{Kind: management.DefinitionKind(kind), Project: project})
		if err != nil {
			return nil, err
		}
		// The store returns the newest first, but ids must be ascending.
		for i := range slices.Backward(list) {
			k.put(&list[i])
		}
	}
	return d, nil
}

// put adds a definition or replaces the one with its id, and updates the index by key.
func (k *definitionBuffer) put(x *management.Definition) {
	// New definitions have the largest id so far, so ids remains sorted.
	if old := k.byID[x.ID]; old == nil {
		k.ids = append(k.ids, x.ID)
	} else if k.keys[old.Key] == x.ID {
		// The key may have changed.
		delete(k.keys, old.Key)
	}
	k.byID[x.ID] = x
	if !x.Deleted {
		k.keys[x.Key] = x.ID
	}
}

// Definition implements definitions.Tx.
func (d *bufferedTx) Definition(kind management.DefinitionKind, projectID, id int64) (*management.Definition, error) {
	if k := &d.kinds[kind]; projectID == d.project && k.byID[id] != nil && !k.dropped[id] {
		// Callers may modify the result, so return a copy.
		found := *k.byID[id]
		return &found, nil
	}
	return d.storeTx.Definition(kind, projectID, id)
}

// DefinitionByKey implements definitions.Tx.
func (d *bufferedTx) DefinitionByKey(kind management.DefinitionKind, projectID int64, key string) (*management.Definition, error) {
	if projectID != d.project {
		return d.storeTx.DefinitionByKey(kind, projectID, key)
	}
	// Deleted definitions are not in keys.
	id, ok := d.kinds[kind].keys[key]
	if !ok {
		return nil, nil
	}
	found := *d.kinds[kind].byID[id]
	return &found, nil
}

// Definitions implements definitions.Tx. With q.Deleted it returns the definitions that were already deleted
// before the transaction.
func (d *bufferedTx) Definitions(q management.DefinitionQuery) (page []management.Definition, count int, err error) {
	if q.Project != d.project {
		return d.storeTx.Definitions(q)
	}
	// visit adds a definition to the page if it matches.
	visit := func(x *management.Definition) {
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
		if k.deleted, _, err = d.storeTx.Definitions(management.DefinitionQuery{Kind: q.Kind, Project: q.Project, Deleted: true}); err != nil {
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

// PutDefinition implements definitions.Tx. The definition is written by flush.
func (d *bufferedTx) PutDefinition(kind management.DefinitionKind, projectID int64, x *management.Definition) error {
	if projectID != d.project {
		return d.storeTx.PutDefinition(kind, projectID, x)
	}
	// Ids are assigned immediately: other definitions may reference them.
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

// DeleteDefinition implements definitions.Tx. Unlike puts, deletions reach the store immediately.
func (d *bufferedTx) DeleteDefinition(kind management.DefinitionKind, projectID, id int64) error {
	if k := &d.kinds[kind]; projectID == d.project {
		k.dropped[id] = true
		// flush must not write the definition again.
		delete(k.changed, id)
		if x := k.byID[id]; x != nil && k.keys[x.Key] == id {
			delete(k.keys, x.Key)
		}
	}
	return d.storeTx.DeleteDefinition(kind, projectID, id)
}

// GroupTypes implements definitions.Tx. The result is cached.
func (d *bufferedTx) GroupTypes(projectID int64) (types map[int]string, err error) {
	if projectID != d.project {
		return d.storeTx.GroupTypes(projectID)
	}
	if d.types == nil {
		d.types, err = d.storeTx.GroupTypes(projectID)
	}
	return d.types, err
}

// Put implements definitions.Tx. Entries of the log and versions of flags are buffered until flush.
func (d *bufferedTx) Put(r *management.Record) error {
	if r.Kind != storage.KindActivity && r.Kind != storedflags.KindVersion {
		return d.storeTx.Put(r)
	}
	stored := *r
	d.records = append(d.records, &stored)
	return nil
}

// activityNumbers is the number of log entry numbers that are reserved at a time.
const activityNumbers = 1000

// Next implements definitions.Tx.
func (d *bufferedTx) Next(name string) (n int64, err error) {
	if name != storage.KindActivity {
		return d.storeTx.Next(name)
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

// flush writes all buffered changes. It returns an error with definitions.CodeLimit if they exceed a limit of
// the project.
func (d *bufferedTx) flush() error {
	before, err := d.DefinitionTotals(d.project)
	if err != nil {
		return err
	}
	// Flags are written before cohorts, each kind in the order of ids.
	for kind := range d.kinds {
		k := &d.kinds[kind]
		list := make([]*management.Definition, 0, len(k.changed))
		for _, id := range slices.Sorted(maps.Keys(k.changed)) {
			list = append(list, k.byID[id])
		}
		if err := d.PutDefinitions(management.DefinitionKind(kind), d.project, list); err != nil {
			return err
		}
		clear(k.changed)
	}
	after, err := d.DefinitionTotals(d.project)
	if err != nil {
		return err
	}
	if err := definitions.CheckGrowth(before, after); err != nil {
		return err
	}
	// Versions and log entries are written last, with the definitions that they belong to.
	records := d.records
	d.records = nil
	return d.AddRecords(records)
}
