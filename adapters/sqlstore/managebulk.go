package sqlstore

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// This file writes many things of management at once.

var (
	insertRecords = inserts(`INSERT INTO records (kind, parent, id, other, sort, name, hidden, data)`, 8, "")
	countRecords  = inserts(`INSERT INTO record_counts (kind, place, parent, hidden, n)`, 5,
		`ON CONFLICT (kind, place, parent, hidden) DO UPDATE SET n = record_counts.n + excluded.n`)
	putFlags = inserts(`INSERT INTO flag_records (project_id, id, record, meta, origin, deleted, key)`, 7,
		`ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted, key = excluded.key`)
	putCohorts = inserts(`INSERT INTO cohort_records (project_id, id, record, meta, origin, deleted)`, 6,
		`ON CONFLICT (project_id, id) DO UPDATE SET record = excluded.record, meta = excluded.meta, origin = excluded.origin, deleted = excluded.deleted`)
	findSamePersons = lookups(`SELECT DISTINCT o.distinct_id FROM distinct_ids d
		JOIN distinct_ids o ON o.project_id = d.project_id AND o.person_uuid = d.person_uuid
		WHERE d.project_id = $1 AND d.person_uuid IS NOT NULL AND d.distinct_id`, 1, "")
)

// bulk runs a bulk statement for n rows, whose arguments row appends.
func (t *manageTx) bulk(b *bulk, n int, row func(args []any, i int) []any) error {
	if !t.writes {
		return errReadOnly
	}
	return b.chunks(&t.store.dialect, n, func(text string, from, rows int) error {
		var args []any
		for i := from; i < from+rows; i++ {
			args = row(args, i)
		}
		return t.exec(text, args...)
	})
}

// NextMany implements rooms.Tx.
func (t *manageTx) NextMany(name string, n int64) (first int64, err error) {
	if !t.writes {
		return 0, errReadOnly
	}
	var last int64
	_, err = t.one(`INSERT INTO sequences (name, n) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET n = sequences.n + $2 RETURNING n`, []any{cleanText(name), n}, &last)
	return last - n + 1, err
}

// NumberDefinitions implements rooms.Tx.
func (t *manageTx) NumberDefinitions(kind featureflags.DefinitionKind, n int) (first int64, err error) {
	table := definitionTables[kind].table
	var highest int64
	if _, err := t.one(`SELECT COALESCE(MAX(id), 0) FROM `+table, nil, &highest); err != nil {
		return 0, fmt.Errorf("numbering definitions: %w", err)
	}
	first, err = t.NextMany(table, int64(n))
	if err == nil && first <= highest { // files have taken numbers
		if err = t.exec(`UPDATE sequences SET n = $2 WHERE name = $1`, table, highest); err == nil {
			first, err = t.NextMany(table, int64(n))
		}
	}
	if err != nil {
		return 0, fmt.Errorf("numbering definitions: %w", err)
	}
	return first, nil
}

// PutDefinitions implements rooms.Tx.
func (t *manageTx) PutDefinitions(kind featureflags.DefinitionKind, projectID int64, list []*featureflags.Definition) error {
	if len(list) == 0 {
		return nil
	}
	b := &putCohorts
	if kind == featureflags.FlagDefinition {
		b = &putFlags
	}
	err := t.bulk(b, len(list), func(args []any, i int) []any {
		d := list[i]
		args = append(args, projectID, d.ID, jsonOr(d.Record, "{}"), jsonOr(d.Meta, "{}"), d.Origin, truth(d.Deleted))
		if kind == featureflags.FlagDefinition {
			args = append(args, cleanText(d.Key))
		}
		return args
	})
	if err != nil {
		return fmt.Errorf("saving definitions: %w", err)
	}
	delete(t.totals, projectID) // summed up anew when they are asked for
	t.definitionsChanged(projectID)
	return nil
}

// recordPlace is a row of record_counts.
type recordPlace struct {
	kind   string
	place  int
	parent string
	hidden int
}

// AddRecords implements rooms.Tx.
func (t *manageTx) AddRecords(list []*management.Record) error {
	counts := map[recordPlace]int{}
	err := t.bulk(&insertRecords, len(list), func(args []any, i int) []any {
		r := list[i]
		counts[recordPlace{r.Kind, placeParent, cleanText(r.Parent), truth(r.Hidden)}]++
		if r.Other != "" {
			counts[recordPlace{r.Kind, placeOther, cleanText(r.Other), truth(r.Hidden)}]++
		}
		return append(args, r.Kind, cleanText(r.Parent), cleanText(r.ID), orNull(r.Other), cleanText(r.Sort), orNull(r.Unique), truth(r.Hidden), jsonOr(r.Data, "{}"))
	})
	if err != nil {
		return fmt.Errorf("saving records: %w", err)
	}
	places := slices.Collect(maps.Keys(counts))
	err = t.bulk(&countRecords, len(places), func(args []any, i int) []any {
		p := places[i]
		return append(args, p.kind, p.place, p.parent, p.hidden, counts[p])
	})
	if err != nil {
		return fmt.Errorf("counting records: %w", err)
	}
	return nil
}

// MembersOf implements rooms.Tx.
func (t *manageTx) MembersOf(projectID int64, cohorts []int64, limit flags.MembersLimit) (map[int64][]string, error) {
	r := newMembersReader(limit)
	if len(cohorts) == 0 {
		return r.out, nil
	}
	text, args := r.query(projectID, cohorts)
	if err := t.each(r.scan, text, args...); err != nil {
		return nil, fmt.Errorf("reading the members of static cohorts: %w", err)
	}
	return r.out, nil
}

// SamePersons implements rooms.Tx.
func (t *manageTx) SamePersons(projectID int64, distinctIDs []string) ([]string, error) {
	found := map[string]bool{}
	ids := make([]string, len(distinctIDs))
	for i, id := range distinctIDs {
		ids[i] = cleanText(id)
		found[ids[i]] = true
	}
	err := findSamePersons.chunks(&t.store.dialect, len(ids), func(text string, from, n int) error {
		args := []any{projectID}
		for _, id := range ids[from : from+n] {
			args = append(args, id)
		}
		return t.each(func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			found[id] = true
			return err
		}, text, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the ids of persons: %w", err)
	}
	return slices.Sorted(maps.Keys(found)), nil
}
