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
	// defaultRemembered is Config.MaxRemembered where that is zero: 24 MiB.
	defaultRemembered = 24 << 20
	// rememberedEntries bounds the distinct ids that are remembered, and the groups.
	rememberedEntries = 16384
	// rememberedMost is the largest person or group that is remembered: 16 KiB of
	// JSON.
	rememberedMost = 16 << 10

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
	// most is how many bytes a shard may hold.
	most int

	types typesCache
}

// peopleShard holds the ids, persons and groups whose hashes fall into it.
type peopleShard struct {
	mu      sync.Mutex
	bytes   int
	ids     *simplelru.LRU[idKey, *heldPerson]
	persons *simplelru.LRU[personKey, *heldPerson]
	groups  *simplelru.LRU[groupCacheKey, *knownGroup]
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

// heldPerson is where the ids of a person find it; empty once it is forgotten.
type heldPerson struct{ person atomic.Pointer[knownPerson] }

// knownPerson is a person as read once. It never changes.
type knownPerson struct {
	stored    flags.Stored
	overrides map[string]string // by flag key
	uuid      capture.UUID      // zero: nobody
	parts     parts
	size      int
	at        time.Time
}

type knownGroup struct {
	properties flags.Properties // nil: there is no such group
	size       int
	at         time.Time
}

func newPeopleCache(bytes int) *peopleCache {
	if bytes <= 0 {
		bytes = defaultRemembered
	}
	c := &peopleCache{seed: maphash.MakeSeed(), most: bytes / peopleShards}
	c.types.byProject, _ = simplelru.NewLRU[int64, *knownTypes](1024, nil) // fails only for sizes below 1
	for i := range c.shards {
		s := &c.shards[i]
		const entries = rememberedEntries / peopleShards
		s.ids, _ = simplelru.NewLRU(entries, func(k idKey, _ *heldPerson) { s.bytes -= idCost(k.id) })
		s.persons, _ = simplelru.NewLRU(entries, func(_ personKey, h *heldPerson) {
			// Without its key nothing could find it any more to forget it.
			s.bytes -= h.person.Swap(nil).cost()
		})
		s.groups, _ = simplelru.NewLRU(entries, func(_ groupCacheKey, g *knownGroup) { s.bytes -= g.cost() })
	}
	return c
}

func idCost(id string) int           { return len(id) + idSize }
func (k *knownPerson) cost() int     { return decodedFactor * k.size }
func (g *knownGroup) cost() int      { return decodedFactor * g.size }
func (c *peopleCache) tick() uint64  { return c.clock.Add(1) }
func fresh(at, since time.Time) bool { return since.IsZero() || !at.Before(since) }

// place is the shard and the stripe of a key.
func (c *peopleCache) place(project int64, key string) (*peopleShard, *uint64) {
	h := maphash.String(c.seed, key) + uint64(project)*0x9e3779b97f4a7c15
	h ^= h >> 32
	s := &c.shards[h%peopleShards]
	return s, &s.stamps[h/peopleShards%stampStripes]
}

func (c *peopleCache) placePerson(project int64, uuid capture.UUID) (*peopleShard, *uint64) {
	return c.place(project, string(uuid[:]))
}

// get returns what is remembered of a distinct id, nil when it has to be read.
func (c *peopleCache) get(project int64, id string, want parts, since time.Time) *knownPerson {
	s, _ := c.place(project, id)
	s.mu.Lock()
	held, ok := s.ids.Get(idKey{project, id})
	s.mu.Unlock()
	if !ok {
		return nil
	}
	k := held.person.Load()
	if k == nil || k.parts&want != want || !fresh(k.at, since) {
		return nil
	}
	if !k.uuid.IsZero() { // it is in use, too
		s, _ := c.placePerson(project, k.uuid)
		s.mu.Lock()
		s.persons.Get(personKey{project, k.uuid})
		s.mu.Unlock()
	}
	return k
}

// put remembers what was read of a distinct id after the clock showed before.
// Ids share a person that was read after since.
func (c *peopleCache) put(project int64, id string, k *knownPerson, before uint64, since time.Time) {
	if k.size > rememberedMost {
		return
	}
	var held *heldPerson
	if k.uuid.IsZero() {
		held = &heldPerson{}
		held.person.Store(k)
	} else if held = c.putPerson(project, k, before, since); held == nil {
		return
	}
	s, stamp := c.place(project, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return
	}
	key := idKey{project, strings.Clone(id)}
	s.ids.Remove(key)
	s.ids.Add(key, held)
	s.bytes += idCost(id)
	s.shrink(c.most)
}

// putPerson makes a person findable by its uuid. One that is there already stays
// when it has all parts.
func (c *peopleCache) putPerson(project int64, k *knownPerson, before uint64, since time.Time) *heldPerson {
	key := personKey{project, k.uuid}
	s, stamp := c.placePerson(project, k.uuid)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return nil
	}
	if held, ok := s.persons.Get(key); ok {
		if old := held.person.Load(); old.parts&k.parts == k.parts && fresh(old.at, since) {
			return held
		}
		s.persons.Remove(key)
	}
	held := &heldPerson{}
	held.person.Store(k)
	s.persons.Add(key, held)
	s.bytes += k.cost()
	s.shrink(c.most)
	return held
}

// shrink forgets the least recently used until the shard is small enough.
func (s *peopleShard) shrink(most int) {
	for s.bytes > most {
		_, _, id := s.ids.RemoveOldest()
		_, _, person := s.persons.RemoveOldest()
		_, _, group := s.groups.RemoveOldest()
		if !id && !person && !group {
			return
		}
	}
}

func (c *peopleCache) getGroup(project int64, id capture.GroupID, since time.Time) *knownGroup {
	s, _ := c.place(project, id.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if g, ok := s.groups.Get(groupCacheKey{project, id}); ok && fresh(g.at, since) {
		return g
	}
	return nil
}

func (c *peopleCache) putGroup(project int64, id capture.GroupID, g *knownGroup, before uint64) {
	if g.size > rememberedMost {
		return
	}
	id.Key = strings.Clone(id.Key)
	key := groupCacheKey{project, id}
	s, stamp := c.place(project, id.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if *stamp > before || s.all > before {
		return
	}
	s.groups.Remove(key)
	s.groups.Add(key, g)
	s.bytes += g.cost()
	s.shrink(c.most)
}

// forgetIDs forgets whom distinct ids belong to.
func (c *peopleCache) forgetIDs(project int64, ids []string) {
	now := c.tick()
	for _, id := range ids {
		s, stamp := c.place(project, id)
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
		s, stamp := c.placePerson(project, uuid)
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
		s, stamp := c.place(project, id.Key)
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
	byProject *simplelru.LRU[int64, *knownTypes]
	stamp     uint64
}

type knownTypes struct {
	names []string
	at    time.Time
}

func (c *peopleCache) getTypes(project int64, since time.Time) ([]string, bool) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.byProject.Get(project)
	if !ok || !fresh(k.at, since) {
		return nil, false
	}
	return k.names, true
}

func (c *peopleCache) putTypes(project int64, names []string, at time.Time, before uint64) {
	t := &c.types
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stamp <= before {
		t.byProject.Add(project, &knownTypes{names, at})
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
