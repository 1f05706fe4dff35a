package queries

import (
	"container/list"
	"encoding/json"
	"maps"
	"time"
)

// Bounds of what is remembered, in bytes (§5.2).
const (
	cacheBytes        = 64 << 20
	cacheProjectBytes = 16 << 20
	cacheEntryBytes   = 4 << 20
	// entryBytes is what an entry takes beside its result, about.
	entryBytes = 2 << 10
)

// entry is an answer and when it was computed.
type entry struct {
	key        string
	project    int64
	state      State
	period     int64 // see asked.period
	computedAt time.Time
	cost       time.Duration
	ages       ages
	size       int64
	// members are those of §1.4 that do not change while it is remembered.
	members map[string]any
}

// show is what is answered.
func (e *entry) show(cached bool) map[string]any {
	out := maps.Clone(e.members)
	out["is_cached"] = cached
	return out
}

// cache remembers entries, the least recently used go first.
type cache struct {
	entries        map[string]*list.Element // of *entry
	recent         list.List                // the most recently used in front
	size           int64
	bytesByProject map[int64]int64 // bytes by project
}

func (c *cache) get(key string) *entry {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry)
}

func (c *cache) put(e *entry) {
	if c.entries == nil {
		c.entries, c.bytesByProject = map[string]*list.Element{}, map[int64]int64{}
	}
	if element := c.entries[e.key]; element != nil {
		if element.Value.(*entry).computedAt.After(e.computedAt) { // of one that was forced meanwhile
			return
		}
		c.remove(element)
	}
	if e.size > cacheEntryBytes {
		return
	}
	c.entries[e.key] = c.recent.PushFront(e)
	c.size += e.size
	c.bytesByProject[e.project] += e.size
	for element := c.recent.Back(); element != nil && c.bytesByProject[e.project] > cacheProjectBytes; {
		before := element.Prev()
		if element.Value.(*entry).project == e.project {
			c.remove(element)
		}
		element = before
	}
	for c.size > cacheBytes {
		c.remove(c.recent.Back())
	}
}

func (c *cache) remove(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size
	if c.bytesByProject[e.project] -= e.size; c.bytesByProject[e.project] == 0 {
		delete(c.bytesByProject, e.project)
	}
}

// sizeOf is what the members of a result take.
func sizeOf(members map[string]any) int64 {
	size := int64(entryBytes)
	for _, v := range members {
		if raw, ok := v.(json.RawMessage); ok {
			size += int64(len(raw))
		}
	}
	return size
}
