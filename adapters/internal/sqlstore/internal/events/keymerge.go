package events

import (
	"cmp"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// mergedKeyRuns is the least number of lists that are merged.
	mergedKeyRuns = 8
	// longKeyRun is the number of keys from which a list is merged only if most of its keys are late: a timely key is
	// searched in few lists, which have a short range of times as long as they are short.
	longKeyRun = 1 << 19
	// mergedKeyPages is the default of Log.KeyPages.
	mergedKeyPages = 128
)

// dueRuns returns the number of lists at the end of some that are to be merged, or 0: at least mergedKeyRuns, of
// which no one has more than half of the keys, so that the length of a key's list doubles each time. If one is long,
// it must have at most a quarter.
func dueRuns(runs []*keyRun) int {
	total, longest := 0, 0
	for i := len(runs) - 1; i >= 0; i-- {
		r := runs[i]
		n := r.timely + r.late
		if n >= longKeyRun && r.late < n/2 || runs[len(runs)-1].last-r.first >= block.KeyRange {
			break
		}
		total, longest = total+n, max(longest, n)
		most := total / 2
		if longest >= longKeyRun {
			most = total / 4
		}
		if count := len(runs) - i; count >= mergedKeyRuns && longest <= most {
			return count
		}
	}
	return 0
}

// mergingRuns returns the lists of a project that are being merged, with into <= index < end: the keys of all are moved
// into the first. If no merge has begun, these are the last lists that are to be merged; if no lists are, the indexes
// are equal.
func mergingRuns(runs []*keyRun) (into, end int) {
	for i := range runs {
		end := i + 1
		for end < len(runs) && runs[end].first <= runs[i].last {
			end++
		}
		if end > i+1 {
			return i, end
		}
	}
	for end := len(runs); end >= mergedKeyRuns; end-- {
		if n := dueRuns(runs[:end]); n > 0 {
			return end - n, end
		}
	}
	return 0, 0
}

// A keyMerge is a step of merging lists of a project: it moves all keys below a limit from some lists into the first,
// whose range includes theirs from the first step on. After each step every key is in one list. The next steps continue
// with the same lists, until there is only one. It has no filter until then.
type keyMerge struct {
	log     *Log
	t       *database.Tx
	project int64
	into    *keyRun
	// limit is the part of a key: keys with a smaller part are moved. It is 0 if all keys are moved.
	limit block.StoredKey
}

// mergeKeys executes a step of merging the lists of a project with first <= index < end. It returns the new lists of
// the project, and the keys of the merged list if this was the only step.
func (l *Log) mergeKeys(t *database.Tx, project int64, runs []*keyRun, first, end int) (merged []*keyRun, all []block.StoredKey, err error) {
	into, others := *runs[first], runs[first+1:end]
	into.filters, into.unfiltered = [2]block.KeyFilter{}, [2]int{}
	into.changes++
	m := &keyMerge{log: l, t: t, project: project, into: &into}
	m.setLimit(others)
	merged = append(slices.Clip(runs[:first]), &into)
	low := others[0].starts[0].Part()
	var lists [][]block.StoredKey
	for _, o := range others {
		low = min(low, o.starts[0].Part())
		rest, moved, err := m.take(o)
		if err != nil {
			return nil, nil, err
		}
		if rest != nil {
			merged = append(merged, rest)
		}
		lists = append(lists, moved)
	}
	own, from, to, err := m.own(low)
	if err != nil {
		return nil, nil, err
	}
	keys := mergeSorted(append(lists, own))
	if err := m.store(keys, from, to); err != nil {
		return nil, nil, err
	}
	if len(merged) == first+1 && len(keys) == into.timely+into.late {
		all = keys
	}
	return append(merged, runs[end:]...), all, nil
}

// setLimit sets the limit, so that about as many pages are moved as a transaction may move.
func (m *keyMerge) setLimit(others []*keyRun) {
	var starts []block.StoredKey
	for _, o := range others {
		for _, start := range o.starts {
			starts = append(starts, start.Part())
		}
	}
	n := max(m.log.KeyPages, (len(starts)+len(m.into.starts))/256)
	if n >= len(starts) {
		return
	}
	slices.Sort(starts)
	if at, _ := slices.BinarySearch(starts, starts[n]+1); starts[n] == starts[0] { // the limit must be greater than the first key
		if n = at; n == len(starts) {
			return
		}
	}
	m.limit = starts[n]
}

// pageBelow returns the number of pages that begin with a key below a limit, or of all if the limit is 0. starts are
// the first keys of the pages.
func pageBelow(starts []block.StoredKey, limit block.StoredKey) int {
	if limit == 0 {
		return len(starts)
	}
	n, _ := slices.BinarySearchFunc(starts, limit, func(start, limit block.StoredKey) int { return cmp.Compare(start.Part(), limit) })
	return n
}

