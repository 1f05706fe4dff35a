package capture

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultCacheBytes is RecorderConfig.Remembered where that is zero: 24 MiB.
const defaultCacheBytes = 24 << 20

// personCache remembers whom distinct ids belong to, and their persons, so that
// events of known people read nothing. The least recently used are forgotten
// when it holds too many bytes. It belongs to the one goroutine that commits;
// only bytes may be read by others.
type personCache struct {
	limit   int64
	bytes   atomic.Int64
	ids     *lru.Cache[cachedID, cachedOwner]
	persons *lru.Cache[cachedPersonKey, cachedProfile]
}

type cachedID struct {
	project int64
	id      string
}

type cachedOwner struct {
	person     UUID // zero: nobody
	personless bool
}

// cachedProfile is a person and the JSON text of the properties, which is their
// memory too; it may not be known.
type cachedProfile struct {
	*Person
	text string
}

type cachedPersonKey struct {
	project int64
	id      UUID
}

// Sizes are what an entry costs beside its texts, measured roughly.
const (
	cachedIDSize     = 160
	cachedPersonSize = 240
	cachedMemberSize = 32
	// maxCachedPerson is the largest person that is remembered, in bytes.
	maxCachedPerson = 32 << 10
)

func newPersonCache(limit int) *personCache {
	if limit <= 0 {
		limit = defaultCacheBytes
	}
	m := &personCache{limit: int64(limit)}
	// The caches bound themselves only as a net: bytes are what counts.
	entries := limit/cachedIDSize + 1
	m.ids, _ = lru.NewWithEvict(entries, func(k cachedID, _ cachedOwner) { m.bytes.Add(-idSize(k)) })
	m.persons, _ = lru.NewWithEvict(entries, func(_ cachedPersonKey, p cachedProfile) { m.bytes.Add(-personSize(p.Person)) })
	return m
}

func idSize(k cachedID) int64 { return int64(cachedIDSize + len(k.id)) }

func personSize(p *Person) int64 {
	return int64(cachedPersonSize + p.Properties.size() + cachedMemberSize*len(p.Properties))
}

// get returns what is known of a distinct id, and the JSON text of the person's
// properties if that is known; false when the id has to be looked up.
func (m *personCache) get(project int64, id string) (k Identity, text string, ok bool) {
	owner, ok := m.ids.Get(cachedID{project, id})
	if !ok {
		return Identity{}, "", false
	}
	if owner.person.IsZero() {
		return Identity{Personless: owner.personless}, "", true
	}
	// A person that was merged away is not there any more: its ids are looked up
	// again.
	p, ok := m.persons.Get(cachedPersonKey{project, owner.person})
	return Identity{Person: p.Person, Personless: owner.personless}, p.text, ok
}

// put remembers; the id has to be memory of its own, no part of a request.
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

func (m *personCache) removePerson(project int64, id UUID) {
	m.persons.Remove(cachedPersonKey{project, id})
}

func (m *personCache) clear() {
	m.ids.Purge()
	m.persons.Purge()
}
