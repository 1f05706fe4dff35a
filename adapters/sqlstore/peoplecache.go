package sqlstore

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
)

const (
	// defaultCacheBytes is Config.MaxCacheBytes where that is zero: 24 MiB.
	defaultCacheBytes = 24 << 20
	// maxCacheEntries bounds the distinct ids that are remembered, and the groups.
	maxCacheEntries = 16384
	// maxEntryBytes is the largest person or group that is remembered: 16 KiB of
	// JSON.
	maxEntryBytes = 16 << 10

	peopleShards = 16
	// stampStripes are how many changes a shard tells apart while something is read.
	stampStripes = 64

	// What an entry costs beside its texts, measured roughly; decoded properties
	// take about decodedFactor times their text.
	// An id's size covers a person that is nobody.
	idSize, personSize, groupSize, memberSize = 500, 100, 75, 48
	decodedFactor                             = 4
)

// peopleCache remembers people and groups as flags want them. What a transaction
// of this process changes is forgotten when it has committed.
//
// A reader who read before a commit must not put in afterwards what it read:
// there is one clock, which every forgetting moves on; shards note when they last
// forgot, by stripes of keys; and what was read before that is not kept. Ids of
// one person share a place for it; forgetting the person empties that, whatever
// ids still point to it.
type peopleCache struct {
	clock  atomic.Uint64
	seed   maphash.Seed
	shards [peopleShards]peopleShard
	// maxShardBytes is how many bytes a shard may hold.
	maxShardBytes int

	types typesCache
}

// peopleShard holds the ids, persons and groups whose hashes fall into it.
type peopleShard struct {
	mu      sync.Mutex
	bytes   int
	ids     *simplelru.LRU[idKey, *personEntry]
	persons *simplelru.LRU[personKey, *personEntry]
	groups  *simplelru.LRU[groupCacheKey, *cachedGroup]
	stamps  [stampStripes]uint64
	all     uint64 // the last time everything of some project was forgotten
}

type idKey struct {
	project int64
	id      string
}

type personKey struct {
	project int64
	uuid    capture.UUID
}

type groupCacheKey struct {
	project int64
	capture.GroupID
}

// personEntry is where the ids of a person find it; empty once it is forgotten.
type personEntry struct{ person atomic.Pointer[cachedPerson] }

// cachedPerson is a person as read once. It never changes.
type cachedPerson struct {
	stored    flags.Stored
	overrides map[string]string // by flag key
	uuid      capture.UUID      // zero: nobody
	parts     parts
	size      int
	readAt    time.Time
}

type cachedGroup struct {
	properties flags.Properties // nil: there is no such group
	size       int
	readAt     time.Time
}

func newPeopleCache(bytes int) *peopleCache {
	if bytes <= 0 {
		bytes = defaultCacheBytes
	}
	c := &peopleCache{seed: maphash.MakeSeed(), maxShardBytes: bytes / peopleShards}
	c.types.byProject, _ = simplelru.NewLRU[int64, *cachedTypes](1024, nil) // fails only for sizes below 1
	for i := range c.shards {
		s := &c.shards[i]
		const entries = maxCacheEntries / peopleShards
		s.ids, _ = simplelru.NewLRU(entries, func(k idKey, _ *personEntry) { s.bytes -= idCost(k.id) })
		s.persons, _ = simplelru.NewLRU(entries, func(_ personKey, h *personEntry) {
			// Without its key nothing could find it any more to forget it.
			s.bytes -= h.person.Swap(nil).cost()
		})
		s.groups, _ = simplelru.NewLRU(entries, func(_ groupCacheKey, g *cachedGroup) { s.bytes -= g.cost() })
	}
	return c
}

func idCost(id string) int                 { return len(id) + idSize }
func (k *cachedPerson) cost() int          { return decodedFactor * k.size }
func (g *cachedGroup) cost() int           { return decodedFactor * g.size }
func (c *peopleCache) tick() uint64        { return c.clock.Add(1) }
func isFresh(readAt, since time.Time) bool { return since.IsZero() || !readAt.Before(since) }

// shardOf is the shard and the stripe of a key.
func (c *peopleCache) shardOf(project int64, key string) (*peopleShard, *uint64) {
	h := maphash.String(c.seed, key) + uint64(project)*0x9e3779b97f4a7c15
	h ^= h >> 32
	s := &c.shards[h%peopleShards]
	return s, &s.stamps[h/peopleShards%stampStripes]
}

func (c *peopleCache) shardOfPerson(project int64, uuid capture.UUID) (*peopleShard, *uint64) {
	return c.shardOf(project, string(uuid[:]))
}

// get returns what is remembered of a distinct id, nil when it has to be read.
func (c *peopleCache) get(project int64, id string, want parts, since time.Time) *cachedPerson {
	s, _ := c.shardOf(project, id)
	s.mu.Lock()
	entry, ok := s.ids.Get(idKey{project, id})
	s.mu.Unlock()
	if !ok {
		return nil
	}
	k := entry.person.Load()
	if k == nil || k.parts&want != want || !isFresh(k.readAt, since) {
		return nil
	}
	if !k.uuid.IsZero() { // it is in use, too
		s, _ := c.shardOfPerson(project, k.uuid)
		s.mu.Lock()
		s.persons.Get(personKey{project, k.uuid})
		s.mu.Unlock()
	}
	return k
}

