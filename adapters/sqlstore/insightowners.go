package sqlstore

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights"
)

const (
	// ownersBytes bounds what is remembered between questions of whose distinct ids
	// are, in all projects: 32 MiB, some 200,000 ids. A project with more is not
	// remembered, and looked up for every question anew.
	ownersBytes = 32 << 20
	// ownersProjects bounds the projects.
	ownersProjects = 1024
	// ownersStep is how many distinct ids are asked for at a time.
	ownersStep = 500
)

// owners are to whom distinct ids of a project belong: people have numbers from 0 on.
// One question uses them at a time, and adds to them. They are right as long as the
// project's counter of what was rewritten is what it was before the first of them was
// read: ids that have an owner, or are nobody's, then still do, and new ones are not
// among them.
type owners struct {
	rewritten int64
	people    []insights.Person
	numbers   map[string]uint32 // by distinct id, noPerson where it belongs to nobody
	byUUID    map[capture.UUID]uint32
	size      int64
	// unknown are ids without a row. They may get one, which rewrites nothing.
	unknown []string
	// filling: some of numbers are pendingPerson.
	filling bool
}

// number is that of a person, a new one where it has none.
func (o *owners) number(p insights.Person) uint32 {
	n, ok := o.byUUID[p.UUID]
	if !ok {
		n = uint32(len(o.people))
		o.byUUID[p.UUID], o.people = n, append(o.people, p)
	} else if p.Exists {
		o.people[n] = p
	}
	return n
}

// ownersCache remembers owners that nobody uses, those used last.
type ownersCache struct {
	mu    sync.Mutex
	lru   *simplelru.LRU[int64, *owners]
	bytes int64
}

func newOwnersCache() *ownersCache {
	c := &ownersCache{}
	c.lru, _ = simplelru.NewLRU(ownersProjects, func(_ int64, o *owners) { c.bytes -= o.size }) // fails only for sizes below 1
	return c
}

// take gives what is remembered of a project away, nothing where it is no longer right.
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
