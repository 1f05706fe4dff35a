package segment

import (
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// partSize is the size of the parts of objects that are requested and kept in memory: a group has
	// some of them, and a request takes about as long as reading so much.
	partSize = 512 << 10
	// maxParts is the maximum number of parts in memory: 64 MiB.
	maxParts = 128
)

// errClosed is the error of requests after the folder was closed.
var errClosed = errors.New("the folder of segments is closed")

// partKey identifies a part of an object by the number of parts before it. Objects never change.
type partKey struct {
	name string
	at   int64
}

// partCache keeps the parts of objects that were used last. It can be used concurrently: a part is
// requested one time, however many readers wait for it.
type partCache struct {
	mu      sync.Mutex
	parts   *simplelru.LRU[partKey, []byte]
	loading map[partKey]*loadingPart
}

// loadingPart is a part that is being requested.
type loadingPart struct {
	done chan struct{}
	data []byte
	err  error
}

func newPartCache() *partCache {
	parts, _ := simplelru.NewLRU[partKey, []byte](maxParts, nil) // fails only for sizes below 1
	return &partCache{parts: parts, loading: map[partKey]*loadingPart{}}
}

// get returns a part, which must not be changed. It calls load unless the part is in memory or being
// requested.
func (c *partCache) get(key partKey, load func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	if data, ok := c.parts.Get(key); ok {
		c.mu.Unlock()
		return data, nil
	}
	l, isLoading := c.loading[key]
	if !isLoading {
		l = &loadingPart{done: make(chan struct{}), err: errClosed} // the error if load panics
		c.loading[key] = l
	}
	c.mu.Unlock()
	if isLoading {
		<-l.done
		return l.data, l.err
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.loading, key); l.err == nil {
			c.parts.Add(key, l.data)
		}
		close(l.done)
	}()
	l.data, l.err = load()
	return l.data, l.err
}

// forget removes a part.
func (c *partCache) forget(key partKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts.Remove(key)
}
