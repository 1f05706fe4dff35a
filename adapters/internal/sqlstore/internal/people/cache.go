package people

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
	// defaultCacheBytes is used if Config.MaxCacheBytes is zero: 24 MiB.
	defaultCacheBytes = 24 << 20
	// maxCacheEntries limits the number of distinct ids, and of groups.
	maxCacheEntries = 16384
	// maxEntryBytes is the size of the JSON of the largest person or group in the
	// cache.
	maxEntryBytes = 16 << 10

	// peopleShards is the number of shards, each with its own lock.
	peopleShards = 16
	// stampStripes is the number of stamps in a shard.
	stampStripes = 64

	// The cost of an entry in addition to its strings, roughly measured in bytes.
	// Decoded properties cost about decodedFactor times their JSON. The size of an id
	// includes an empty person.
	idSize, personSize, groupSize, memberSize = 500, 100, 75, 48
	decodedFactor                             = 4
)

// Cache caches persons and groups for the evaluation of flags. Entries that a
// transaction of this process changes are dropped after its commit.
//
// A goroutine that reads the database before a commit must not put the old data into
// the cache after it. Therefore every invalidation increments one clock, and stores its
// value as a stamp in the shards, by stripes of keys. Data that was read before the
// stamp of its key is not cached. All distinct ids of a person share one entry;
// invalidating the person empties the entry for all of them.
type Cache struct {
	clock  atomic.Uint64
	seed   maphash.Seed
	shards [peopleShards]peopleShard
	// maxShardBytes is the maximum size of a shard in bytes.
	maxShardBytes int

	types typesCache
}

// peopleShard contains the ids, persons and groups with certain hashes.
type peopleShard struct {
	mu      sync.Mutex
	bytes   int
	ids     *simplelru.LRU[idKey, *personEntry]
	persons *simplelru.LRU[personKey, *personEntry]
	groups  *simplelru.LRU[groupCacheKey, *cachedGroup]
	stamps  [stampStripes]uint64
	all     uint64 // the clock at the last invalidation of a whole project
}

// idKey is the key of a distinct id.
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

// personEntry is shared by the distinct ids of a person. Its pointer is nil after it
// was invalidated.
type personEntry struct{ person atomic.Pointer[cachedPerson] }

// cachedPerson is a person as it was read. It is immutable.
type cachedPerson struct {
	stored    flags.Stored
	overrides map[string]string // by flag key
	uuid      capture.UUID      // zero if there is no person
	// parts are the parts that were read, and size is the length of the strings in
	// bytes.
	parts  parts
	size   int
	readAt time.Time
}

// cachedGroup is a group as it was read. It is immutable.
type cachedGroup struct {
	properties flags.Properties // nil if the group does not exist
	size       int
	readAt     time.Time
}

// NewCache returns an empty cache with a maximum size in bytes; zero means the
// default.
func NewCache(bytes int) *Cache {
	if bytes <= 0 {
		bytes = defaultCacheBytes
	}
	c := &Cache{seed: maphash.MakeSeed(), maxShardBytes: bytes / peopleShards}
	c.types.byProject, _ = simplelru.NewLRU[int64, *cachedTypes](1024, nil) // fails only for sizes below 1
	for i := range c.shards {
		s := &c.shards[i]
		const entries = maxCacheEntries / peopleShards
		s.ids, _ = simplelru.NewLRU(entries, func(k idKey, _ *personEntry) { s.bytes -= idCost(k.id) })
		s.persons, _ = simplelru.NewLRU(entries, func(_ personKey, h *personEntry) {
			// Without its key, the person could not be invalidated any more.
			s.bytes -= h.person.Swap(nil).cost()
		})
		s.groups, _ = simplelru.NewLRU(entries, func(_ groupCacheKey, g *cachedGroup) { s.bytes -= g.cost() })
	}
	return c
}

func idCost(id string) int                 { return len(id) + idSize }
func (k *cachedPerson) cost() int          { return decodedFactor * k.size }
func (g *cachedGroup) cost() int           { return decodedFactor * g.size }
func (c *Cache) tick() uint64              { return c.clock.Add(1) }
func isFresh(readAt, since time.Time) bool { return since.IsZero() || !readAt.Before(since) }

// shardOf returns the shard and the stamp of a key.
func (c *Cache) shardOf(project int64, key string) (*peopleShard, *uint64) {
	h := maphash.String(c.seed, key) + uint64(project)*0x9e3779b97f4a7c15
	h ^= h >> 32
	s := &c.shards[h%peopleShards]
	return s, &s.stamps[h/peopleShards%stampStripes]
}

