package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

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

// listKeys creates a list of the keys of a project, if that is due, or executes a step of merging lists or of building
// a filter. It reports whether there was something to do.
func (l *Log) listKeys(ctx context.Context) (more bool, err error) {
	if project := l.keys.due(l.KeyEvents); project > 0 {
		return l.changeKeys(ctx, project, l.inBlocks, listTail)
	}
	l.keys.mu.Lock()
	project := l.keys.merging
	l.keys.mu.Unlock()
	if project == 0 {
		return l.buildKeyFilter(ctx)
	}
	more, err = l.changeKeys(ctx, project, l.inBlocks, mergeRuns)
	if !more && err == nil {
		l.keys.mu.Lock()
		if l.keys.merging == project {
			l.keys.merging = 0
		}
		l.keys.mu.Unlock()
	}
	return more, err
}

// listAllKeys makes lists of all keys of a project, so that they need not be read from segments.
func (l *Log) listAllKeys(ctx context.Context, project int64) error {
	for more := true; more; {
		var err error
		if more, err = l.changeKeys(ctx, project, l.inSealing, listTail); err != nil {
			return err
		}
	}
	return nil
}

// keyChange is a change of the lists of a project: the new lists, and the number of keys that are in lists now.
// If keys is not nil, it has the keys of the list run.
type keyChange struct {
	runs   []*keyRun
	listed int
	keys   []block.StoredKey
	run    *keyRun
}

// listTail creates a list of the keys of a project that are in no list. It returns nil if there are no such keys.
func listTail(l *Log, t *database.Tx, project int64, p *projectKeys) (*keyChange, error) {
	l.keys.mu.Lock()
	tail, runs := p.tail[:dueKeys(p.tail, 1)], slices.Clip(p.runs)
	l.keys.mu.Unlock()
	if len(tail) == 0 {
		return nil, nil
	}
	r, keys, err := makeKeyRun(t, project, tail)
	return &keyChange{append(runs, r), len(tail), keys, r}, err
}

// mergeRuns executes a step of merging the lists of a project. It returns nil if no lists are to be merged.
func mergeRuns(l *Log, t *database.Tx, project int64, p *projectKeys) (*keyChange, error) {
	l.keys.mu.Lock()
	runs := slices.Clip(p.runs)
	l.keys.mu.Unlock()
	first, end := mergingRuns(runs)
	if end-first < 2 {
		return nil, nil
	}
	merged, all, err := l.mergeKeys(t, project, runs, first, end)
	if err != nil {
		return nil, err
	}
	return &keyChange{runs: merged, keys: all, run: merged[first]}, nil
}

// changeKeys changes the lists of a project in a transaction in which no other server does so. It reports whether
// there was something to change.
func (l *Log) changeKeys(ctx context.Context, project int64, within func(context.Context, func(t *database.Tx) error) error,
	change func(l *Log, t *database.Tx, project int64, p *projectKeys) (*keyChange, error)) (more bool, err error) {
	var p *projectKeys
	var changed *keyChange
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
		changed, err = change(l, t, project, p)
		return err
	})
	l.keys.mu.Lock()
	switch {
	case p == nil: // another server does it
	case err != nil:
		p.check = true
	case changed != nil:
		if p.runs = changed.runs; changed.listed > 0 {
			p.cut(changed.listed)
			l.keys.tails -= changed.listed
			l.keys.merging = project
		}
	}
	l.keys.mu.Unlock()
	if hasTurn {
		l.keys.turn.Unlock()
	}
	if err == nil && changed != nil && changed.keys != nil {
		l.keys.setFilters(changed.run, changed.keys)
	}
	return err == nil && changed != nil, database.WrapError("duplicate keys of events", err)
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
