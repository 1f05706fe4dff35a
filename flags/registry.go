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
// revision grows. Keys are spread over shards, so that cores seldom wait for
// one another.
type registry struct {
	source Source
	shards [registryShards]registryShard
	stats  *counters
}

// registryShard keeps unknown keys apart, with the time when they were asked
// for, so that a flood of them drives no project out.
type registryShard struct {
	known   *lru.Cache[string, *entry]
	unknown *lru.Cache[string, int64]
}

// entry is one key. Its set is replaced, never changed.
type entry struct {
	reading chan struct{} // holds a token while somebody reads the source
	checked atomic.Int64
	live    atomic.Pointer[live]
	failure atomic.Pointer[error] // of the last read that left nothing known
}

func (e *entry) fresh(now time.Time) bool { return recent(e.checked.Load(), now) }

// recent reports whether a time in nanoseconds is less than revisionAge away. It
// may lie ahead: of a request that began later, or of a clock that was set back,
// which must not keep an old revision for as long.
func recent(at int64, now time.Time) bool {
	age := now.UnixNano() - at
	return -int64(revisionAge) < age && age < int64(revisionAge)
}

// live is a project with its compiled flags, or the news that there is none.
type live struct {
	project Project
	set     *Set
	defs    Definitions
	err     error
	served  func() (servedPayload, error)
}

func newRegistry(source Source, stats *counters) *registry {
	r := &registry{source: source, stats: stats}
	for i := range r.shards {
		r.shards[i].known, _ = lru.New[string, *entry](registryKeys) // fails only for sizes below 1
		r.shards[i].unknown, _ = lru.New[string, int64](registryKeys)
	}
	return r
}

// get returns a project and its flags: ErrUnknownKey, or ErrUnavailable when
// the source cannot be asked and nothing is known from before.
func (r *registry) get(ctx context.Context, key string, now time.Time) (*live, error) {
	if len(key) > maxKey {
		return nil, ErrUnknownKey
	}
	// The key is only read: a copy would be an allocation in every request.
	shard := &r.shards[murmur3.Sum64(unsafe.Slice(unsafe.StringData(key), len(key)))%registryShards]
	e, ok := shard.known.Get(key)
	if !ok {
		if at, asked := shard.unknown.Get(key); asked && recent(at, now) {
			return nil, ErrUnknownKey
		}
		e = &entry{reading: make(chan struct{}, 1)}
		if old, had, _ := shard.known.PeekOrAdd(strings.Clone(key), e); had {
			e = old
		}
	}
	old := e.live.Load()
	if old != nil && e.fresh(now) {
		return old, old.err
	}
	select {
	case e.reading <- struct{}{}:
	default: // somebody is at it: the old flags do, or else this is worth waiting for
		if old != nil {
			return old, old.err
		}
		before := e.failure.Load()
		select {
		case e.reading <- struct{}{}:
		case <-ctx.Done():
			return nil, errors.Join(ErrUnavailable, ctx.Err())
		}
		// Those who waited for a read that failed do not each try it again.
		if failure := e.failure.Load(); failure != before && e.live.Load() == nil {
			<-e.reading
			return nil, *failure
		}
	}
	defer func() { <-e.reading }()
	if l := e.live.Load(); l != nil && e.fresh(now) {
		return l, l.err
	}
	return r.renew(ctx, shard, key, e, now)
}

// expire makes the next request read a project again, whatever its age.
func (r *registry) expire(projectID int64) {
	for i := range r.shards {
		for _, e := range r.shards[i].known.Values() {
			if l := e.live.Load(); l != nil && l.project.ID == projectID {
				e.checked.Store(0)
			}
		}
	}
}

// renew reads the project again. When that fails, the last good flags stay.
func (r *registry) renew(ctx context.Context, shard *registryShard, key string, e *entry, now time.Time) (*live, error) {
	old := e.live.Load()
	keep := func(err error) (*live, error) {
		r.stats.sourceErrors.Add(1)
		if old != nil && old.set != nil {
			e.checked.Store(now.UnixNano())
			return old, nil
		}
		shard.known.Remove(key) // nothing is known: made-up keys must not drive projects out
		err = errors.Join(ErrUnavailable, err)
		if ctx.Err() == nil { // not for the sake of one who has gone away
			e.failure.Store(&err)
		}
		return nil, err
	}
	p, err := r.source.ProjectByKey(ctx, key)
	if errors.Is(err, ErrUnknownKey) {
		e.live.Store(&live{err: err}) // for those who wait for this entry
		e.checked.Store(now.UnixNano())
		shard.known.Remove(key)
		shard.unknown.Add(strings.Clone(key), now.UnixNano())
		return nil, err
	}
	if err != nil {
		return keep(err)
	}
	if old != nil && old.set != nil && old.project.Revision == p.Revision {
		if !sameProject(&old.project, &p) {
			old = old.with(p)
			e.live.Store(old)
		}
		e.checked.Store(now.UnixNano())
		return old, nil
	}
	d, err := r.source.Definitions(ctx, p)
	if err != nil {
		return keep(err)
	}
	d.Revision = p.Revision
	l := &live{project: p, set: Compile(d), defs: d}
	l.served = serve(&l.defs, l.set)
	r.stats.compilations.Add(1)
	e.live.Store(l)
	e.checked.Store(now.UnixNano())
	shard.known.ContainsOrAdd(strings.Clone(key), e) // it may have gone after an error, or for others
	return l, nil
}

func (l *live) with(p Project) *live {
	return &live{project: p, set: l.set, defs: l.defs, served: l.served}
}

// sameProject compares what can change without the revision.
func sameProject(a, b *Project) bool {
	sameLimit := a.FlagLimit == b.FlagLimit || a.FlagLimit != nil && b.FlagLimit != nil && *a.FlagLimit == *b.FlagLimit
	return sameLimit && slices.Equal(a.QuotaLimited, b.QuotaLimited) &&
		a.ID == b.ID && a.Name == b.Name && a.OrganizationID == b.OrganizationID
}