// shardOfPerson returns the shard and the stamp of a person.
func (c *Cache) shardOfPerson(project int64, uuid capture.UUID) (*peopleShard, *uint64) {
	return c.shardOf(project, string(uuid[:]))
}

// get returns the person of a distinct id with the wanted parts, read not before since.
// It returns nil if the database must be read.
func (c *Cache) get(project int64, id string, want parts, since time.Time) *cachedPerson {
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
	if !k.uuid.IsZero() { // mark the person as recently used too
		s, _ := c.shardOfPerson(project, k.uuid)
		s.mu.Lock()
		s.persons.Get(personKey{project, k.uuid})
		s.mu.Unlock()
	}
	return k
}

// put caches the person k of a distinct id, which was read when the clock was at before
// or later. If the cache has the person already, read not before since, the distinct
// ids share that entry.
func (c *Cache) put(project int64, id string, k *cachedPerson, before uint64, since time.Time) {
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

// putPerson caches a person by its UUID and returns the entry, or nil if the data may
// be outdated. An existing entry with all parts stays.
func (c *Cache) putPerson(project int64, k *cachedPerson, before uint64, since time.Time) *personEntry {
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

// shrink removes the least recently used entries until the shard is within the limit.
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

// getGroup returns a group, or nil if the database must be read.
func (c *Cache) getGroup(project int64, id capture.GroupID, since time.Time) *cachedGroup {
	s, _ := c.shardOf(project, id.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.groups.Get(groupCacheKey{project, id}); ok && isFresh(g.readAt, since) {
		return g
	}
	return nil
}

// putGroup caches a group, which was read when the clock was at before or later.
func (c *Cache) putGroup(project int64, id capture.GroupID, g *cachedGroup, before uint64) {
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

// ForgetIDs drops the entries of distinct ids.
func (c *Cache) ForgetIDs(project int64, ids []string) {
	now := c.tick()
	for _, id := range ids {
		s, stamp := c.shardOf(project, id)
		s.mu.Lock()
		*stamp = now
		s.ids.Remove(idKey{project, id})
		s.mu.Unlock()
	}
}

// ForgetPersons drops persons, for all of their distinct ids.
func (c *Cache) ForgetPersons(project int64, uuids []capture.UUID) {
	now := c.tick()
	for _, uuid := range uuids {
		s, stamp := c.shardOfPerson(project, uuid)
		s.mu.Lock()
		*stamp = now
		s.persons.Remove(personKey{project, uuid})
		s.mu.Unlock()
	}
}

// ForgetGroups drops groups, and the project's group types if a group has a type that
// is not among them.
func (c *Cache) ForgetGroups(project int64, ids []capture.GroupID) {
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

// ForgetProject drops everything of a project.
func (c *Cache) ForgetProject(project int64) {
	c.forgetWhere(func(p int64) bool { return p == project })
}

// ForgetAll empties the cache.
func (c *Cache) ForgetAll() { c.forgetWhere(func(int64) bool { return true }) }

// forgetWhere drops everything of the projects that match.
func (c *Cache) forgetWhere(match func(project int64) bool) {
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

// removeWhere removes the entries whose keys match.
func removeWhere[K comparable, V any](cache *simplelru.LRU[K, V], match func(K) bool) {
	for _, key := range cache.Keys() {
		if match(key) {
			cache.Remove(key)
		}
	}
}

// typesCache caches the names of group types by project.
type typesCache struct {
	mu        sync.Mutex
	byProject *simplelru.LRU[int64, *cachedTypes]
	stamp     uint64
}

type cachedTypes struct {
	names  []string
	readAt time.Time
}

// getTypes returns the group types of a project, and false if the database must be
// read.
func (c *Cache) getTypes(project int64, since time.Time) ([]string, bool) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.byProject.Get(project)
	if !ok || !isFresh(k.readAt, since) {
		return nil, false
	}
	return k.names, true
}

// putTypes caches the group types of a project, which were read when the clock was at
// before or later.
func (c *Cache) putTypes(project int64, names []string, readAt time.Time, before uint64) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stamp <= before {
		t.byProject.Add(project, &cachedTypes{names, readAt})
	}
}

// forget drops the group types of a project unless they include the given index.
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

// forgetWhere drops the group types of the projects that match.
func (t *typesCache) forgetWhere(match func(project int64) bool, now uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stamp = now
	removeWhere(t.byProject, match)
}
