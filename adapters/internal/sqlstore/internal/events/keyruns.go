package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// mergedKeyRuns is the least number of lists that are merged.
	mergedKeyRuns = 8
	// maxKeyRun is the number of keys from which a list is not merged.
	maxKeyRun = 1 << 19
)

// dueRuns returns the number of lists at the end that are to be merged, or 0: at least mergedKeyRuns, of
// which no one has more than half of the keys, so that the length of a key's list doubles each time.
func dueRuns(runs []*keyRun) int {
	total, longest := 0, 0
	for i := len(runs) - 1; i >= 0; i-- {
		n := runs[i].timely + runs[i].late
		if n >= maxKeyRun || runs[len(runs)-1].last-runs[i].first >= block.KeyRange {
			break
		}
		total, longest = total+n, max(longest, n)
		if count := len(runs) - i; count >= mergedKeyRuns && longest <= total/2 {
			return count
		}
	}
	return 0
}

// dueKeys returns the number of the keys at the beginning of a tail for which a list is due, or 0:
// there are enough of them, or their ids span half of what a list may.
func dueKeys(tail []tailKey, least int) int {
	if len(tail) == 0 || len(tail) < least && tail[len(tail)-1].id-tail[0].id < block.KeyRange/2 {
		return 0
	}
	n, _ := slices.BinarySearchFunc(tail, tail[0].id+block.KeyRange, func(k tailKey, id int64) int { return int(min(max(k.id-id, -1), 1)) })
	return n
}

// makeKeyRun stores the list of some keys.
func makeKeyRun(t *database.Tx, project int64, tail []tailKey) (r *keyRun, keys []block.StoredKey, err error) {
	r = &keyRun{unit: unit{tail[0].id, tail[len(tail)-1].id}}
	keys = make([]block.StoredKey, len(tail))
	hasTime := false
	for i, k := range tail {
		keys[i] = k.key | block.StoredKey(k.id-r.first)
		if k.key.IsTimely() {
			if !hasTime {
				r.from, r.to, hasTime = k.ms, k.ms, true
			}
			r.from, r.to = min(r.from, k.ms), max(r.to, k.ms)
		}
	}
	slices.Sort(keys)
	return r, keys, insertKeyRun(t, project, r, keys)
}

// mergeNext merges the last lists of a project if that is due. It returns the new lists, or the same.
func (l *Log) mergeNext(t *database.Tx, project int64, runs []*keyRun) (merged []*keyRun, keys []block.StoredKey, err error) {
	due := dueRuns(runs)
	if due == 0 {
		return runs, nil, nil
	}
	n := len(runs) - due
	r := &keyRun{unit: unit{runs[n].first, runs[len(runs)-1].last}}
	hasTime := false
	var lists [][]block.StoredKey
	for _, o := range runs[n:] {
		list, err := l.readKeys(t.Ctx, t.SQL, o)
		if err == nil {
			err = l.deleteKeyRun(t, project, o)
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			list[i] += block.StoredKey(o.first - r.first)
		}
		lists = append(lists, list)
		if o.timely > 0 {
			if !hasTime {
				r.from, r.to, hasTime = o.from, o.to, true
			}
			r.from, r.to = min(r.from, o.from), max(r.to, o.to)
		}
	}
	keys = mergeSorted(lists)
	return append(runs[:n:n], r), keys, insertKeyRun(t, project, r, keys)
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

// due returns a project for whose keys in memory a list is due, or 0: of a number of events, or, if the
// keys of all projects are half of what may be in memory, of the project that has the most.
func (k *keyIndex) due(least int) (project int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	most := 0
	for id, p := range k.projects {
		if dueKeys(p.tail, least) > 0 {
			return id
		}
		if k.tails > maxKeyTails/2 && len(p.tail) > most {
			project, most = id, len(p.tail)
		}
	}
	return project
}

// listKeys makes a list of the keys of a project, if that is due, and merges lists. It reports whether
// there was one.
func (l *Log) listKeys(ctx context.Context) (more bool, err error) {
	project := l.keys.due(l.KeyEvents)
	if project == 0 {
		return false, nil
	}
	return l.listKeysOf(ctx, project, l.inBlocks)
}

// listAllKeys makes lists of all keys of a project, so that they need not be read from segments.
func (l *Log) listAllKeys(ctx context.Context, project int64) error {
	for more := true; more; {
		var err error
		if more, err = l.listKeysOf(ctx, project, l.inSealing); err != nil {
			return err
		}
	}
	return nil
}

// listKeysOf makes a list of the keys of a project that have none, in a transaction in which no other server does
// so, and merges lists. It reports whether there were any.
func (l *Log) listKeysOf(ctx context.Context, project int64, within func(context.Context, func(t *database.Tx) error) error) (more bool, err error) {
	var p *projectKeys
	var changed keyChange
	hasTurn := false
	err = within(ctx, func(t *database.Tx) error {
		if err := l.db.LockProjects(ctx, t.SQL, []int64{project}); err != nil {
			return err
		}
		if hasTurn = l.db.Dialect.SingleWriter; hasTurn {
			l.keys.turn.Lock()
		}
		if p, err = l.currentKeys(ctx, l.in(t), project, true); err != nil {
			return err
		}
		changed, err = l.changeKeys(t, project, p)
		return err
	})
	l.keys.mu.Lock()
	switch {
	case p == nil: // another server does it
	case err != nil:
		p.check = true
	case changed.listed > 0:
		p.cut(changed.runs, changed.listed)
		l.keys.tails -= changed.listed
	}
	l.keys.mu.Unlock()
	if hasTurn {
		l.keys.turn.Unlock()
	}
	if err == nil && changed.keys != nil {
		r := changed.runs[len(changed.runs)-1]
		l.keys.setFilter(r, 0, changed.keys[:r.timely])
		l.keys.setFilter(r, 1, changed.keys[r.timely:])
	}
	return err == nil && changed.listed > 0, database.WrapError("duplicate keys of events", err)
}

// keyChange is what changeKeys has done: the new lists, the number of keys that are in lists now, and
// the keys of the last list.
type keyChange struct {
	runs   []*keyRun
	listed int
	keys   []block.StoredKey
}

// changeKeys makes a list of the keys of a project that have none, and merges lists.
func (l *Log) changeKeys(t *database.Tx, project int64, p *projectKeys) (c keyChange, err error) {
	l.keys.mu.Lock()
	tail := p.tail[:dueKeys(p.tail, 1)]
	c.runs = slices.Clip(p.runs)
	l.keys.mu.Unlock()
	if len(tail) == 0 {
		return c, nil
	}
	r, keys, err := makeKeyRun(t, project, tail)
	c.runs, c.listed, c.keys = append(c.runs, r), len(tail), keys
	for err == nil && keys != nil {
		if c.runs, keys, err = l.mergeNext(t, project, c.runs); keys != nil {
			c.keys = keys
		}
	}
	return c, err
}

// deleteKeyRuns deletes the lists of a project that have only events up to an id, which are deleted.
func (l *Log) deleteKeyRuns(t *database.Tx, project, last int64) error {
	var n int
	err := t.SQL.QueryRowContext(t.Ctx, `SELECT COUNT(*) FROM event_key_runs WHERE project_id = $1 AND last_id <= $2`, project, last).Scan(&n)
	if err != nil || n == 0 {
		return err
	}
	runs, err := listKeyRuns(t.Ctx, t.SQL, project)
	for _, r := range runs {
		if r.last <= last && err == nil {
			err = l.deleteKeyRun(t, project, r)
		}
	}
	l.keys.recheck(project)
	return err
}
