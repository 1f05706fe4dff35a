package segment

import (
	"context"
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// partSize is the size of the parts of objects that are requested and cached: a group has
	// some of them, and a request takes about as long as reading so much.
	partSize = 512 << 10
	// maxParts is the maximum number of parts in memory, 48 MiB, before SetMemory. Those that are being requested ahead are
	// in addition, see aheadRequests.
	maxParts = 96
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
	// isAhead is true if no reader needs it yet. If the request fails, or is cancelled with its scan, a
	// reader that waits for it requests it itself.
	isAhead bool

	done chan struct{}
	data []byte
	err  error
}

func newPartCache() *partCache {
	parts, _ := simplelru.NewLRU[partKey, []byte](maxParts, nil) // fails only for sizes below 1
	return &partCache{parts: parts, loading: map[partKey]*loadingPart{}}
}

// get returns a part, which must not be changed. It calls load unless the part is in memory or being
// requested. cancelled is nil, or closed when the part is not needed any more by one who reads ahead.
func (c *partCache) get(key partKey, cancelled <-chan struct{}, load func() ([]byte, error)) ([]byte, error) {
	for {
		c.mu.Lock()
		if data, ok := c.parts.Get(key); ok {
			c.mu.Unlock()
			return data, nil
		}
		l, isLoading := c.loading[key]
		if !isLoading {
			l = c.start(key, cancelled != nil)
		}
		c.mu.Unlock()
		if !isLoading {
			defer c.end(key, l)
			l.data, l.err = load()
			return l.data, l.err
		}
		select {
		case <-l.done:
		case <-cancelled:
			return nil, context.Canceled
		}
		if l.err == nil || !l.isAhead || cancelled != nil {
			return l.data, l.err
		}
	}
}

// start notes that a part is being requested. c must be locked.
func (c *partCache) start(key partKey, isAhead bool) *loadingPart {
	l := &loadingPart{isAhead: isAhead, done: make(chan struct{}), err: errClosed} // the error if the request panics
	c.loading[key] = l
	return l
}

// end keeps a part that was requested.
func (c *partCache) end(key partKey, l *loadingPart) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.loading, key); l.err == nil {
		c.parts.Add(key, l.data)
	}
	close(l.done)
}

// missing returns which parts of an object are neither in memory nor being requested.
func (c *partCache) missing(name string, parts []int64) (list []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range parts {
		key := partKey{name, at}
		if _, ok := c.parts.Get(key); !ok && c.loading[key] == nil {
			list = append(list, at)
		}
	}
	return list
}

// startAhead notes that parts of an object that follow one another are being requested before a reader needs
// them: the first of the list that are missing. end must be called for each of them. rest are the parts after them.
func (c *partCache) startAhead(name string, parts []int64) (loading []*loadingPart, first int64, rest []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, at := range parts {
		key := partKey{name, at}
		isMissing := !c.parts.Contains(key) && c.loading[key] == nil
		switch n := len(loading); {
		case n > 0 && (!isMissing || at != first+int64(n)):
			return loading, first, parts[i:]
		case isMissing && n == 0:
			first = at
			fallthrough
		case isMissing:
			loading = append(loading, c.start(key, true))
		}
	}
	return loading, first, nil
}

// forget removes a part.
func (c *partCache) forget(key partKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts.Remove(key)
}
