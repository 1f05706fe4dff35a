package capture

import (
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultRemembered is RecorderConfig.Remembered where that is zero: 24 MiB.
const defaultRemembered = 24 << 20

// memory remembers whom distinct ids belong to, and their persons, so that
// events of known people read nothing. The least recently used are forgotten
// when it holds too many bytes. It belongs to the one goroutine that commits;
// only bytes may be read by others.
type memory struct {
	limit   int64
	bytes   atomic.Int64
	ids     *lru.Cache[memoryID, memoryOwner]
	persons *lru.Cache[memoryPerson, memoryProfile]
}

type memoryID struct {
	project int64
	id      string
}

type memoryOwner struct {
	person     UUID // zero: nobody
	personless bool
}

// memoryProfile is a person and the JSON text of the properties, which is their
// memory too; it may not be known.
type memoryProfile struct {
	*Person
	text string
}

type memoryPerson struct {
	project int64
	id      UUID
}

// Sizes are what an entry costs beside its texts, measured roughly.
const (
	memoryIDSize     = 160
	memoryPersonSize = 240
	memoryMemberSize = 32
	// memoryMost is the largest person that is remembered, in bytes.
	memoryMost = 32 << 10
)

func newMemory(limit int) *memory {
	if limit <= 0 {
		limit = defaultRemembered
	}
	m := &memory{limit: int64(limit)}
	// The caches bound themselves only as a net: bytes are what counts.
	entries := limit/memoryIDSize + 1
	m.ids, _ = lru.NewWithEvict(entries, func(k memoryID, _ memoryOwner) { m.bytes.Add(-idSize(k)) })
	m.persons, _ = lru.NewWithEvict(entries, func(_ memoryPerson, p memoryProfile) { m.bytes.Add(-personSize(p.Person)) })
	return m
}

func idSize(k memoryID) int64 { return int64(memoryIDSize + len(k.id)) }

func personSize(p *Person) int64 {
	return int64(memoryPersonSize + p.Properties.size() + memoryMemberSize*len(p.Properties))
}

// get returns what is known of a distinct id, and the JSON text of the person's
// properties if that is known; false when the id has to be looked up.
func (m *memory) get(project int64, id string) (k Known, text string, ok bool) {
	owner, ok := m.ids.Get(memoryID{project, id})
	if !ok {
		return Known{}, "", false
	}
	if owner.person.IsZero() {
		return Known{Personless: owner.personless}, "", true
	}
	// A person that was merged away is not there any more: its ids are looked up
	// again.
	p, ok := m.persons.Get(memoryPerson{project, owner.person})
	return Known{Person: p.Person, Personless: owner.personless}, p.text, ok
}

// put remembers; the id has to be memory of its own, no part of a request.
func (m *memory) put(project int64, id string, k Known, text string) {
	owner := memoryOwner{personless: k.Personless}
	if k.Person != nil {
		owner.person = k.Person.UUID
		key := memoryPerson{project, owner.person}
		old, ok := m.persons.Peek(key)
		if ok && old.Person != k.Person {
			m.persons.Remove(key)
		}
		if size := personSize(k.Person); size <= memoryMost {
			if !ok || old.Person != k.Person {
				m.bytes.Add(size)
			}
			m.persons.Add(key, memoryProfile{k.Person, text})
		}
	}
	key := memoryID{project, id}
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

func (m *memory) forgetPerson(project int64, id UUID) { m.persons.Remove(memoryPerson{project, id}) }

func (m *memory) clear() {
	m.ids.Purge()
	m.persons.Purge()
}
