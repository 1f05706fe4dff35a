package events

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// keyRun is a stored list of the duplicate keys of all events of a project in a range of ids.
type keyRun struct {
	unit
	// timely and late are the numbers of the keys of each class.
	timely, late int
	// from and to are the times of the timely keys, in milliseconds.
	from, to int64
	// starts are the first keys of the pages.
	starts []block.StoredKey
	// filters are those of the timely and of the late keys. A filter that is not in memory excludes
	// nothing.
	filters [2]block.Filter
	// unfiltered are the numbers of searches without a filter.
	unfiltered [2]int
}

// keys returns the number of keys of a class: 0 is timely.
func (r *keyRun) keys(class int) int { return [...]int{r.timely, r.late}[class] }

// pageID returns the id of a page.
func (r *keyRun) pageID(page int) int64 { return r.first + r.starts[page].Offset() }

// mayHave reports whether a list may have a key of a class whose UUID has a time, if it is of
// version 7.
func (r *keyRun) mayHave(class int, ms int64, isTimed bool) bool {
	return r.keys(class) > 0 && (class == 1 || isTimed && ms >= r.from && ms <= r.to)
}

// listKeyRuns returns the lists of a project in order.
func listKeyRuns(ctx context.Context, q database.Querier, project int64) (runs []*keyRun, err error) {
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		r := &keyRun{}
		var starts []byte
		err := rows.Scan(&r.first, &r.last, &r.timely, &r.late, &r.from, &r.to, &starts)
		if err == nil {
			r.starts, err = block.DecodeKeys(nil, starts)
		}
		runs = append(runs, r)
		return err
	}, `SELECT first_id, last_id, timely, late, first_time, last_time, starts FROM event_key_runs WHERE project_id = $1 ORDER BY first_id`, project)
	return runs, database.WrapError(fmt.Sprintf("the duplicate keys of project %d", project), err)
}

var (
	insertKeyPages = database.NewInsert(`INSERT INTO event_key_pages (id, keys)`, 2, "")
	findKeyPages   = database.NewLookup(`SELECT id, keys FROM event_key_pages WHERE id`, 0)
)

// eachKeyPage reads pages and calls visit with the id and the keys of each, in any order, and not for
// missing ones. visit must not keep the keys.
func (l *Log) eachKeyPage(ctx context.Context, q database.Querier, ids []int64, visit func(id int64, keys []block.StoredKey)) error {
	var keys []block.StoredKey
	return findKeyPages.Run(&l.db.Dialect, nil, len(ids), func(args []any, i int) []any { return append(args, ids[i]) }, func(text string, args ...any) error {
		return database.Query(ctx, q, func(rows *sql.Rows) error {
			var id int64
			var data []byte
			err := rows.Scan(&id, &data)
			if err == nil {
				keys, err = block.DecodeKeys(keys[:0], data)
			}
			if err != nil {
				return fmt.Errorf("the page %d of duplicate keys: %w", id, err)
			}
			visit(id, keys)
			return nil
		}, text, args...)
	})
}

// insertKeyRun stores a list of sorted keys. The ids and the times of the list must be set.
func insertKeyRun(t *database.Tx, project int64, r *keyRun, keys []block.StoredKey) error {
	late, _ := slices.BinarySearchFunc(keys, true, func(k block.StoredKey, _ bool) int {
		if k.IsTimely() {
			return -1
		}
		return 1
	})
	r.timely, r.late, r.starts = late, len(keys)-late, nil
	var order []int // of pages, by id
	for from := 0; from < len(keys); from += block.PageKeys {
		order = append(order, len(r.starts))
		r.starts = append(r.starts, keys[from])
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(r.pageID(a), r.pageID(b)) })
	err := t.Insert(&insertKeyPages, len(order), func(args []any, i int) []any {
		page := order[i]
		return append(args, r.pageID(page), block.EncodeKeys(keys[page*block.PageKeys:min((page+1)*block.PageKeys, len(keys))]))
	})
	if err != nil {
		return err
	}
	_, err = t.Exec(`INSERT INTO event_key_runs (project_id, first_id, last_id, timely, late, first_time, last_time, starts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		project, r.first, r.last, r.timely, r.late, r.from, r.to, block.EncodeKeys(r.starts))
	return err
}

var deleteKeyPages = database.NewLookup(`DELETE FROM event_key_pages WHERE id`, 0)

// deleteKeyRun deletes a list.
func (l *Log) deleteKeyRun(t *database.Tx, project int64, r *keyRun) error {
	err := deleteKeyPages.Run(&l.db.Dialect, nil, len(r.starts), func(args []any, i int) []any { return append(args, r.pageID(i)) }, func(text string, args ...any) error {
		_, err := t.Exec(text, args...)
		return err
	})
	if err == nil {
		_, err = t.Exec(`DELETE FROM event_key_runs WHERE project_id = $1 AND first_id = $2`, project, r.first)
	}
	return err
}

// readKeys returns all keys of a list, which are sorted.
func (l *Log) readKeys(ctx context.Context, q database.Querier, r *keyRun) ([]block.StoredKey, error) {
	ids, pages := make([]int64, len(r.starts)), make(map[int64]int, len(r.starts))
	for i := range r.starts {
		ids[i] = r.pageID(i)
		pages[ids[i]] = i
	}
	out, n := make([]block.StoredKey, r.timely+r.late), 0
	err := l.eachKeyPage(ctx, q, ids, func(id int64, keys []block.StoredKey) {
		n += copy(out[min(pages[id]*block.PageKeys, len(out)):], keys)
	})
	if err == nil && (n != len(out) || !slices.IsSorted(out)) {
		err = fmt.Errorf("the duplicate keys of the events %d to %d: %w", r.first, r.last, block.ErrDamaged)
	}
	return out, err
}
