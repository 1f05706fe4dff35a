package events

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// keyIndex finds events by their duplicate keys. It has the first keys of the pages of all lists in
// memory, filters, and the keys of the events that are in no list yet, which it reads from the
// events.
type keyIndex struct {
	// secret is the number of the hashes.
	secret int64
	// filterBytes are the limits of the filters of the timely keys, which few lists need at a time, and of the
	// late keys, in bytes: a filter has 16 bits for each key, and down to 4 if there is no room. Of lists without a
	// filter, a page is read for each key.
	filterBytes [2]int
	// turn is locked, on SQLite, from the claim of keys or the change of lists until the memory has
	// the result of the commit. It is only acquired in a transaction that writes.
	turn sync.Mutex

	// mu guards the fields below and the contents of the projects.
	mu       sync.Mutex
	projects map[int64]*projectKeys
	uses     int64
	// tails is about the number of keys of events without a list.
	tails int
	// merging is a project whose lists may be due to be merged, or 0, and building the filter that is being built,
	// or nil.
	merging  int64
	building *filterBuild
}

const (
	// maxKeyTails is the number of keys of events without a list that are in memory. Above it, the
	// keys of the projects that were not used for the longest time are dropped.
	maxKeyTails = 1 << 18
	// maxKeyProjects is the number of projects whose keys are in memory.
	maxKeyProjects = 4096
)

// projectKeys are the keys of a project.
type projectKeys struct {
	runs []*keyRun
	// tail are the keys of the events after the last list, up to the id seen. newest is the index in
	// tail of the newest event with a key.
	tail   []tailKey
	newest map[block.Key]int32
	seen   int64
	// check is true if the database may have other lists or further events. With several servers it
	// always may.
	check bool
	used  int64
}

// tailKey is the key of an event that is in no list yet.
type tailKey struct {
	key  block.StoredKey // without an offset
	ms   int64           // the time of a timely key
	id   int64
	next int32 // the index of the next older event with the same key, or -1
}

// end returns the last id of the lists.
func (p *projectKeys) end() (last int64) {
	for _, r := range p.runs {
		last = max(last, r.last)
	}
	return last
}

// changes returns the number of transactions that have moved keys between the lists.
func (p *projectKeys) changes() (n int64) {
	for _, r := range p.runs {
		n += r.changes
	}
	return n
}

// add appends the keys of events, except for events that it has already, and returns their number.
func (p *projectKeys) add(keys []tailKey) (added int) {
	for _, k := range keys {
		if k.id <= p.seen {
			continue
		}
		key := k.key.Key()
		k.next = -1
		if at, ok := p.newest[key]; ok {
			k.next = at
		}
		p.newest[key] = int32(len(p.tail))
		p.tail = append(p.tail, k)
		p.seen = k.id
		added++
	}
	return added
}

// cut removes the first n keys of the tail, which are in lists now.
func (p *projectKeys) cut(n int) {
	rest := p.tail[n:]
	p.tail, p.newest, p.seen = make([]tailKey, 0, cap(p.tail)), make(map[block.Key]int32, n), 0
	p.seen = p.end()
	p.add(rest)
}

// tailKeyOf returns the key of an event.
func tailKeyOf(key block.Key, uuid *capture.UUID, arrived, id int64) tailKey {
	stored, ms, _ := key.Stored(uuid, arrived, 0)
	return tailKey{key: stored, ms: ms, id: id}
}

// readTail returns the keys of the events of a project after an id, at most limit of them.
func (l *Log) readTail(ctx context.Context, q Source, project, after int64, limit int) (out []tailKey, err error) {
	var c Chunks
	hasher := block.NewKeyHasher(l.keys.secret)
	err = c.each(ctx, q, project, after, math.MaxInt64, withShort, func(e *block.Event, _ func() (LongColumns, error)) error {
		key := hasher.Key(&e.UUID, e.Name, e.DistinctID)
		if out = append(out, tailKeyOf(key, &e.UUID, e.Arrived, e.ID)); len(out) >= limit {
			return database.ErrPageFull
		}
		return nil
	})
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return out, err
}

// loadKeys reads the keys of a project.
func (l *Log) loadKeys(ctx context.Context, q Source, project int64) (*projectKeys, error) {
	runs, err := listKeyRuns(ctx, q, project)
	if err != nil {
		return nil, err
	}
	p := &projectKeys{runs: runs, newest: map[block.Key]int32{}}
	p.seen = p.end()
	tail, err := l.readTail(ctx, q, project, p.seen, math.MaxInt)
	p.add(tail)
	return p, err
}

// keyVersion selects what changes whenever the lists or the last event of a project do: unless the last id of the lists
// becomes greater, their number becomes smaller or the number of changes greater.
const keyVersion = `SELECT COUNT(*), COALESCE(MAX(last_id), 0), CAST(COALESCE(SUM(changes), 0) AS BIGINT),
	COALESCE((SELECT last_id FROM event_chunks WHERE project_id = $1 ORDER BY first_id DESC LIMIT 1), 0),
	COALESCE((SELECT last_id FROM event_segments WHERE project_id = $1 ORDER BY first_id DESC LIMIT 1), 0)
	FROM event_key_runs WHERE project_id = $1`

// isCurrent reports whether the lists of a project are the ones of the database, and whether all
// events are there too.
func (l *Log) isCurrent(ctx context.Context, q database.Querier, project int64, p *projectKeys) (runs, tail bool, err error) {
	var n int
	var end, changes, chunks, segments int64
	err = q.QueryRowContext(ctx, keyVersion, project).Scan(&n, &end, &changes, &chunks, &segments)
	l.keys.mu.Lock()
	defer l.keys.mu.Unlock()
	return n == len(p.runs) && end == p.end() && changes == p.changes(), max(chunks, segments) <= p.seen, err
}