// put remembers what was read of a distinct id after the clock showed before.
// Ids share a person that was read after since.
func (c *peopleCache) put(project int64, id string, k *cachedPerson, before uint64, since time.Time) {
	if k.size > maxEntryBytes {
		return
	}
	var entry *personEntry
	if k.uuid.IsZero() {
		entry = &personEntry{}
		entry.person.Store(k)
	} else if entry = c.putPerson(project, k, before, since); entry == nil {
		return
	}
	s, stamp := c.shardOf(project, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return
	}
	key := idKey{project, strings.Clone(id)}
	s.ids.Remove(key)
	s.ids.Add(key, entry)
	s.bytes += idCost(id)
	s.shrink(c.maxShardBytes)
}

// putPerson makes a person findable by its uuid. One that is there already stays
// when it has all parts.
func (c *peopleCache) putPerson(project int64, k *cachedPerson, before uint64, since time.Time) *personEntry {
	key := personKey{project, k.uuid}
	s, stamp := c.shardOfPerson(project, k.uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return nil
	}
	if entry, ok := s.persons.Get(key); ok {
		if old := entry.person.Load(); old.parts&k.parts == k.parts && isFresh(old.readAt, since) {
			return entry
		}
		s.persons.Remove(key)
	}
	entry := &personEntry{}
	entry.person.Store(k)
	s.persons.Add(key, entry)
	s.bytes += k.cost()
	s.shrink(c.maxShardBytes)
	return entry
}

// shrink forgets the least recently used until the shard is small enough.
func (s *peopleShard) shrink(limit int) {
	for s.bytes > limit {
		_, _, id := s.ids.RemoveOldest()
		_, _, person := s.persons.RemoveOldest()
		_, _, group := s.groups.RemoveOldest()
		if !id && !person && !group {
			return
		}
	}
}

func (c *peopleCache) getGroup(project int64, id capture.GroupID, since time.Time) *cachedGroup {
	s, _ := c.shardOf(project, id.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.groups.Get(groupCacheKey{project, id}); ok && isFresh(g.readAt, since) {
		return g
	}
	return nil
}

func (c *peopleCache) putGroup(project int64, id capture.GroupID, g *cachedGroup, before uint64) {
	if g.size > maxEntryBytes {
		return
	}
	id.Key = strings.Clone(id.Key)
	key := groupCacheKey{project, id}
	s, stamp := c.shardOf(project, id.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return
	}
	s.groups.Remove(key)
	s.groups.Add(key, g)
	s.bytes += g.cost()
	s.shrink(c.maxShardBytes)
}

// forgetIDs forgets whom distinct ids belong to.
func (c *peopleCache) forgetIDs(project int64, ids []string) {
	now := c.tick()
	for _, id := range ids {
		s, stamp := c.shardOf(project, id)
		s.mu.Lock()
		*stamp = now
		s.ids.Remove(idKey{project, id})
		s.mu.Unlock()
	}
}

// forgetPersons forgets persons under all of their ids.
func (c *peopleCache) forgetPersons(project int64, uuids []capture.UUID) {
	now := c.tick()
	for _, uuid := range uuids {
		s, stamp := c.shardOfPerson(project, uuid)
		s.mu.Lock()
		*stamp = now
		s.persons.Remove(personKey{project, uuid})
		s.mu.Unlock()
	}
}

// forgetGroups forgets groups, and the project's group types when one of them is
// of a type that was not known.
func (c *peopleCache) forgetGroups(project int64, ids []capture.GroupID) {
	now := c.tick()
	highest := -1
	for _, id := range ids {
		highest = max(highest, id.Type)
		s, stamp := c.shardOf(project, id.Key)
		s.mu.Lock()
		*stamp = now
		s.groups.Remove(groupCacheKey{project, id})
		s.mu.Unlock()
	}
	c.types.forget(project, highest, now)
}

// forgetProject forgets everything of a project.
func (c *peopleCache) forgetProject(project int64) {
	c.forgetWhere(func(p int64) bool { return p == project })
}

// forgetAll forgets everything.
func (c *peopleCache) forgetAll() { c.forgetWhere(func(int64) bool { return true }) }

func (c *peopleCache) forgetWhere(match func(project int64) bool) {
	now := c.tick()
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.all = now
		removeWhere(s.ids, func(k idKey) bool { return match(k.project) })
		removeWhere(s.persons, func(k personKey) bool { return match(k.project) })
		removeWhere(s.groups, func(k groupCacheKey) bool { return match(k.project) })
		s.mu.Unlock()
	}
	c.types.forgetWhere(match, now)
}

func removeWhere[K comparable, V any](cache *simplelru.LRU[K, V], match func(K) bool) {
	for _, key := range cache.Keys() {
		if match(key) {
			cache.Remove(key)
		}
	}
}

// typesCache remembers the names of group types.
type typesCache struct {
	mu        sync.Mutex
	byProject *simplelru.LRU[int64, *cachedTypes]
	stamp     uint64
}

type cachedTypes struct {
	names  []string
	readAt time.Time
}

func (c *peopleCache) getTypes(project int64, since time.Time) ([]string, bool) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.byProject.Get(project)
	if !ok || !isFresh(k.readAt, since) {
		return nil, false
	}
	return k.names, true
}

func (c *peopleCache) putTypes(project int64, names []string, readAt time.Time, before uint64) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stamp <= before {
		t.byProject.Add(project, &cachedTypes{names, readAt})
	}
}

// forget forgets the types of a project where the one of that number is not
// among them.
func (t *typesCache) forget(project int64, index int, now uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.byProject.Peek(project)
	if ok && index < len(k.names) && (index < 0 || k.names[index] != "") {
		return
	}
	t.byProject.Remove(project)
	t.stamp = now
}

func (t *typesCache) forgetWhere(match func(project int64) bool, now uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stamp = now
	removeWhere(t.byProject, match)
}
