package sqlstore

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

const recordColumns = `kind, parent, id, COALESCE(other, ''), sort, COALESCE(name, ''), hidden, data`

func scanRecord(scan func(...any) error) (*management.Record, error) {
	var r management.Record
	var data string
	err := scan(&r.Kind, &r.Parent, &r.ID, &r.Other, &r.Sort, &r.Unique, &r.Hidden, &data)
	r.Data = []byte(data)
	return &r, err
}

func (t *manageTx) record(where string, args ...any) (found *management.Record, err error) {
	err = t.each(func(rows *sql.Rows) (err error) {
		found, err = scanRecord(rows.Scan)
		return err
	}, `SELECT `+recordColumns+` FROM records WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("reading a record: %w", err)
	}
	return found, nil
}

// Get implements rooms.Tx.
func (t *manageTx) Get(kind, parent, id string) (*management.Record, error) {
	return t.record(`kind = $1 AND parent = $2 AND id = $3`, kind, cleanText(parent), cleanText(id))
}

// Find implements rooms.Tx.
func (t *manageTx) Find(kind, unique string) (*management.Record, error) {
	if unique == "" {
		return nil, nil
	}
	return t.record(`kind = $1 AND name = $2`, kind, cleanText(unique))
}

// The places of record_counts.
const (
	placeParent = iota
	placeOther
)

// List implements rooms.Tx.
func (t *manageTx) List(q management.Query) ([]management.Record, int, error) {
	where, args := []string{"kind = $1", "hidden = $2"}, []any{q.Kind, truth(q.Hidden)}
	add := func(condition, value string) {
		args = append(args, cleanText(value))
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	place, parent := placeParent, q.Parent
	if q.Other != "" {
		place, parent = placeOther, q.Other
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
	count := 0
	var err error
	if q.From != "" || q.To != "" {
		_, err = t.one(`SELECT COUNT(*)`+text, args, &count)
	} else {
		_, err = t.one(`SELECT n FROM record_counts WHERE kind = $1 AND place = $2 AND parent = $3 AND hidden = $4`,
			[]any{q.Kind, place, cleanText(parent), truth(q.Hidden)}, &count)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("counting records: %w", err)
	}
	limit := q.Limit
	if limit <= 0 || limit > management.MaxScan {
		limit = management.MaxScan
	}
	var page []management.Record
	err = t.each(func(rows *sql.Rows) error {
		r, err := scanRecord(rows.Scan)
		page = append(page, *r)
		return err
	}, fmt.Sprintf(`SELECT %s%s%s LIMIT %d OFFSET %d`, recordColumns, text, order, limit, max(q.Offset, 0)), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("listing records: %w", err)
	}
	return page, count, nil
}

// search reads the records of a list one by one.
func (t *manageTx) search(q management.Query, text string, args []any) (page []management.Record, count int, err error) {
	err = t.each(func(rows *sql.Rows) error {
		r, err := scanRecord(rows.Scan)
		if err != nil || !q.Match(r) {
			return err
		}
		if count >= q.Offset && (q.Limit <= 0 || count < q.Offset+q.Limit) {
			page = append(page, *r)
		}
		count++
		return nil
	}, fmt.Sprintf(`%s LIMIT %d`, text, management.MaxScan), args...)
	if err != nil {
		return nil, 0, fmt.Errorf("searching records: %w", err)
	}
	return page, count, nil
}

// Put implements rooms.Tx.
func (t *manageTx) Put(r *management.Record) error {
	if r.Unique != "" {
		other, err := t.Find(r.Kind, r.Unique)
		if err != nil {
			return err
		}
		if other != nil && (other.Parent != cleanText(r.Parent) || other.ID != cleanText(r.ID)) {
			return management.ErrTaken
		}
	}
	if err := t.uncount(r.Kind, r.Parent, r.ID); err != nil {
		return err
	}
	err := t.exec(`INSERT INTO records (kind, parent, id, other, sort, name, hidden, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (kind, parent, id) DO UPDATE SET other = excluded.other, sort = excluded.sort, name = excluded.name,
		hidden = excluded.hidden, data = excluded.data`,
		r.Kind, cleanText(r.Parent), cleanText(r.ID), orNull(r.Other), cleanText(r.Sort), orNull(r.Unique), truth(r.Hidden), jsonOr(r.Data, "{}"))
	if err != nil {
		return fmt.Errorf("saving a record: %w", err)
	}
	return t.countRecord(r, 1)
}

// Delete implements rooms.Tx.
func (t *manageTx) Delete(kind, parent, id string) error {
	if err := t.uncount(kind, parent, id); err != nil {
		return err
	}
	if err := t.exec(`DELETE FROM records WHERE kind = $1 AND parent = $2 AND id = $3`, kind, cleanText(parent), cleanText(id)); err != nil {
		return fmt.Errorf("deleting a record: %w", err)
	}
	return nil
}

// DeleteUnder implements rooms.Tx.
func (t *manageTx) DeleteUnder(kind, parent string) error {
	var ids []string
	err := t.each(func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, `SELECT id FROM records WHERE kind = $1 AND parent = $2`, kind, cleanText(parent))
	if err != nil {
		return fmt.Errorf("deleting records: %w", err)
	}
	for _, id := range ids {
		if err := t.Delete(kind, parent, id); err != nil {
			return err
		}
	}
	return nil
}

// uncount takes a record, if it is there, out of the counts.
func (t *manageTx) uncount(kind, parent, id string) error {
	old, err := t.Get(kind, parent, id)
	if err != nil || old == nil {
		return err
	}
	return t.countRecord(old, -1)
}

func (t *manageTx) countRecord(r *management.Record, n int) error {
	for place, parent := range []string{placeParent: r.Parent, placeOther: r.Other} {
		if place == placeOther && parent == "" {
			continue
		}
		if err := t.exec(`INSERT INTO record_counts (kind, place, parent, hidden, n) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (kind, place, parent, hidden) DO UPDATE SET n = record_counts.n + excluded.n`,
			r.Kind, place, cleanText(parent), truth(r.Hidden), n); err != nil {
			return fmt.Errorf("counting records: %w", err)
		}
	}
	return nil
}

// truth is a truth as it is stored.
func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
