package sqlstore

import (
	"cmp"
	"database/sql"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// counter is a counter of a project.
type counter struct {
	project int64
	name    string
}

// count adds n to a counter when saveCounts is called.
func (t *ledgerTx) count(project int64, name string, n int64) {
	if t.counts == nil {
		t.counts = map[counter]int64{}
	}
	t.counts[counter{project, name}] += n
}

var upsertCounters = database.NewInsert(`INSERT INTO counters (project_id, name, n)`, 3, `ON CONFLICT (project_id, name) DO UPDATE SET n = counters.n + excluded.n`)

// saveCounts saves what count has added, in the order of projects.
func (t *ledgerTx) saveCounts(*capture.Changes) error {
	maps.DeleteFunc(t.counts, func(_ counter, n int64) bool { return n == 0 })
	rows := slices.SortedFunc(maps.Keys(t.counts), func(a, b counter) int {
		return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.name, b.name))
	})
	err := t.Insert(&upsertCounters, len(rows), func(args []any, i int) []any { return append(args, rows[i].project, rows[i].name, t.counts[rows[i]]) })
	clear(t.counts)
	return err
}

// countRewritten increments the counter rewritten and returns it.
const countRewritten = `INSERT INTO counters (project_id, name, n) VALUES ($1, $2, 1)
	ON CONFLICT (project_id, name) DO UPDATE SET n = counters.n + 1 RETURNING n`

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
		r.merges++
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
		if err := t.Each(func(rows *sql.Rows) error { return rows.Scan(&r.n) }, countRewritten, id, database.CounterRewritten); err != nil {
			return err
		}
		t.rewrites = append(t.rewrites, r)
	}
	return nil
}
