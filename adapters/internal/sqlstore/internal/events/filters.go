package events

import (
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// filterEntryBytes is about the memory of an entry of the cache of filters without its filter. A filter has at most 48
// KiB, and 24 KiB if the events of a full block have as many distinct ids.
const filterEntryBytes = 128

// filterKey identifies a filter. Events are never added to the ids that a block has, so a
// filter remains valid for the range when the block is replaced.
type filterKey struct{ project, first, last int64 }

// filterCache caches the filters of blocks. If it is full, it removes any filter, not the least recently used one:
// searches read the filters of all blocks of a project in the same order, so that each of them would be removed before
// the next search.
type filterCache struct {
	mu      sync.Mutex
	most    int // bytes
	filters map[filterKey]block.Filter
	bytes   int
}

func newFilterCache(most int) *filterCache {
	return &filterCache{most: most, filters: map[filterKey]block.Filter{}}
}

// get returns a filter, if it is in the cache.
func (c *filterCache) get(key filterKey) (f block.Filter, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok = c.filters[key]
	return f, ok
}

// add adds a filter.
func (c *filterCache) add(key filterKey, f block.Filter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.filters[key]; ok {
		return
	}
	for old, filter := range c.filters {
		if c.bytes+f.Size()+filterEntryBytes <= c.most {
			break
		}
		delete(c.filters, old)
		c.bytes -= filter.Size() + filterEntryBytes
	}
	c.filters[key] = f
	c.bytes += f.Size() + filterEntryBytes
}
