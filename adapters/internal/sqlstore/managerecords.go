package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/management"
)

// recordColumns are the columns for recordFields.
const recordColumns = `kind, parent, id, COALESCE(other, ''), sort, COALESCE(name, ''), hidden, data`

// recordFields returns the destinations of recordColumns.
func recordFields(r *management.Record) []any {
	return []any{&r.Kind, &r.Parent, &r.ID, &r.Other, &r.Sort, &r.Unique, &r.Hidden, database.ScanRawJSON(&r.Data)}
}

// record returns the record that a condition selects, or nil.
func (t *manageTx) record(where string, args ...any) (*management.Record, error) {
	found, err := listRows(t, "reading a record", recordFields, `SELECT `+recordColumns+` FROM records WHERE `+where, args...)
	return database.FirstOrNil(found), err
}

// Get implements rooms.Tx.
func (t *manageTx) Get(kind, parent, id string) (*management.Record, error) {
	return t.record(`kind = $1 AND parent = $2 AND id = $3`, kind, database.CleanText(parent), database.CleanText(id))
}

// Find implements rooms.Tx.
func (t *manageTx) Find(kind, unique string) (*management.Record, error) {
	if unique == "" {
		return nil, nil
	}
	return t.record(`kind = $1 AND name = $2`, kind, database.CleanText(unique))
}

// The values of record_counts.place: the column by which the records of a list are
// counted.
const (
	indexParent = iota
	indexOther
)

// List implements rooms.Tx. Without bounds and without a filter in Go, the total count
// is read from record_counts instead of counting rows.
func (t *manageTx) List(q management.Query) ([]management.Record, int, error) {
	where, args := []string{"kind = $1", "hidden = $2"}, []any{q.Kind, database.BoolToInt(q.Hidden)}
	add := func(condition, value string) {
		args = append(args, database.CleanText(value))
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	index, parent := indexParent, q.Parent
	if q.Other != "" {
		index, parent = indexOther, q.Other
		add("other = $%d", q.Other)
	} else {
		add("parent = $%d", q.Parent)
	}
	if q.From != "" {
		add("sort >= $%d", q.From)
	}
	if q.To != "" {
		add("sort < $%d", q.To)
	}
	direction := ""
	if q.Descending {
		direction = " DESC"
	}
	text := ` FROM records WHERE ` + strings.Join(where, " AND ")
	order := ` ORDER BY sort` + direction + `, id` + direction
	if q.Match != nil {
		return t.search(q, `SELECT `+recordColumns+text+order, args)
	}
	countText, countArgs := `SELECT n FROM record_counts WHERE kind = $1 AND place = $2 AND parent = $3 AND hidden = $4`, []any{q.Kind, index, database.CleanText(parent), database.BoolToInt(q.Hidden)}
	if q.From != "" || q.To != "" {
		countText, countArgs = `SELECT COUNT(*)`+text, args
	}
	count := 0
	if _, err := t.queryRow("counting records", countText, countArgs, &count); err != nil {
		return nil, 0, err
	}
	page, err := listRows(t, "listing records", recordFields,
		fmt.Sprintf(`SELECT %s%s%s LIMIT %d OFFSET %d`, recordColumns, text, order, pageLimit(q.Limit), max(q.Offset, 0)), args...)
	return page, count, err
}

// pageLimit returns the limit of a page. A query without a limit gets the maximum,
// management.MaxScan.
func pageLimit(limit int) int {
	if limit <= 0 || limit > management.MaxScan {
		return management.MaxScan
	}
	return limit
}

// search applies the filter of a query to the records of a statement, at most
// management.MaxScan. The count is the number of all matches.
func (t *manageTx) search(q management.Query, text string, args []any) (page []management.Record, count int, err error) {
	err = database.Query(t.ctx, t.tx, func(rows *sql.Rows) error {
		var r management.Record
		if err := rows.Scan(recordFields(&r)...); err != nil || !q.Match(&r) {
			return err
		}
		if count >= q.Offset && (q.Limit <= 0 || count < q.Offset+q.Limit) {
			page = append(page, r)
		}
		count++
		return nil
	}, fmt.Sprintf(`%s LIMIT %d`, text, management.MaxScan), args...)
	return page, count, database.WrapError("searching records", err)
}

// Put implements rooms.Tx. The error is management.ErrDuplicate if another record of
// the kind has the same unique name.
func (t *manageTx) Put(r *management.Record) error {
	if r.Unique != "" {
		other, err := t.Find(r.Kind, r.Unique)
		if err != nil {
			return err
		}
		if other != nil && (other.Parent != database.CleanText(r.Parent) || other.ID != database.CleanText(r.ID)) {
			return management.ErrDuplicate
		}
	}
	// The new record replaces the counts of the old one, whose parent may differ.
	counts, err := t.countsOfRemoval(r.Kind, r.Parent, r.ID)
	if err != nil {
		return err
	}
	countRecord(counts, r, 1)
	err = t.bulk("saving a record", &putRecord, nil, 1, func(args []any, _ int) []any { return recordArguments(args, r) })
	if err != nil {
		return err
	}
	return t.saveCounts(counts)
}

// countsOfRemoval returns the changes of record_counts for the removal of a record.
// They are empty if there is no such record.
func (t *manageTx) countsOfRemoval(kind, parent, id string) (map[recordCountKey]int, error) {
	counts := map[recordCountKey]int{}
	old, err := t.Get(kind, parent, id)
	if err == nil && old != nil {
		countRecord(counts, old, -1)
	}
	return counts, err
}

// Delete implements rooms.Tx.
func (t *manageTx) Delete(kind, parent, id string) error {
	counts, err := t.countsOfRemoval(kind, parent, id)
	if err != nil {
		return err
	}
	if err := t.saveCounts(counts); err != nil {
		return err
	}
	return t.exec("deleting a record", `DELETE FROM records WHERE kind = $1 AND parent = $2 AND id = $3`, kind, database.CleanText(parent), database.CleanText(id))
}

// DeleteUnder implements rooms.Tx.
func (t *manageTx) DeleteUnder(kind, parent string) error {
	ids, err := database.Column[string](t.ctx, t.tx, `SELECT id FROM records WHERE kind = $1 AND parent = $2`, kind, database.CleanText(parent))
	if err != nil {
		return database.WrapError("deleting records", err)
	}
	for _, id := range ids {
		if err := t.Delete(kind, parent, id); err != nil {
			return err
		}
	}
	return nil
}
