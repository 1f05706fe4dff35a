package capture

import (
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// defaultCacheBytes is the default of RecorderConfig.CacheBytes, 24 MiB.
const defaultCacheBytes = 24 << 20

// personCache maps distinct ids to persons, so that events of known persons need no reads
// from the store. If it has too many bytes, the least recently used distinct ids are removed,
// and persons with their last id. It must only be used by the goroutine that commits; only
// bytes may be read concurrently.
type personCache struct {
	limit   int64
	bytes   atomic.Int64
	ids     *simplelru.LRU[cachedID, cachedOwner]
	persons map[cachedPersonKey]*cachedPerson // those of ids
}

// cachedID is the key of a cached distinct id.
type cachedID struct {
	project int64
	id      string
}

// cachedOwner is the person of a distinct id, or nil.
type cachedOwner struct {
	person     *cachedPerson
	personless bool
}

// cachedPerson is a person and the JSON text of its properties, which the strings of the
// properties are substrings of. The text may be empty. All distinct ids of a person share one.
type cachedPerson struct {
	// Person is nil if the person was merged into another or is too large. It is then read
	// from the store.
	*Person
	text string
	size int64 // of Person
	key  cachedPersonKey
	ids  int // the number of its distinct ids in the cache
}

type cachedPersonKey struct {
	project int64
	id      UUID
}

// These constants are rough measurements of the size of a cache entry without its strings.
const (
	cachedIDSize     = 160
	cachedPersonSize = 240
	cachedMemberSize = 32
	// maxCachedPerson is the greatest size of a person that is cached, in bytes.
	maxCachedPerson = 32 << 10
)

func newPersonCache(limit int) *personCache {
	if limit <= 0 {
		limit = defaultCacheBytes
	}
	m := &personCache{limit: int64(limit), persons: map[cachedPersonKey]*cachedPerson{}}
	// The number of entries is only a safety net: the limit in bytes is reached first.
	m.ids, _ = simplelru.NewLRU(limit/cachedIDSize+1, m.removed) // fails only for sizes below 1
	return m
}

// removed is called after a distinct id was removed.
func (m *personCache) removed(k cachedID, owner cachedOwner) {
	m.bytes.Add(-idSize(k))
	m.release(owner.person)
}

// release removes a person, which may be nil, if it was that of a distinct id that was its last.
func (m *personCache) release(p *cachedPerson) {
	if p == nil {
		return
	}
	if p.ids--; p.ids == 0 {
		m.set(p, nil, "")
		delete(m.persons, p.key)
	}
}

// set replaces the state of a person.
func (m *personCache) set(p *cachedPerson, state *Person, text string) {
	if p.Person != state {
		size := personSize(state)
		m.bytes.Add(size - p.size)
		p.size = size
	}
	p.Person, p.text = state, text
}

// idSize returns the approximate size of a cached distinct id.
func idSize(k cachedID) int64 { return int64(cachedIDSize + len(k.id)) }

// personSize returns the approximate size of a cached person, 0 for nil.
func personSize(p *Person) int64 {
	if p == nil {
		return 0
	}
	return int64(cachedPersonSize + p.Properties.size() + cachedMemberSize*len(p.Properties))
}

// get returns the cached identity of a distinct id, and the JSON text of the person's
// properties or the empty string. ok is false if the id must be read from the store.
func (m *personCache) get(project int64, id string) (k Identity, text string, ok bool) {
	owner, ok := m.ids.Get(cachedID{project, id})
	if !ok || owner.person == nil {
		return Identity{Personless: owner.personless}, "", ok
	}
	p := owner.person
	return Identity{Person: p.Person, Personless: owner.personless}, p.text, p.Person != nil
}

// put stores the identity of a distinct id. id must not be a substring of a request, since
// the cache would keep the request alive.
func (m *personCache) put(project int64, id string, k Identity, text string) {
	key, owner := cachedID{project, id}, cachedOwner{personless: k.Personless}
	if k.Person != nil {
		owner.person = m.person(cachedPersonKey{project, k.Person.UUID})
		owner.person.ids++
		if m.set(owner.person, k.Person, text); owner.person.size > maxCachedPerson {
			m.set(owner.person, nil, "")
		}
	}
	old, ok := m.ids.Get(key)
	if !ok {
		m.bytes.Add(idSize(key))
	}
	m.ids.Add(key, owner)
	m.release(old.person)
	for m.bytes.Load() > m.limit {
		if _, _, some := m.ids.RemoveOldest(); !some {
			return
		}
	}
}

// person returns a person, which is added to the cache if it is new.
func (m *personCache) person(key cachedPersonKey) *cachedPerson {
	p := m.persons[key]
	if p == nil {
		p = &cachedPerson{key: key}
		m.persons[key] = p
	}
	return p
}

// removePerson removes a person that was merged into another. Its distinct ids may stay,
// because get does not find their person then.
func (m *personCache) removePerson(project int64, id UUID) {
	if p := m.persons[cachedPersonKey{project, id}]; p != nil {
		m.set(p, nil, "")
	}
}

// clear removes all entries. It is called if the stored persons may have changed outside of a
// commit.
func (m *personCache) clear() { m.ids.Purge() }
