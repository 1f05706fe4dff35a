package serving

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/internal/values"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/spaolacci/murmur3"
)

const (
	// revisionAge is how long a project is served without reading its revision. The cost is
	// one small read for each key and second.
	revisionAge = time.Second
	// registryShards and registryKeys limit the registry to 16 times 1,024 projects, and the
	// same number of unknown keys. The least recently used are evicted first.
	registryShards = 16
	registryKeys   = 1024
	// maxKey is the maximum length of an API key, in bytes.
	maxKey = 256
)

// registry caches compiled sets by API key. It renews them if a project's revision changes
// or, for projects without revisions, if the definitions change. Keys are distributed over
// shards to reduce contention for locks.
type registry struct {
	source   Source
	lastGood Source // nil if there is no fallback
	shards   [registryShards]registryShard
	stats    *counters
}

// registryShard caches unknown keys separately, with the time of their lookup, so that many
// requests with unknown keys do not evict projects.
type registryShard struct {
	entries *lru.Cache[string, *entry]
	unknown *lru.Cache[string, int64]
}

// freshness is the state of a cached value.
type freshness uint8

const (
	current  freshness = iota
	aging              // one caller renews it, while other callers use it
	outdated           // missing or replaced: all callers wait for the new one
)

// renewal caches a value that one caller at a time renews.
type renewal[T any] struct {
	token   chan struct{} // contains a token while a caller renews the value
	last    atomic.Pointer[T]
	checked atomic.Int64          // when the value was last renewed or confirmed, in nanoseconds
	failure atomic.Pointer[error] // the most recent error
}

// get returns the cached value if cached reports that it is current. Otherwise it calls
// renew, or returns the last value while another caller does. The value may be returned with
// the error that prevented a newer one.
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
			return last, errors.Join(flags.ErrUnavailable, ctx.Err())
		}
		// Callers that waited for a renewal that failed do not repeat it.
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
	if err != nil && ctx.Err() == nil { // an error of a cancelled request is not shared
		r.failure.Store(&err)
	}
	return renewed, err
}

// isRecent reports whether a time in nanoseconds is less than age ago. It may be in the
// future by up to revisionAge, for a request that started later. A greater difference means
// that the clock was set back, in which case old values must not remain in use for as long.
func isRecent(nanos int64, now time.Time, age time.Duration) bool {
	since := now.UnixNano() - nanos
	return -int64(revisionAge) < since && since < int64(age)
}

// getOrAdd returns the entry of a key, and adds the given entry if the key has no entry.
func getOrAdd[K comparable, V any](c *lru.Cache[K, *V], key K, added *V) *V {
	if old, had, _ := c.PeekOrAdd(key, added); had {
		return old
	}
	return added
}

// entry is the entry of one key. Its set is replaced, never modified.
type entry struct {
	renewal[liveProject]
	changes     atomic.Uint64 // number of changes announced by expire
	changesRead atomic.Uint64 // value of changes when the last value was read
}

// cached returns the last value and its state. After an announced change it is aging, or
// outdated if newest is true.
func (e *entry) cached(now time.Time, newest bool) (*liveProject, freshness) {
	upToDate := e.changesRead.Load() == e.changes.Load()
	state := aging
	if upToDate && isRecent(e.checked.Load(), now, revisionAge) {
		state = current
	}
	last := e.last.Load() // loaded last: a value stored meanwhile is newer than its state
	if last == nil || newest && !upToDate {
		state = outdated
	}
	return last, state
}

// markChecked records the time of a check of the source, and the number of changes announced
// before it.
func (e *entry) markChecked(now time.Time, changes uint64) {
	e.checked.Store(now.UnixNano())
	e.changesRead.Store(changes)
}

// liveProject is a project with its compiled flags, or the result that there is no such
// project.
type liveProject struct {
	project flags.Project
	set     *flags.Set
	defs    flags.Definitions
	err     error
	served  func() (servedPayload, error)
	// content is a hash of defs if the revision is zero, which means unknown.
	content uint64
	// copied is set if the definitions are from lastGood. Their revision must not be compared
	// with revisions of the source.
	copied bool
}

// newRegistry returns an empty registry.
func newRegistry(source, lastGood Source, stats *counters) *registry {
	r := &registry{source: source, lastGood: lastGood, stats: stats}
	for i := range r.shards {
		r.shards[i].entries, _ = lru.New[string, *entry](registryKeys) // returns an error only for sizes below 1
		r.shards[i].unknown, _ = lru.New[string, int64](registryKeys)
	}
	return r
}

