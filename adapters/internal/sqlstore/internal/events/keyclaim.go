package events

import (
	"context"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// A KeyClaim has the keys of the new events of a transaction. A nil KeyClaim has none.
type KeyClaim struct {
	log *Log
	// keys are the hashes of the keys of the new events, in order, until Store.
	keys     []block.Key
	stored   map[int64][]tailKey
	projects map[int64]*projectKeys
	// isOlder is true if the keys are those of the table event_keys, which are older then.
	isOlder bool
	older   [][]byte
}

// claimedKeys are the keys of a project in a call of Claim.
type claimedKeys struct {
	project  int64
	p        *projectKeys
	searches []keySearch // of keys that occur first
}

// Claim reports which of some events are not stored yet, by their keys, and returns these. If a key
// occurs several times, only the first is new. The transaction must hold the locks of their
// projects, and store the events. End must be called when it has ended.
//
// done are comparisons that were made before the transaction, or nil. If there are too many to make in
// the transaction, the error is an UncomparedError.
func (l *Log) Claim(t *database.Tx, keys []capture.EventKey, done *KeyComparisons) (c *KeyClaim, isNew []bool, err error) {
	if isOlder, err := l.lockOlderKeys(t); err != nil || isOlder {
		c = &KeyClaim{log: l, isOlder: true}
		if err == nil {
			c.older, isNew, err = findOlder(t, keys)
		}
		return c, isNew, err
	}
	c = &KeyClaim{log: l, stored: map[int64][]tailKey{}, projects: map[int64]*projectKeys{}}
	if l.db.Dialect.SingleWriter {
		l.keys.turn.Lock()
	}
	isNew = make([]bool, len(keys))
	hashes, groups := groupKeys(block.NewKeyHasher(l.keys.secret), keys, isNew)
	var late []*candidates
	reads := 0
	for _, g := range groups {
		found, err := l.findKeys(t, c, g)
		in := newCandidates(g.project, found, keys, isNew)
		if err == nil {
			err = done.recall(t, in)
		}
		if err == nil && done.mayRead(in, l.files.IsBucket(), &reads) {
			err = in.check(t.Ctx, l.in(t))
		} else {
			late = append(late, in)
		}
		if err != nil {
			c.End(err)
			return nil, nil, fmt.Errorf("project %d: %w", g.project, err)
		}
	}
	if len(late) > 0 {
		err := &UncomparedError{late}
		c.End(err)
		return nil, nil, err
	}
	for i, ok := range isNew {
		if ok {
			c.keys = append(c.keys, hashes[i])
		}
	}
	return c, isNew, nil
}

// groupKeys returns the hashes of keys, and the keys that occur first by project, for which it sets
// isNew.
func groupKeys(hasher *block.KeyHasher, keys []capture.EventKey, isNew []bool) (hashes []block.Key, groups []*claimedKeys) {
	type place struct {
		project int64
		key     block.Key
	}
	hashes = make([]block.Key, len(keys))
	first, more := make(map[place]int, len(keys)), map[place][]int{} // the indexes of different keys
	var g *claimedKeys
	for i := range keys {
		k := &keys[i]
		hashes[i] = hasher.Key(&k.UUID, k.Name, k.DistinctID)
		at := place{k.ProjectID, hashes[i]}
		if other, ok := first[at]; ok {
			isEqual := func(other int) bool { return keys[other] == *k }
			if isEqual(other) || slices.ContainsFunc(more[at], isEqual) {
				continue
			}
			more[at] = append(more[at], i)
		} else {
			first[at] = i
		}
		isNew[i] = true
		if g == nil || g.project != k.ProjectID {
			n := slices.IndexFunc(groups, func(g *claimedKeys) bool { return g.project == k.ProjectID })
			if n < 0 {
				n, groups = len(groups), append(groups, &claimedKeys{project: k.ProjectID})
			}
			g = groups[n]
		}
		ms, isTimed := block.KeyTime(&k.UUID)
		g.searches = append(g.searches, keySearch{i, hashes[i], ms, isTimed})
	}
	return hashes, groups
}

// findKeys returns the events that may have one of the keys of a project.
func (l *Log) findKeys(t *database.Tx, c *KeyClaim, g *claimedKeys) (found []candidate, err error) {
	if g.p, err = l.currentKeys(t.Ctx, l.in(t), g.project, true); err != nil {
		return nil, err
	}
	c.projects[g.project] = g.p
	pages := map[int64][]keyPage{}
	l.keys.mu.Lock()
	found = g.p.inTail(g.searches)
	g.p.search(pages, g.searches)
	l.keys.mu.Unlock()
	if len(pages) == 0 {
		return found, nil
	}
	listed, err := l.readCandidates(t.Ctx, t.SQL, pages)
	return append(found, listed...), err
}

// inTail returns the events without a list that may have a key.
func (p *projectKeys) inTail(searches []keySearch) (found []candidate) {
	for i := range searches {
		at, ok := p.newest[searches[i].key]
		for ; ok && at >= 0; at = p.tail[at].next {
			found = append(found, candidate{index: searches[i].index, id: p.tail[at].id})
		}
	}
	return found
}

// Store adds the keys of the new events, which are stored in the transaction with their ids and in the order of
// Claim.
func (c *KeyClaim) Store(t *database.Tx, events []capture.Record) error {
	if c.isOlder {
		err := storeOlder(t, c.older, events)
		c.older = nil
		return err
	}
	for i := range events {
		e := &events[i]
		c.stored[e.ProjectID] = append(c.stored[e.ProjectID], tailKeyOf(c.keys[i], &e.UUID, database.Micros(e.CreatedAt), e.ID))
	}
	c.keys = nil
	return nil
}

// New returns the number of new events that are not stored yet.
func (c *KeyClaim) New() int {
	if c == nil {
		return 0
	}
	return len(c.keys) + len(c.older)
}

// End ends a claim, with the error of the transaction. It has no effect on nil.
func (c *KeyClaim) End(err error) {
	if c == nil || c.isOlder {
		return
	}
	k := &c.log.keys
	k.mu.Lock()
	for project, p := range c.projects {
		if err != nil { // the transaction may have been committed nevertheless
			p.check = true
		} else {
			k.grow(p, p.add(c.stored[project]))
		}
	}
	k.mu.Unlock()
	if c.log.db.Dialect.SingleWriter {
		k.turn.Unlock()
	}
}

const (
	// maxClaimReads is the number of events that a transaction reads in order to compare them with keys.
	// Other writers wait meanwhile, for up to 0.1 ms an event if they are far from each other.
	maxClaimReads = 256
	// maxComparisons is the number of times that comparisons are made before a transaction. After that
	// the transaction makes those that are missing because of erased and sealed events.
	maxComparisons = 3
)

// UncomparedError is the error of Claim if there are many events with the hash of a key, or some may be
// in a bucket: Compare compares them first, while no transaction waits for it.
type UncomparedError struct{ projects []*candidates }

func (e *UncomparedError) Error() string {
	n := 0
	for _, c := range e.projects {
		n += len(c.list)
	}
	return fmt.Sprintf("%d events must be compared with keys before the transaction", n)
}

// KeyComparisons are results of comparing keys with stored events. They are valid until events of the
// project are erased or deleted.
type KeyComparisons struct {
	times    int
	projects map[int64]*projectComparisons
}

// projectComparisons are the comparisons of a project. rewritten is the value of the counter.
type projectComparisons struct {
	rewritten int64
	results   map[comparedKey]comparison
}

// comparedKey is an event and a key.
type comparedKey struct {
	id  int64
	key capture.EventKey
}

// Compare makes the comparisons that a claim lacks, outside of transactions, and returns them with
// earlier ones, which may be nil.
func (l *Log) Compare(ctx context.Context, e *UncomparedError, earlier *KeyComparisons) (*KeyComparisons, error) {
	if earlier == nil {
		earlier = &KeyComparisons{projects: map[int64]*projectComparisons{}}
	}
	earlier.times++
	for _, late := range e.projects {
		rewritten, err := rewrittenCount(ctx, l.db.Read, late.project)
		if err != nil {
			return nil, err
		}
		p := earlier.projects[late.project]
		if p == nil || p.rewritten != rewritten {
			p = &projectComparisons{rewritten, map[comparedKey]comparison{}}
			earlier.projects[late.project] = p
		}
		isNew := make([]bool, len(late.keys))
		for i := range isNew {
			isNew[i] = true
		}
		list := late.list
		late.isNew = isNew
		if err := late.check(ctx, l.Source()); err != nil {
			return nil, fmt.Errorf("comparing keys of project %d: %w", late.project, err)
		}
		for _, f := range list {
			if f.result != uncompared {
				p.results[comparedKey{f.id, late.keys[f.index]}] = f.result
			}
		}
	}
	return earlier, nil
}

// recall sets the results that are known of candidates, and leaves the others of the keys that are still new.
func (d *KeyComparisons) recall(t *database.Tx, c *candidates) error {
	if d == nil || d.projects[c.project] == nil {
		return nil
	}
	p := d.projects[c.project]
	n, err := rewrittenCount(t.Ctx, t.SQL, c.project)
	if err != nil || n != p.rewritten {
		return err
	}
	rest := c.list[:0]
	for _, f := range c.list {
		switch p.results[comparedKey{f.id, c.keys[f.index]}] {
		case isSame:
			c.setResult(f, true)
		case uncompared:
			rest = append(rest, f)
		}
	}
	c.list = rest
	return nil
}

// mayRead reports whether a transaction may read the events of the candidates, after it has read some already, and counts
// them.
func (d *KeyComparisons) mayRead(c *candidates, inBucket bool, read *int) bool {
	n := 0
	for _, f := range c.list {
		if c.isNew[f.index] {
			n++
		}
	}
	if n == 0 || d != nil && d.times >= maxComparisons {
		return true
	}
	*read += n
	return !inBucket && *read <= maxClaimReads
}
