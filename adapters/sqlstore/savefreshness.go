package sqlstore

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
)

// State implements queries.States. It reads three counters by key, and is cheap enough
// for every query.
func (s *Store) State(ctx context.Context, projectID int64) (out queries.State, err error) {
	err = query(ctx, s.read, func(rows *sql.Rows) error {
		var name string
		var n int64
		err := rows.Scan(&name, &n)
		// Counters have names; the row of the project has an empty one.
		switch name {
		case counterEvents:
			out.Events = n
		case counterRewritten:
			out.Rewritten = n
		default:
			out.Revision = n
		}
		return err
	}, `SELECT name, n FROM counters WHERE project_id = $1 AND name IN ($2, $3)
		UNION ALL SELECT '', revision FROM projects WHERE id = $1`, projectID, counterEvents, counterRewritten)
	return out, s.readError("how fresh answers are", err)
}

// rewritten returns only the field Rewritten of State.
func (s *Store) rewritten(ctx context.Context, projectID int64) (n int64, err error) {
	found, err := column[int64](ctx, s.read, `SELECT n FROM counters WHERE project_id = $1 AND name = $2`, projectID, counterRewritten)
	if len(found) == 1 {
		n = found[0]
	}
	return n, err
}

// countEvents adds the recorded events to the counters of their projects.
func (t *ledgerTx) countEvents(events []capture.Record) error {
	sums := map[int64]int64{}
	for i := range events {
		sums[events[i].ProjectID]++
	}
	return t.countAll(sums, counterEvents)
}

// countAll adds to a counter of several projects, in the order of their ids.
func (t *ledgerTx) countAll(sums map[int64]int64, name string) error {
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		if err := t.count(id, name, sums[id]); err != nil {
			return err
		}
	}
	return nil
}

var findOwned = newFind(`distinct_id`, `distinct_ids WHERE project_id = $1`, `distinct_id`, textKey, 1)

// markMoved adds to t.moved the projects of distinct ids that exist already: their
// events belong to another person from now on.
func (t *ledgerTx) markMoved(ids []capture.ProjectID) error {
	return forEachProject(groupByProject(ids, func(d *capture.ProjectID) int64 { return d.ProjectID }), func(project int64, list []*capture.ProjectID) error {
		distinctIDs := make([]string, len(list))
		for i := range list {
			distinctIDs[i] = list[i].DistinctID
		}
		existing, err := t.findExisting(&findOwned, distinctIDs, project)
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
	sums := map[int64]int64{}
	for i := range c.Merges {
		sums[c.Merges[i].ProjectID] = 1
	}
	for i := range c.Groups {
		sums[c.Groups[i].ProjectID] = 1
	}
	if len(c.Events) == 0 { // an import or a split changes persons without an event
		for i := range c.Persons {
			sums[c.Persons[i].ProjectID] = 1
		}
	}
	for id := range t.moved {
		sums[id] = 1
	}
	clear(t.moved)
	return t.countAll(sums, counterRewritten)
}

var _ queries.States = (*Store)(nil)
