package capture

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultCacheBytes is the default of RecorderConfig.CacheBytes, 24 MiB.
const defaultCacheBytes = 24 << 20

// personCache maps distinct ids to persons, so that events of known persons need no reads
// from the store. If it has too many bytes, the least recently used entries are removed. It
// must only be used by the goroutine that commits; only bytes may be read concurrently.
type personCache struct {
	limit   int64
	bytes   atomic.Int64
	ids     *lru.Cache[cachedID, cachedOwner]
	persons *lru.Cache[cachedPersonKey, cachedProfile]
}

// cachedID is the key of a cached distinct id.
type cachedID struct {
	project int64
	id      string
}

// cachedOwner is the person of a distinct id.
type cachedOwner struct {
	person     UUID // zero if the id has no person
	personless bool
}

// cachedProfile is a person and the JSON text of its properties, which the strings of the
// properties are substrings of. The text may be empty.
type cachedProfile struct {
	*Person
	text string
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
	m := &personCache{limit: int64(limit)}
	// The caches' own limits are only a safety net: the limit in bytes is reached first.
	entries := limit/cachedIDSize + 1
	m.ids, _ = lru.NewWithEvict(entries, func(k cachedID, _ cachedOwner) { m.bytes.Add(-idSize(k)) })
	m.persons, _ = lru.NewWithEvict(entries, func(_ cachedPersonKey, p cachedProfile) { m.bytes.Add(-personSize(p.Person)) })
	return m
}

// idSize returns the approximate size of a cached distinct id.
func idSize(k cachedID) int64 { return int64(cachedIDSize + len(k.id)) }

// personSize returns the approximate size of a cached person.
func personSize(p *Person) int64 {
	return int64(cachedPersonSize + p.Properties.size() + cachedMemberSize*len(p.Properties))
}

// get returns the cached identity of a distinct id, and the JSON text of the person's
// properties or the empty string. ok is false if the id must be read from the store.
func (m *personCache) get(project int64, id string) (k Identity, text string, ok bool) {
	owner, ok := m.ids.Get(cachedID{project, id})
	if !ok {
		return Identity{}, "", false
	}
	if owner.person.IsZero() {
		return Identity{Personless: owner.personless}, "", true
	}
	// A person that was merged into another is not in the cache any more. Its distinct ids
	// are then read again.
	p, ok := m.persons.Get(cachedPersonKey{project, owner.person})
	return Identity{Person: p.Person, Personless: owner.personless}, p.text, ok
}

// put stores the identity of a distinct id. id must not be a substring of a request, since
// the cache would keep the request alive.
func (m *personCache) put(project int64, id string, k Identity, text string) {
	owner := cachedOwner{personless: k.Personless}
	if k.Person != nil {
		owner.person = k.Person.UUID
		key := cachedPersonKey{project, owner.person}
		old, ok := m.persons.Peek(key)
		if ok && old.Person != k.Person {
			m.persons.Remove(key)
		}
		if size := personSize(k.Person); size <= maxCachedPerson {
			if !ok || old.Person != k.Person {
				m.bytes.Add(size)
			}
			m.persons.Add(key, cachedProfile{k.Person, text})
		}
	}
	key := cachedID{project, id}
	if !m.ids.Contains(key) {
		m.bytes.Add(idSize(key))
	}
	m.ids.Add(key, owner)
	for m.bytes.Load() > m.limit {
		_, _, some := m.ids.RemoveOldest()
		if _, _, more := m.persons.RemoveOldest(); !some && !more {
			return
		}
	}
}

// removePerson removes a person that was merged into another. Its distinct ids may stay,
// because get does not find their person then.
func (m *personCache) removePerson(project int64, id UUID) {
	m.persons.Remove(cachedPersonKey{project, id})
}

// clear removes all entries. It is called if the stored persons may have changed outside of a
// commit.
func (m *personCache) clear() {
	m.ids.Purge()
	m.persons.Purge()
}
