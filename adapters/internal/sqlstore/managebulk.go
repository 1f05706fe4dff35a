package sqlstore

import (
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/people"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// The bulk statements for definitions, records and members of management.

var (
	insertRecords = database.NewInsert(`INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)`, 8, "")
	putRecord     = database.NewInsert(`INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)`, 8,
		`ON CONFLICT (kind, parent, id) DO UPDATE SET other = excluded.other, sort = excluded.sort, name = excluded.name, hidden = excluded.hidden, data = excluded.data`)
	countRecords = database.NewInsert(`INSERT INTO record_counts (kind, place, parent, hidden, n)`, 5,
		`ON CONFLICT (kind, place, parent, hidden) DO UPDATE SET n = record_counts.n + excluded.n`)
	putFlags = database.NewInsert(`INSERT INTO flag_records (project_id, id, record, meta, origin, deleted, key)`, 7,
		`ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted, key = excluded.key`)
	putCohorts = database.NewInsert(`INSERT INTO cohort_records (project_id, id, record, meta, origin, deleted)`, 6,
		`ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted`)
	findSamePersons = database.NewLookup(`SELECT DISTINCT o.distinct_id FROM distinct_ids d
		CROSS JOIN distinct_ids o WHERE o.project_id = d.project_id AND o.person_uuid = d.person_uuid AND d.project_id = $1 AND d.distinct_id`, 1)
)

// bulk executes a bulk statement for n rows, whose arguments row appends after the
// fixed arguments.
func (t *manageTx) bulk(what string, b *database.Bulk, fixed []any, n int, row func(args []any, i int) []any) error {
	return b.Run(&t.store.db.Dialect, fixed, n, row, func(text string, args ...any) error { return t.exec(what, text, args...) })
}

// queryColumn runs a bulk query for some strings after fixed arguments, and returns its
// single column.
func (t *manageTx) queryColumn(what string, b *database.Bulk, fixed []any, texts []string) (out []string, err error) {
	clean := func(args []any, i int) []any { return append(args, database.CleanText(texts[i])) }
	err = b.Run(&t.store.db.Dialect, fixed, len(texts), clean, func(text string, args ...any) error {
		found, err := database.Column[string](t.ctx, t.tx, text, args...)
		out = append(out, found...)
		return err
	})
	return out, database.WrapError(what, err)
}

// NextMany implements rooms.Tx. Sequences start at 1.
func (t *manageTx) NextMany(name string, n int64) (first int64, err error) {
	if !t.canWrite {
		return 0, errReadOnly
	}
	var last int64
	_, err = t.queryRow("numbering", `INSERT INTO sequences (name, n) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET n = sequences.n + $2 RETURNING n`, []any{database.CleanText(name), n}, &last)
	return last - n + 1, err
}

// ReserveDefinitionIDs implements rooms.Tx. Definitions from files have ids of their
// own choice, so the sequence skips to the highest existing id if it is behind.
func (t *manageTx) ReserveDefinitionIDs(kind management.DefinitionKind, n int) (first int64, err error) {
	const what = "numbering definitions"
	table := definitionTables[kind].table
	var highest int64
	if _, err := t.queryRow(what, `SELECT COALESCE(MAX(id), 0) FROM `+table, nil, &highest); err != nil {
		return 0, err
	}
	first, err = t.NextMany(table, int64(n))
	if err == nil && first <= highest { // files contain greater ids than the sequence
		if err = t.exec(what, `UPDATE sequences SET n = $2 WHERE name = $1`, table, highest); err == nil {
			first, err = t.NextMany(table, int64(n))
		}
	}
	return first, err
}

// PutDefinitions implements rooms.Tx.
func (t *manageTx) PutDefinitions(kind management.DefinitionKind, projectID int64, list []*management.Definition) error {
	if len(list) == 0 {
		return nil
	}
	if err := t.saveDefinitions(kind, projectID, list); err != nil {
		return err
	}
	delete(t.totals, projectID) // computed again on the next use
	return nil
}

// saveDefinitions inserts or replaces definitions. It does not update the totals.
func (t *manageTx) saveDefinitions(kind management.DefinitionKind, projectID int64, list []*management.Definition) error {
	t.markChanged(projectID)
	return t.bulk("saving definitions", definitionTables[kind].put, nil, len(list), func(args []any, i int) []any {
		d := list[i]
		args = append(args, projectID, d.ID, database.JSONOrDefault(d.Record, "{}"), database.JSONOrDefault(d.Meta, "{}"), d.Origin, database.BoolToInt(d.Deleted))
		if kind == management.FlagDefinition {
			args = append(args, database.CleanText(d.Key))
		}
		return args
	})
}

// recordCountKey is the key of a row of record_counts.
type recordCountKey struct {
	kind   string
	index  int
	parent string
	hidden int
}

// AddRecords implements rooms.Tx. The records must be new.
func (t *manageTx) AddRecords(list []*management.Record) error {
	counts := map[recordCountKey]int{}
	err := t.bulk("saving records", &insertRecords, nil, len(list), func(args []any, i int) []any {
		countRecord(counts, list[i], 1)
		return recordArguments(args, list[i])
	})
	if err != nil {
		return err
	}
	return t.saveCounts(counts)
}

// countRecord adds n to the counts of the lists that contain a record: by its parent
// and, if it has one, by its other parent.
func countRecord(counts map[recordCountKey]int, r *management.Record, n int) {
	counts[recordCountKey{r.Kind, indexParent, database.CleanText(r.Parent), database.BoolToInt(r.Hidden)}] += n
	if r.Other != "" {
		counts[recordCountKey{r.Kind, indexOther, database.CleanText(r.Other), database.BoolToInt(r.Hidden)}] += n
	}
}

// saveCounts adds counts to the table record_counts.
func (t *manageTx) saveCounts(counts map[recordCountKey]int) error {
	keys := slices.Collect(maps.Keys(counts))
	return t.bulk("counting records", &countRecords, nil, len(keys), func(args []any, i int) []any {
		p := keys[i]
		return append(args, p.kind, p.index, p.parent, p.hidden, counts[p])
	})
}

// recordArguments appends the values of the columns of a record.
func recordArguments(args []any, r *management.Record) []any {
	return append(args, r.Kind, database.CleanText(r.Parent), database.CleanText(r.ID), database.NullIfEmpty(r.Other), database.CleanText(r.Sort), database.NullIfEmpty(r.Unique), database.BoolToInt(r.Hidden), database.JSONOrDefault(r.Data, "{}"))
}

// MembersOf implements rooms.Tx.
func (t *manageTx) MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	members, err := people.ReadMembers(t.ctx, t.tx, projectID, cohorts, limit)
	return members, database.WrapError("reading the members of static cohorts", err)
}

// SamePersons implements rooms.Tx. The result contains the given distinct ids too, and
// is sorted.
func (t *manageTx) SamePersons(projectID int64, distinctIDs []string) ([]string, error) {
	found, err := t.queryColumn("looking for the ids of persons", &findSamePersons, []any{projectID}, distinctIDs)
	for _, id := range distinctIDs {
		found = append(found, database.CleanText(id))
	}
	slices.Sort(found)
	return slices.Compact(found), err
}

// Next implements rooms.Tx.
func (t *manageTx) Next(name string) (n int64, err error) { return t.NextMany(name, 1) }