// take deletes the keys below the limit from a list. It returns the list with the rest, nil if no key is left, and the
// deleted keys as they are in the list into which they are moved.
func (m *keyMerge) take(o *keyRun) (rest *keyRun, moved []block.StoredKey, err error) {
	end := pageBelow(o.starts, m.limit)
	keys, err := m.log.readPages(m.t.Ctx, m.t.SQL, o, 0, end)
	if err == nil {
		err = m.log.deletePages(m.t, o, 0, end)
	}
	if err != nil {
		return nil, nil, err
	}
	n := pageBelow(keys, m.limit)
	moved = keys[:n:n]
	r := *o
	rest = &r
	timely := countTimely(moved)
	r.timely, r.late, r.starts, r.changes = o.timely-timely, o.late-(n-timely), slices.Clone(o.starts[end:]), o.changes+1
	var pages [][]block.StoredKey
	if n < len(keys) {
		pages = [][]block.StoredKey{keys[n:]}
		r.starts = slices.Insert(r.starts, 0, keys[n])
	}
	m.into.last = max(m.into.last, o.last)
	if o.timely > 0 {
		if m.into.timely == 0 {
			m.into.from, m.into.to = o.from, o.to
		}
		m.into.from, m.into.to = min(m.into.from, o.from), max(m.into.to, o.to)
	}
	m.into.timely, m.into.late = m.into.timely+timely, m.into.late+n-timely
	if len(r.starts) == 0 {
		rest = nil
		_, err = m.t.Exec(`DELETE FROM event_key_runs WHERE project_id = $1 AND first_id = $2`, m.project, o.first)
	} else if err = insertPages(m.t, r.first, pages); err == nil {
		err = updateKeyRun(m.t, m.project, rest)
	}
	for i := range moved { // after the last use of the keys of o
		moved[i] += block.StoredKey(o.first - m.into.first)
	}
	return rest, moved, err
}

// own deletes and returns a part of the list into which keys are moved, so that these can be inserted: the keys of
// the pages with from <= index < to.
func (m *keyMerge) own(low block.StoredKey) (keys []block.StoredKey, from, to int, err error) {
	from, to = max(pageBelow(m.into.starts, low)-1, 0), pageBelow(m.into.starts, m.limit)
	if low == 0 {
		from = 0
	}
	to = max(from, to)
	if keys, err = m.log.readPages(m.t.Ctx, m.t.SQL, m.into, from, to); err == nil {
		err = m.log.deletePages(m.t, m.into, from, to)
	}
	return keys, from, to, err
}

// store replaces the pages of the list with from <= index < to by pages with keys.
func (m *keyMerge) store(keys []block.StoredKey, from, to int) error {
	pages := slices.Collect(slices.Chunk(keys, block.PageKeys))
	starts := make([]block.StoredKey, 0, len(m.into.starts)+len(pages))
	starts = append(starts, m.into.starts[:from]...)
	for _, page := range pages {
		starts = append(starts, page[0])
	}
	m.into.starts = append(starts, m.into.starts[to:]...)
	if err := insertPages(m.t, m.into.first, pages); err != nil {
		return err
	}
	return updateKeyRun(m.t, m.project, m.into)
}

// updateKeyRun stores the changes of a list.
func updateKeyRun(t *database.Tx, project int64, r *keyRun) error {
	_, err := t.Exec(`UPDATE event_key_runs SET last_id = $3, timely = $4, late = $5, first_time = $6, last_time = $7, changes = $8, starts = $9 WHERE project_id = $1 AND first_id = $2`,
		project, r.first, r.last, r.timely, r.late, r.from, r.to, r.changes, block.EncodeKeys(r.starts))
	return err
}

// mergeSorted merges sorted lists.
func mergeSorted(lists [][]block.StoredKey) []block.StoredKey {
	for len(lists) > 1 {
		var next [][]block.StoredKey
		for pair := range slices.Chunk(lists, 2) {
			if len(pair) == 1 {
				next = append(next, pair[0])
				continue
			}
			a, b := pair[0], pair[1]
			out := make([]block.StoredKey, 0, len(a)+len(b))
			for len(a) > 0 && len(b) > 0 {
				if a[0] <= b[0] {
					out, a = append(out, a[0]), a[1:]
				} else {
					out, b = append(out, b[0]), b[1:]
				}
			}
			next = append(next, append(append(out, a...), b...))
		}
		lists = next
	}
	return lists[0]
}
