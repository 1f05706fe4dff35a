package flags

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/spaolacci/murmur3"
)

const (
	// revisionAge is how long a project is served before its revision is read
	// again: the price of freshness is one small read a key and second.
	revisionAge = time.Second
	// registryShards and registryKeys bound the registry: the least recently used
	// of 16 times 1,024 projects are forgotten first, and so of unknown keys.
	registryShards = 16
	registryKeys   = 1024
	// maxKey is the longest API key there can be, in bytes.
	maxKey = 256
)

// registry keeps compiled sets by API key and renews them when a project's
// revision grows, or, of one without revisions, when its definitions are others. Keys
// are spread over shards, so that cores seldom wait for one another.
type registry struct {
	source   Source
	lastGood Source // nil: nothing is kept
	shards   [registryShards]registryShard
	stats    *counters
}

// registryShard keeps unknown keys apart, with the time when they were asked
// for, so that a flood of them drives no project out.
type registryShard struct {
	entries *lru.Cache[string, *entry]
	unknown *lru.Cache[string, int64]
}

// freshness is how good a value is that is kept.
type freshness uint8

const (
	current  freshness = iota
	aging              // one caller renews it, the others take it meanwhile
	outdated           // there is none, or one that was replaced: all wait for the new one
)

// renewal keeps a value that one caller at a time renews.
type renewal[T any] struct {
	token   chan struct{} // holds a token while somebody renews
	last    atomic.Pointer[T]
	checked atomic.Int64          // when it was renewed, or said to be as it was
	failure atomic.Pointer[error] // of the last time that there was one
}

// get returns the last value while known says that it is current, else what renew
// keeps as the last, which may come with the error that kept it.
func (r *renewal[T]) get(ctx context.Context, cached func() (*T, freshness), renew func() (*T, error)) (*T, error) {
	last, state := cached()
	if state == current {
		return last, nil
	}
	select {
	case r.token <- struct{}{}:
	default:
		if state == aging {
			return last, nil
		}
		before := r.failure.Load()
		select {
		case r.token <- struct{}{}:
		case <-ctx.Done():
			return last, errors.Join(ErrUnavailable, ctx.Err())
		}
		// Those who waited for a read that failed do not each try it again.
		if failure := r.failure.Load(); failure != before {
			defer func() { <-r.token }()
			return r.last.Load(), *failure
		}
	}
	defer func() { <-r.token }()
	if last, state = cached(); state == current {
		return last, nil
	}
	renewed, err := renew()
	if err != nil && ctx.Err() == nil { // not for the sake of one who has gone away
		r.failure.Store(&err)
	}
	return renewed, err
}

// isRecent reports whether a time in nanoseconds is less than an age away. It may lie
// ahead by up to revisionAge: of a request that began later, or of a clock that was
// set back, which must not keep what is old for as long.
func isRecent(nanos int64, now time.Time, age time.Duration) bool {
	since := now.UnixNano() - nanos
	return -int64(revisionAge) < since && since < int64(age)
}

// getOrAdd finds an entry, or makes one that others find from then on.
func getOrAdd[K comparable, V any](c *lru.Cache[K, *V], key K, added *V) *V {
	if old, had, _ := c.PeekOrAdd(key, added); had {
		return old
	}
	return added
}

// entry is one key. Its set is replaced, never changed.
type entry struct {
	renewal[liveProject]
	changes     atomic.Uint64 // how many changes were announced
	changesRead atomic.Uint64 // what expired was when what is known was read
}

// cached is the last value. After a change that it may lack it is aging, and outdated
// for those who must not miss it.
func (e *entry) cached(now time.Time, newest bool) (*liveProject, freshness) {
	heard := e.changesRead.Load() == e.changes.Load()
	state := aging
	if heard && isRecent(e.checked.Load(), now, revisionAge) {
		state = current
	}
	last := e.last.Load() // after all that was asked of it: what is stored meanwhile is newer
	if last == nil || newest && !heard {
		state = outdated
	}
	return last, state
}

// markChecked notes when the source was asked, and how many changes were announced before.
func (e *entry) markChecked(now time.Time, changes uint64) {
	e.checked.Store(now.UnixNano())
	e.changesRead.Store(changes)
}

// liveProject is a project with its compiled flags, or the news that there is none.
type liveProject struct {
	project Project
	set     *Set
	defs    Definitions
	err     error
	served  func() (servedPayload, error)
	// content is that of defs when the revision is zero, which says nothing.
	content uint64
	// copied: it comes from lastGood, not from the source, whose revisions may count
	// something else.
	copied bool
}

func newRegistry(source, lastGood Source, stats *counters) *registry {
	r := &registry{source: source, lastGood: lastGood, stats: stats}
	for i := range r.shards {
		r.shards[i].entries, _ = lru.New[string, *entry](registryKeys) // fails only for sizes below 1
		r.shards[i].unknown, _ = lru.New[string, int64](registryKeys)
	}
	return r
}

