package sqlstore

import (
	"maps"
	"slices"
	"sync"

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

// rewrite is an increment of the counter rewritten of a project by this server.
type rewrite struct {
	project int64
	// n is the counter after it.
	n int64
	// people are the persons who got or lost events. isUnknown is true if they are not known.
	people    []capture.UUID
	isUnknown bool
}

const (
	// maxRewrites and maxRewrittenPeople limit the increments that are remembered, and the persons of all
	// of them.
	maxRewrites        = 10_000
	maxRewrittenPeople = 100_000
)

// rewrites are the last increments of the counter rewritten, of all projects. Those of other servers and
// those before the start are missing.
type rewrites struct {
	mu     sync.Mutex
	list   []*rewrite
	people int
}

// add adds the increments of a transaction that was committed.
func (w *rewrites) add(list []*rewrite) {
	if len(list) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range list {
		w.people += len(r.people)
	}
	w.list = append(w.list, list...)
	drop := 0
	for len(w.list)-drop > maxRewrites || w.people > maxRewrittenPeople {
		w.people -= len(w.list[drop].people)
		drop++
	}
	w.list = slices.Delete(w.list, 0, drop)
}

// Rewritten implements queries.States.
func (s *Store) Rewritten(projectID, from, to int64) (people []capture.UUID, ok bool) {
	s.rewrites.mu.Lock()
	defer s.rewrites.mu.Unlock()
	missing := to - from
	for _, r := range slices.Backward(s.rewrites.list) {
		if r.project != projectID || r.n <= from || r.n > to {
			continue
		}
		if r.isUnknown {
			return nil, false
		}
		people = append(people, r.people...)
		missing--
	}
	return people, missing == 0
}
