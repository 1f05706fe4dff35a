package events

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

const (
	// ownersBytes limits the cache of owners of distinct ids, for all projects
	// together, to 32 MiB, which is about 200,000 distinct ids. The owners of a project
	// with more are not cached, and are looked up for every query.
	ownersBytes = 32 << 20
	// ownersProjects is the maximum number of projects in the cache.
	ownersProjects = 1024
	// ownersStep is the number of distinct ids in one lookup.
	ownersStep = 500
)

// owners maps distinct ids of a project to their persons, which are numbered from 0. It
// is used by one query at a time, which adds entries. The entries are valid as long as
// the project's counter rewritten has the value that it had before the first of them
// was read: a new event cannot change the owner of a known distinct id without
// incrementing the counter.
type owners struct {
	// rewritten is the value of the counter for which the entries are valid.
	rewritten int64
	people    []port.Person
	numbers   map[string]uint32 // by distinct id; noPerson if it belongs to no person
	byUUID    map[capture.UUID]uint32
	// size is the approximate size in memory, in bytes.
	size int64
	// unknown are distinct ids without a row. They may get a row later without a change
	// of the counter, so they are not cached.
	unknown []string
	// filling is true while some values of numbers are pendingPerson. If a query fails
	// then, the owners are not cached.
	filling bool
}

// number returns the number of a person, and assigns one if the person is new.
func (o *owners) number(p port.Person) uint32 {
	n, ok := o.byUUID[p.UUID]
	if !ok {
		n = uint32(len(o.people))
		o.byUUID[p.UUID], o.people = n, append(o.people, p)
	} else if p.Exists {
		o.people[n] = p
	}
	return n
}

// ownersCache is an LRU cache of owners by project. Owners in use by a query are not in
// the cache.
type ownersCache struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[int64, *owners]
	bytes int64
}

// newOwnersCache returns an empty cache.
func newOwnersCache() *ownersCache {
	c := &ownersCache{}
	c.lru, _ = simplelru.NewLRU(ownersProjects, func(_ int64, o *owners) { c.bytes -= o.size }) // fails only for sizes below 1
	return c
}

// take removes and returns the owners of a project. If there are none, or they are not
// valid for the value of the counter rewritten, it returns new ones.
func (c *ownersCache) take(project, rewritten int64) *owners {
	c.mu.Lock()
	o, ok := c.lru.Peek(project)
	c.lru.Remove(project)
	c.mu.Unlock()
	if !ok || o.rewritten != rewritten {
		o = &owners{rewritten: rewritten, numbers: map[string]uint32{}, byUUID: map[capture.UUID]uint32{}}
	}
	return o
}

// put returns owners to the cache after a query, unless they are incomplete or too
// large. If another query has added owners of the project meanwhile, they are replaced.
func (c *ownersCache) put(project int64, o *owners) {
	if o.filling || o.size > ownersBytes {
		return
	}
	for _, id := range o.unknown {
		delete(o.numbers, id)
	}
	o.unknown = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lru.Remove(project)
	c.lru.Add(project, o)
	for c.bytes += o.size; c.bytes > ownersBytes; {
		c.lru.RemoveOldest()
	}
}