// currentKeys returns the keys of a project, with all events that are committed or that the
// transaction q has stored. Outside of transactions that hold the lock of the project, isOwner is
// false.
func (l *Log) currentKeys(ctx context.Context, q Source, project int64, isOwner bool) (*projectKeys, error) {
	k := &l.keys
	k.mu.Lock()
	p := k.projects[project]
	check := p != nil && (p.check || !l.db.Dialect.SingleWriter)
	k.mu.Unlock()
	if check {
		runs, tail, err := l.isCurrent(ctx, q, project, p)
		if err != nil {
			return nil, err
		}
		switch {
		case !runs:
			p = nil
		case !tail:
			k.mu.Lock()
			seen := p.seen
			k.mu.Unlock()
			added, err := l.readTail(ctx, q, project, seen, math.MaxInt)
			if err != nil {
				return nil, err
			}
			k.mu.Lock()
			k.grow(p, p.add(added))
			k.mu.Unlock()
		}
	}
	isNew := p == nil
	if isNew {
		var err error
		if p, err = l.loadKeys(ctx, q, project); err != nil {
			return nil, err
		}
		p.check = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.uses++; isOwner {
		p.check = false
	}
	p.used = k.uses
	if isNew && (isOwner || k.projects[project] == nil) {
		k.projects[project] = p
		k.merging = project
		k.evict(p)
	}
	return p, nil
}

// evict drops the keys of other projects than p while there are too many.
func (k *keyIndex) evict(p *projectKeys) {
	for {
		keys, oldest := 0, int64(0)
		for id, o := range k.projects {
			if keys += len(o.tail); o != p && (oldest == 0 || o.used < k.projects[oldest].used) {
				oldest = id
			}
		}
		k.tails = keys
		if oldest == 0 || keys <= maxKeyTails && len(k.projects) <= maxKeyProjects {
			return
		}
		delete(k.projects, oldest)
	}
}

// grow counts n keys that were added to the keys of p. mu must be locked.
func (k *keyIndex) grow(p *projectKeys, n int) {
	if k.tails += n; k.tails > maxKeyTails {
		k.evict(p)
	}
}

// recheck makes the next claim of a project check its lists.
func (k *keyIndex) recheck(project int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.projects[project]; p != nil {
		p.check = true
	}
}

// keySearch is a key that is searched in lists.
type keySearch struct {
	index   int
	key     block.Key
	ms      int64 // in the UUID if it is of version 7
	isTimed bool
}

// keyPage is a page in which keys are searched.
type keyPage struct {
	first int64 // id of the list
	span  block.KeySpan
	index int // of the search
}

// comparison is the result of comparing an event with a key.
type comparison uint8

const (
	uncompared  comparison = iota // the event was not found
	isDifferent                   // or was erased
	isSame
)

// candidate is an event that may have a key.
type candidate struct {
	index  int // of the key
	id     int64
	result comparison
}

// search adds to pages, by their ids, the pages of the lists that may have a key.
func (p *projectKeys) search(pages map[int64][]keyPage, searches []keySearch) {
	first, last := int64(math.MaxInt64), int64(math.MinInt64) // the times of the searches
	for _, s := range searches {
		if s.isTimed {
			first, last = min(first, s.ms), max(last, s.ms)
		}
	}
	for _, r := range p.runs {
		for class := range r.filters {
			if r.keys(class) > 0 && (class == 1 || r.from <= last && r.to >= first) {
				r.search(pages, class, searches)
			}
		}
	}
}

// search implements search for the keys of a class of a list.
func (r *keyRun) search(pages map[int64][]keyPage, class int, searches []keySearch) {
	f := &r.filters[class]
	for i := range searches {
		s := &searches[i]
		if !r.mayHave(class, s.ms, s.isTimed) {
			continue
		}
		if f.Size() == 0 {
			r.unfiltered[class]++
		}
		if f.MayHave(s.key) {
			r.addPages(pages, s.key.Span(class == 0), s.index)
		}
	}
}

// addPages adds the pages of a list that may have keys of a span.
func (r *keyRun) addPages(pages map[int64][]keyPage, span block.KeySpan, index int) {
	from, to := span.Pages(r.starts)
	for page := from; page < to; page++ {
		id := r.pageID(page)
		pages[id] = append(pages[id], keyPage{r.first, span, index})
	}
}

// readCandidates reads pages and returns the events that may have a key in them.
func (l *Log) readCandidates(ctx context.Context, q database.Querier, pages map[int64][]keyPage) (found []candidate, err error) {
	ids := make([]int64, 0, len(pages))
	for id := range pages {
		ids = append(ids, id)
	}
	missing := len(ids)
	var keys []block.StoredKey
	err = l.eachKeyPage(ctx, q, ids, func(id int64, data []byte) (err error) {
		missing--
		for _, s := range pages[id] {
			if keys, err = s.span.FindKeys(keys[:0], data); err != nil {
				return err
			}
			for _, k := range keys {
				found = append(found, candidate{index: s.index, id: s.first + k.Offset()})
			}
		}
		return nil
	})
	if err == nil && missing > 0 {
		err = fmt.Errorf("%d pages of duplicate keys are missing: %w", missing, block.ErrDamaged)
	}
	return found, err
}