// get returns a project and its flags. It returns ErrUnknownKey, or ErrUnavailable if the
// source fails and there are no earlier definitions, including in lastGood. If newest is
// true, the result includes every change announced before the call.
func (r *registry) get(ctx context.Context, key string, now time.Time, newest bool) (*liveProject, error) {
	if len(key) > maxKey {
		return nil, flags.ErrUnknownKey
	}
	// A slice of the string's own bytes, which are only read: a copy would allocate in every
	// request.
	shard := &r.shards[murmur3.Sum64(unsafe.Slice(unsafe.StringData(key), len(key)))%registryShards]
	e, ok := shard.entries.Get(key)
	if !ok {
		if at, isUnknown := shard.unknown.Get(key); isUnknown && isRecent(at, now, revisionAge) {
			return nil, flags.ErrUnknownKey
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

// expire makes the next request for a project check the source, whatever the age of its
// definitions. The project id 0 means all projects.
func (r *registry) expire(projectID int64) {
	for i := range r.shards {
		for _, e := range r.shards[i].entries.Values() {
			// The project of an entry that is read for the first time is still unknown.
			if l := e.last.Load(); l == nil || projectID == 0 || l.project.ID == projectID {
				e.changes.Add(1)
			}
		}
	}
}

// renew reads the project from the source. If that fails, the last valid flags remain in use,
// or the flags of lastGood if this is the first read.
func (r *registry) renew(ctx context.Context, shard *registryShard, key string, e *entry, now time.Time) (*liveProject, error) {
	old, changes := e.last.Load(), e.changes.Load()
	keep := func(err error) (*liveProject, error) {
		r.stats.sourceErrors.Add(1)
		if old != nil && old.set != nil {
			if ctx.Err() != nil { // a cancelled request must not hide the change from other requests
				changes = e.changesRead.Load()
			}
			e.markChecked(now, changes)
			return old, nil
		}
		if l := r.loadLastGood(ctx, key); l != nil {
			r.store(shard, key, e, l, now, changes)
			return l, nil
		}
		shard.entries.Remove(key) // so that invalid keys do not evict projects
		return nil, errors.Join(flags.ErrUnavailable, err)
	}
	p, err := r.source.ProjectByKey(ctx, key)
	if errors.Is(err, flags.ErrUnknownKey) {
		e.last.Store(&liveProject{err: err}) // for callers that wait for this entry
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
		if content = values.Content(&d); same && content == old.content {
			return e.unchanged(old, p, now, changes), nil
		}
	}
	l := r.compile(p, d, old)
	l.content = content
	r.store(shard, key, e, l, now, changes)
	return l, nil
}

// unchanged retains the flags and updates the other data of the project.
func (e *entry) unchanged(l *liveProject, p flags.Project, now time.Time, changes uint64) *liveProject {
	if !isSameProject(&l.project, &p) {
		l = l.withProject(p)
		e.last.Store(l)
	}
	e.markChecked(now, changes)
	return l
}

// compile compiles definitions and reuses the flags of old if possible.
func (r *registry) compile(p flags.Project, d flags.Definitions, old *liveProject) *liveProject {
	d.Revision = p.Revision
	var before *flags.Set
	if old != nil && p.Revision != 0 { // without revisions, a source may modify its definitions in place
		before = old.set
	}
	l := &liveProject{project: p, set: before.Recompile(d), defs: d}
	l.served = lazyPayload(&l.defs, l.set)
	r.stats.compilations.Add(1)
	return l
}

// store replaces the value of an entry.
func (r *registry) store(shard *registryShard, key string, e *entry, l *liveProject, now time.Time, changes uint64) {
	e.last.Store(l)
	e.markChecked(now, changes)
	// The entry may have been evicted. Changes in the meantime could not be announced to it,
	// so assume one.
	if stayed, _ := shard.entries.ContainsOrAdd(strings.Clone(key), e); !stayed {
		e.changes.Add(1)
	}
}

// loadLastGood returns a project from lastGood, or nil if it is not available there.
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

// withProject returns a copy with the same flags and other data of the project.
func (l *liveProject) withProject(p flags.Project) *liveProject {
	return &liveProject{project: p, set: l.set, defs: l.defs, served: l.served, content: l.content}
}

// isSameProject compares the data that may change without a new revision.
func isSameProject(a, b *flags.Project) bool {
	sameLimit := a.FlagLimit == b.FlagLimit || a.FlagLimit != nil && b.FlagLimit != nil && *a.FlagLimit == *b.FlagLimit
	return sameLimit && slices.Equal(a.QuotaLimited, b.QuotaLimited) &&
		a.ID == b.ID && a.Name == b.Name && a.OrganizationID == b.OrganizationID && a.Browser == b.Browser
}

// counters are the counts of a Decider's [Stats].
type counters struct {
	requests, decisions, quotaLimited, compilations, sourceErrors, storeErrors atomic.Uint64
	confirmed                                                                  atomic.Int64 // nanoseconds since 1970, 0 for never
}
