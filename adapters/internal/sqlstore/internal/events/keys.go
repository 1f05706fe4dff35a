package events

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
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
	// changes is the number of transactions that have moved keys out of or into the list.
	changes int64
	// filters are those of the timely and of the late keys. A filter that is not in memory excludes
	// nothing.
	filters [2]block.KeyFilter
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
		err := rows.Scan(&r.first, &r.last, &r.timely, &r.late, &r.from, &r.to, &r.changes, &starts)
		if err == nil {
			r.starts, err = block.DecodeKeys(nil, starts)
		}
		runs = append(runs, r)
		return err
	}, `SELECT first_id, last_id, timely, late, first_time, last_time, changes, starts FROM event_key_runs WHERE project_id = $1 ORDER BY first_id`, project)
	return runs, database.WrapError(fmt.Sprintf("the duplicate keys of project %d", project), err)
}

var (
	insertKeyPages = database.NewInsert(`INSERT INTO event_key_pages (id, keys)`, 2, "")
	findKeyPages   = database.NewLookup(`SELECT id, keys FROM event_key_pages WHERE id`, 0)
)

// eachKeyPage reads pages and calls visit with the id and the stored form of each, in any order, and not for
// missing ones. visit must not keep the data.
func (l *Log) eachKeyPage(ctx context.Context, q database.Querier, ids []int64, visit func(id int64, data []byte) error) error {
	return findKeyPages.Run(&l.db.Dialect, nil, len(ids), func(args []any, i int) []any { return append(args, ids[i]) }, func(text string, args ...any) error {
		return database.Query(ctx, q, func(rows *sql.Rows) error {
			var id int64
			var data sql.RawBytes
			if err := rows.Scan(&id, &data); err != nil {
				return err
			}
			if err := visit(id, data); err != nil {
				return fmt.Errorf("the page %d of duplicate keys: %w", id, err)
			}
			return nil
		}, text, args...)
	})
}

// insertKeyRun stores a list of sorted keys. The ids and the times of the list must be set.
func insertKeyRun(t *database.Tx, project int64, r *keyRun, keys []block.StoredKey) error {
	r.timely, r.starts = countTimely(keys), nil
	r.late = len(keys) - r.timely
	pages := slices.Collect(slices.Chunk(keys, block.PageKeys))
	for _, page := range pages {
		r.starts = append(r.starts, page[0])
	}
	if err := insertPages(t, r.first, pages); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO event_key_runs (project_id, first_id, last_id, timely, late, first_time, last_time, starts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		project, r.first, r.last, r.timely, r.late, r.from, r.to, block.EncodeKeys(r.starts))
	return err
}

// countTimely returns the number of timely keys, with which sorted keys begin.
func countTimely(keys []block.StoredKey) int {
	n, _ := slices.BinarySearchFunc(keys, true, func(k block.StoredKey, _ bool) int {
		if k.IsTimely() {
			return -1
		}
		return 1
	})
	return n
}

// insertPages stores pages of keys of a list with a first id.
func insertPages(t *database.Tx, first int64, pages [][]block.StoredKey) error {
	pages = slices.Clone(pages)
	slices.SortFunc(pages, func(a, b []block.StoredKey) int { return cmp.Compare(a[0].Offset(), b[0].Offset()) })
	return t.Insert(&insertKeyPages, len(pages), func(args []any, i int) []any {
		return append(args, first+pages[i][0].Offset(), block.EncodeKeys(pages[i]))
	})
}

var deleteKeyPages = database.NewLookup(`DELETE FROM event_key_pages WHERE id`, 0)

// deleteKeyRun deletes a list.
func (l *Log) deleteKeyRun(t *database.Tx, project int64, r *keyRun) error {
	err := l.deletePages(t, r, 0, len(r.starts))
	if err == nil {
		_, err = t.Exec(`DELETE FROM event_key_runs WHERE project_id = $1 AND first_id = $2`, project, r.first)
	}
	return err
}

// deletePages deletes the pages of a list with from <= index < to.
func (l *Log) deletePages(t *database.Tx, r *keyRun, from, to int) error {
	return deleteKeyPages.Run(&l.db.Dialect, nil, to-from, func(args []any, i int) []any { return append(args, r.pageID(from+i)) }, func(text string, args ...any) error {
		_, err := t.Exec(text, args...)
		return err
	})
}

// readPages returns the keys of the pages of a list with from <= index < to, which are sorted.
func (l *Log) readPages(ctx context.Context, q database.Querier, r *keyRun, from, to int) ([]block.StoredKey, error) {
	ids, pages := make([]int64, 0, to-from), make(map[int64][]block.StoredKey, to-from)
	for page := from; page < to; page++ {
		ids = append(ids, r.pageID(page))
	}
	err := l.eachKeyPage(ctx, q, ids, func(id int64, data []byte) (err error) {
		pages[id], err = block.DecodeKeys(nil, data)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make([]block.StoredKey, 0, (to-from)*block.PageKeys)
	for _, id := range ids {
		out = append(out, pages[id]...)
	}
	if len(pages) < len(ids) || !slices.IsSorted(out) {
		err = fmt.Errorf("the duplicate keys of the events %d to %d: %w", r.first, r.last, block.ErrDamaged)
	}
	return out, err
}

// findUUID returns the ids of the events of a project that may have a UUID.
func (l *Log) findUUID(ctx context.Context, project int64, uuid capture.UUID) (ids []int64, err error) {
	if ids, isOlder, err := l.findOlderUUID(ctx, uuid); err != nil || isOlder {
		return ids, err
	}
	p, err := l.currentKeys(ctx, l.Source(), project, false)
	if err != nil {
		return nil, err
	}
	hasher := block.NewKeyHasher(l.keys.secret)
	// First the events without a list: they get into lists meanwhile.
	l.keys.mu.Lock()
	span := [2]block.KeySpan{hasher.UUIDSpan(&uuid, true), hasher.UUIDSpan(&uuid, false)}
	for _, k := range p.tail {
		if span[0].Has(k.key) || span[1].Has(k.key) {
			ids = append(ids, k.id)
		}
	}
	runs := slices.Clone(p.runs)
	l.keys.mu.Unlock()
	listed, err := l.findListed(ctx, project, &uuid, span, runs)
	ids = append(ids, listed...)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// findListed implements findUUID for the events in lists. spans are the spans of the UUID by class, and runs the
// lists in memory, which another server may have changed.
func (l *Log) findListed(ctx context.Context, project int64, uuid *capture.UUID, spans [2]block.KeySpan, runs []*keyRun) (ids []int64, err error) {
	ms, isTimed := block.KeyTime(uuid)
	for isSame := false; !isSame; { // until the lists are not merged meanwhile
		if runs == nil {
			if runs, err = listKeyRuns(ctx, l.db.Read, project); err != nil || len(runs) == 0 {
				return nil, err
			}
		}
		pages := map[int64][]keyPage{}
		for _, r := range runs {
			for class := range r.filters {
				if r.mayHave(class, ms, isTimed) {
					r.addPages(pages, spans[class], 0)
				}
			}
		}
		found, damaged := l.readCandidates(ctx, l.db.Read, pages)
		if isSame, _, err = l.isCurrent(ctx, l.db.Read, project, &projectKeys{runs: runs}); err != nil {
			return nil, err
		}
		if isSame && damaged != nil {
			return nil, damaged
		}
		ids, runs = ids[:0], nil
		for _, c := range found {
			ids = append(ids, c.id)
		}
	}
	return ids, nil
}
