package sqlstore

import (
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// countEvents adds the recorded events to the counters of their projects.
func (t *ledgerTx) countEvents(events []capture.Record) error {
	sums := map[int64]int64{}
	for i := range events {
		sums[events[i].ProjectID]++
	}
	return t.countAll(sums, database.CounterEvents)
}

// countAll adds to a counter of several projects, in the order of their ids.
func (t *ledgerTx) countAll(sums map[int64]int64, name string) error {
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		if err := t.Count(id, name, sums[id]); err != nil {
			return err
		}
	}
	return nil
}

var findOwned = database.NewFind(`distinct_id`, `distinct_ids WHERE project_id = $1`, `distinct_id`, database.TextKey, 1)

// markMoved adds to t.moved the projects of distinct ids that exist already: their
// events belong to another person from now on.
func (t *ledgerTx) markMoved(ids []capture.ProjectID) error {
	return forEachProject(groupByProject(ids, func(d *capture.ProjectID) int64 { return d.ProjectID }), func(project int64, list []*capture.ProjectID) error {
		distinctIDs := make([]string, len(list))
		for i := range list {
			distinctIDs[i] = list[i].DistinctID
		}
		existing, err := t.FindExisting(&findOwned, distinctIDs, project)
		if len(existing) > 0 && err == nil {
			if t.moved == nil {
				t.moved = map[int64]bool{}
			}
			t.moved[project] = true
		}
		return err
	})
}

// saveRewritten counts changes that make earlier answers of queries wrong: merged
// persons, distinct ids assigned to another person, and changed groups.
func (t *ledgerTx) saveRewritten(c *capture.Changes) error {
	changes := map[int64]*rewrite{}
	of := func(project int64) *rewrite {
		if changes[project] == nil {
			changes[project] = &rewrite{project: project}
		}
		return changes[project]
	}
	for _, m := range c.Merges {
		r := of(m.ProjectID)
		r.people = append(r.people, m.From, m.Into)
	}
	for i := range c.Groups {
		of(c.Groups[i].ProjectID)
	}
	if len(c.Events) == 0 { // an import or a split changes persons without an event
		for i := range c.Persons {
			of(c.Persons[i].ProjectID).isUnknown = true
		}
	}
	for _, d := range c.IDs { // the earlier owner is in Merges, or the id had none
		if t.moved[d.ProjectID] {
			r := of(d.ProjectID)
			r.people = append(r.people, d.Person, capture.PersonID(d.ProjectID, d.DistinctID))
		}
	}
	clear(t.moved)
	for _, id := range slices.Sorted(maps.Keys(changes)) {
		r := changes[id]
		if err := t.Count(id, database.CounterRewritten, 1); err != nil {
			return err
		}
		var err error
		if r.n, err = t.ReadCounter(id, database.CounterRewritten); err != nil {
			return err
		}
		t.rewrites = append(t.rewrites, r)
	}
	return nil
}
