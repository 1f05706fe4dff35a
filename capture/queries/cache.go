package queries

import (
	"container/list"
	"encoding/json"
	"maps"
	"time"
)

// ages are the greatest ages of a result that may be returned although new events have
// arrived since (§5.2). lazy applies to the mode lazyAsync.
type ages struct{ usual, lazy time.Duration }

// These are the limits of the cache, in bytes (§5.2): in total, for one project, and for one
// result.
const (
	cacheBytes        = 64 << 20
	cacheProjectBytes = 16 << 20
	cacheEntryBytes   = 4 << 20
	// entryBytes is the approximate size of an entry without its result.
	entryBytes = 2 << 10
)

// entry is a result and the conditions under which it was computed.
type entry struct {
	key        string
	project    int64
	state      State
	period     int64 // see preparedQuery.period
	computedAt time.Time
	cost       time.Duration
	ages       ages
	size       int64
	// members are the members of the response (§1.4) that stay the same while the entry is
	// cached.
	members map[string]any
}

// response returns the members of a response. cached is the value of is_cached.
func (e *entry) response(cached bool) map[string]any {
	out := maps.Clone(e.members)
	out["is_cached"] = cached
	return out
}

// cache is a cache of results. If it is full, it removes the least recently used entries,
// first of the same project. The caller must hold Service.mu.
type cache struct {
	entries        map[string]*list.Element // the elements are *entry
	recent         list.List                // sorted from most to least recently used
	size           int64
	bytesByProject map[int64]int64 // bytes by project
}

// get returns the entry of a key, or nil, and marks it as used.
func (c *cache) get(key string) *entry {
	element := c.entries[key]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*entry)
}

// put adds an entry, unless it is too large or the cache has a newer entry with the same key.
func (c *cache) put(e *entry) {
	if c.entries == nil {
		c.entries, c.bytesByProject = map[string]*list.Element{}, map[int64]int64{}
	}
	if element := c.entries[e.key]; element != nil {
		if element.Value.(*entry).computedAt.After(e.computedAt) { // the other computation was forced later
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

// remove removes an entry.
func (c *cache) remove(element *list.Element) {
	e := c.recent.Remove(element).(*entry)
	delete(c.entries, e.key)
	c.size -= e.size
	if c.bytesByProject[e.project] -= e.size; c.bytesByProject[e.project] == 0 {
		delete(c.bytesByProject, e.project)
	}
}

// sizeOf returns the approximate memory size of the members of a result.
func sizeOf(members map[string]any) int64 {
	size := int64(entryBytes)
	for _, v := range members {
		if raw, ok := v.(json.RawMessage); ok {
			size += int64(len(raw))
		}
	}
	return size
}