// get returns a project and its flags: ErrUnknownKey, or ErrUnavailable when
// the source cannot be asked, nothing is known from before, and nothing is kept. With
// newest it has every change that was announced before: it waits where others read it.
func (r *registry) get(ctx context.Context, key string, now time.Time, newest bool) (*liveProject, error) {
	if len(key) > maxKey {
		return nil, ErrUnknownKey
	}
	// The key is only read: a copy would be an allocation in every request.
	shard := &r.shards[murmur3.Sum64(unsafe.Slice(unsafe.StringData(key), len(key)))%registryShards]
	e, ok := shard.entries.Get(key)
	if !ok {
		if at, isUnknown := shard.unknown.Get(key); isUnknown && isRecent(at, now, revisionAge) {
			return nil, ErrUnknownKey
		}
		e = getOrAdd(shard.entries, strings.Clone(key), &entry{renewal: renewal[liveProject]{token: make(chan struct{}, 1)}})
	}
	if l, state := e.cached(now, newest); state == current {
		return l, l.err
	}
	l, err := e.get(ctx, func() (*liveProject, freshness) { return e.cached(now, newest) }, func() (*liveProject, error) { return r.renew(ctx, shard, key, e, now) })
	if l != nil {
		err = l.err
	}
	return l, err
}

// expire makes the next request read a project again, whatever its age; with 0
// every project.
func (r *registry) expire(projectID int64) {
	for i := range r.shards {
		for _, e := range r.shards[i].entries.Values() {
			// Of what is read for the first time nobody knows whose it is.
			if l := e.last.Load(); l == nil || projectID == 0 || l.project.ID == projectID {
				e.changes.Add(1)
			}
		}
	}
}

// renew reads the project again. When that fails, the last good flags stay, or
// those that are kept are taken.
func (r *registry) renew(ctx context.Context, shard *registryShard, key string, e *entry, now time.Time) (*liveProject, error) {
	old, changes := e.last.Load(), e.changes.Load()
	keep := func(err error) (*liveProject, error) {
		r.stats.sourceErrors.Add(1)
		if old != nil && old.set != nil {
			if ctx.Err() != nil { // the caller has gone away, which must not cost others the change
				changes = e.changesRead.Load()
			}
			e.markChecked(now, changes)
			return old, nil
		}
		if l := r.loadLastGood(ctx, key); l != nil {
			r.store(shard, key, e, l, now, changes)
			return l, nil
		}
		shard.entries.Remove(key) // nothing is known: made-up keys must not drive projects out
		return nil, errors.Join(ErrUnavailable, err)
	}
	p, err := r.source.ProjectByKey(ctx, key)
	if errors.Is(err, ErrUnknownKey) {
		e.last.Store(&liveProject{err: err}) // for those who wait for this entry
		e.markChecked(now, changes)
		shard.entries.Remove(key)
		shard.unknown.Add(strings.Clone(key), now.UnixNano())
		return nil, err
	}
	if err != nil {
		return keep(err)
	}
	r.stats.confirmed.Store(now.UnixNano())
	same := old != nil && old.set != nil && !old.copied && old.project.Revision == p.Revision
	if same && p.Revision != 0 {
		return e.unchanged(old, p, now, changes), nil
	}
	d, err := r.source.Definitions(ctx, p)
	if err != nil {
		return keep(err)
	}
	content := uint64(0)
	if p.Revision == 0 {
		if content = contentOf(&d); same && content == old.content {
			return e.unchanged(old, p, now, changes), nil
		}
	}
	l := r.compile(p, d, old)
	l.content = content
	r.store(shard, key, e, l, now, changes)
	return l, nil
}

// unchanged keeps the flags, and takes what else is known of the project.
func (e *entry) unchanged(l *liveProject, p Project, now time.Time, changes uint64) *liveProject {
	if !sameProject(&l.project, &p) {
		l = l.withProject(p)
		e.last.Store(l)
	}
	e.markChecked(now, changes)
	return l
}

// compile uses what is compiled already, if anything is.
func (r *registry) compile(p Project, d Definitions, old *liveProject) *liveProject {
	d.Revision = p.Revision
	var before *Set
	if old != nil && p.Revision != 0 { // else what the source handed out may be changed in place
		before = old.set
	}
	l := &liveProject{project: p, set: before.Recompile(d), defs: d}
	l.served = lazyPayload(&l.defs, l.set)
	r.stats.compilations.Add(1)
	return l
}

func (r *registry) store(shard *registryShard, key string, e *entry, l *liveProject, now time.Time, changes uint64) {
	e.last.Store(l)
	e.markChecked(now, changes)
	// It may have gone after an error, or for others: then nothing could be announced to it.
	if stayed, _ := shard.entries.ContainsOrAdd(strings.Clone(key), e); !stayed {
		e.changes.Add(1)
	}
}

// loadLastGood is what lastGood has of a project, nil for nothing.
func (r *registry) loadLastGood(ctx context.Context, key string) *liveProject {
	if r.lastGood == nil {
		return nil
	}
	p, err := r.lastGood.ProjectByKey(ctx, key)
	if err != nil {
		return nil
	}
	d, err := r.lastGood.Definitions(ctx, p)
	if err != nil {
		return nil
	}
	l := r.compile(p, d, nil)
	l.copied = true
	return l
}

func (l *liveProject) withProject(p Project) *liveProject {
	return &liveProject{project: p, set: l.set, defs: l.defs, served: l.served, content: l.content}
}

// sameProject compares what can change without the revision.
func sameProject(a, b *Project) bool {
	sameLimit := a.FlagLimit == b.FlagLimit || a.FlagLimit != nil && b.FlagLimit != nil && *a.FlagLimit == *b.FlagLimit
	return sameLimit && slices.Equal(a.QuotaLimited, b.QuotaLimited) &&
		a.ID == b.ID && a.Name == b.Name && a.OrganizationID == b.OrganizationID && a.Browser == b.Browser
}

// counters are the totals of a Decider.
type counters struct {
	requests, decisions, quotaLimited, compilations, sourceErrors, storeErrors atomic.Uint64
	confirmed                                                                  atomic.Int64 // nanoseconds since 1970, 0 for never
}
