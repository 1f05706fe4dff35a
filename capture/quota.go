package capture

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// meterKeys bounds the organizations and resources with a limit that are
	// counted at a time.
	meterKeys = 16384
	// meterAge is after how long a count is read again, so that what other servers
	// have counted is seen.
	meterAge = 10 * time.Second
)

// meters count events against an organization's monthly limits. What is counted
// is stored with the events, in their transaction.
//
// The bound over several servers: each sees what the others have counted after
// meterAge at most, so the limit is overrun by no more than what the other servers
// have taken in that time. One server alone overruns nothing.
type meters struct {
	usage UsageReader
	all   *lru.Cache[meterKey, *meter]
}

type meterKey struct {
	organization string
	resource     Resource
}

// meter is one count: that of the store when it was read, and what has been
// taken since. A commit between two readings is in both, for a moment: a limit
// may be reached a little early, never late by more than what is under way.
type meter struct {
	mu       sync.Mutex
	month    time.Time
	read     time.Time
	stored   int64
	unstored int64
	loaded   bool // the store has been asked in this month
}

func newMeters(usage UsageReader) *meters {
	m := &meters{usage: usage}
	m.all, _ = lru.New[meterKey, *meter](meterKeys)
	return m
}

func (m *meters) get(key meterKey) *meter {
	if x, ok := m.all.Get(key); ok {
		return x
	}
	x := &meter{}
	if old, had, _ := m.all.PeekOrAdd(key, x); had {
		return old
	}
	return x
}

// consume counts one event; false when the limit is reached. The store is asked
// without the lock, by one caller at a time: the others count on what is known.
func (m *meters) consume(ctx context.Context, key meterKey, limit int64, now time.Time) bool {
	x := m.get(key)
	if m.usage != nil && x.startRead(now) {
		// A count that cannot be read stands still: events are not lost for it.
		if n, err := m.usage.Used(ctx, key.organization, key.resource, now); err == nil {
			x.set(n, now)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startMonth(now)
	if x.stored+x.unstored >= limit {
		return false
	}
	x.unstored++
	return true
}

// startRead reports whether the caller is to read the count again.
func (x *meter) startRead(now time.Time) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startMonth(now)
	if now.Sub(x.read) <= meterAge {
		return false
	}
	x.read = now
	return true
}

// set takes over what the store has counted.
func (x *meter) set(stored int64, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startMonth(now)
	if x.loaded {
		x.unstored = max(0, x.stored+x.unstored-stored)
	}
	x.stored, x.loaded = stored, true
}

// startMonth begins a new month.
func (x *meter) startMonth(now time.Time) {
	if month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC); !x.month.Equal(month) {
		x.month, x.read, x.stored, x.unstored, x.loaded = month, time.Time{}, 0, 0, false
	}
}

// charges are what one submission counts.
type charges struct {
	meters  *meters
	project *Project
	at      time.Time
	counts  []Usage
	limited []Resource // of these, nothing more is left
}

// consume counts an event of a resource; false when it has to be dropped.
func (c *charges) consume(ctx context.Context, r Resource) bool {
	if slices.Contains(c.limited, r) {
		return false
	}
	limit, has := c.project.Limits[r]
	if slices.Contains(c.project.Paused, r) || has && !c.meters.consume(ctx, meterKey{c.project.OrganizationID, r}, limit, c.at) {
		c.limited = append(c.limited, r)
		return false
	}
	for i := range c.counts {
		if c.counts[i].Resource == r {
			c.counts[i].N++
			return true
		}
	}
	c.counts = append(c.counts, Usage{OrganizationID: c.project.OrganizationID, ProjectID: c.project.ID, Resource: r, At: c.at, N: 1})
	return true
}

// refund takes back what was not stored.
func (c *charges) refund() {
	for _, u := range c.counts {
		if _, has := c.project.Limits[u.Resource]; has {
			x := c.meters.get(meterKey{u.OrganizationID, u.Resource})
			x.mu.Lock()
			x.unstored = max(0, x.unstored-u.N)
			x.mu.Unlock()
		}
	}
}
