package capture

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// meterKeys is the greatest number of pairs of organization and resource that are counted
	// at a time.
	meterKeys = 16384
	// meterAge is the time after which a count is read again, so that it includes the events
	// that other servers have recorded.
	meterAge = 10 * time.Second
)

// meters counts events against the monthly limits of organizations. The counts are also
// stored, in the transaction that records the events.
//
// With several servers a limit may be exceeded: each server reads the counts of the other
// servers again after meterAge, so the excess is at most the number of events that the other
// servers record in that time. With a single server limits are exact.
type meters struct {
	usage UsageReader
	all   *lru.Cache[meterKey, *meter]
}

// meterKey identifies a count.
type meterKey struct {
	organization string
	resource     Resource
}

// meter is one count: the stored count when it was last read, plus the events since. For a
// short time a commit that is completed between two reads may be included in both, so that a
// limit may be reached slightly early, but not late by more than the events in progress.
type meter struct {
	mu sync.Mutex
	// month is the beginning of the month that is counted, read the time of the last read,
	// stored the result of that read, and unstored the number of events since.
	month    time.Time
	read     time.Time
	stored   int64
	unstored int64
	loaded   bool // whether the stored count of this month has been read
}

func newMeters(usage UsageReader) *meters {
	m := &meters{usage: usage}
	m.all, _ = lru.New[meterKey, *meter](meterKeys)
	return m
}

// get returns the meter of a key, and creates it if needed.
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

// consume counts one event. It returns false if the limit has been reached. The stored count
// is read without the lock and by one caller at a time; concurrent callers use the previous
// count.
func (m *meters) consume(ctx context.Context, key meterKey, limit int64, now time.Time) bool {
	x := m.get(key)
	if m.usage != nil && x.startRead(now) {
		// If the read fails, the previous count stays in use: an error must not cause events
		// to be dropped.
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

// startRead reports whether the caller must read the stored count again.
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

// set updates the meter with the stored count. Events that are not in the stored count yet
// remain counted.
func (x *meter) set(stored int64, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.startMonth(now)
	if x.loaded {
		x.unstored = max(0, x.stored+x.unstored-stored)
	}
	x.stored, x.loaded = stored, true
}

// startMonth resets the meter at the beginning of a month.
func (x *meter) startMonth(now time.Time) {
	if month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC); !x.month.Equal(month) {
		x.month, x.read, x.stored, x.unstored, x.loaded = month, time.Time{}, 0, 0, false
	}
}

// charges are the events of one submission by resource, which can be undone.
type charges struct {
	meters  *meters
	project *Project
	at      time.Time
	counts  []Usage
	limited []Resource // resources that are paused or whose limit is reached
}

// consume counts an event of a resource. It returns false if the event must be dropped.
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

// refund undoes the counting of events that were not stored.
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

// resourcesByName are the events with a limit of their own, in addition to those that begin
// with aiPrefix (§13.4).
var resourcesByName = map[string]Resource{
	"$exception":       ResourceExceptions,
	"survey sent":      ResourceSurveys,
	"survey shown":     ResourceSurveys,
	"survey dismissed": ResourceSurveys,
}

const aiPrefix = "$ai_"

// resourceOf returns the resource that an event is counted as (§13.4). Survey events of
// product tours are counted as ordinary events.
func resourceOf(it *Item) Resource {
	if strings.HasPrefix(it.Name, aiPrefix) {
		return ResourceLLMEvents
	}
	r, ok := resourcesByName[it.Name]
	if !ok {
		return ResourceEvents
	}
	if r == ResourceSurveys {
		if tour := itemProperty(it, "$product_tour_id"); tour != "" && tour != "null" {
			return ResourceEvents
		}
	}
	return r
}

// overQuotaReason returns the reason for dropping events of a resource that is over its limit
// or paused.
func overQuotaReason(r Resource) DropReason {
	switch r {
	case ResourceExceptions:
		return exceptionsOverQuota
	case ResourceSurveys:
		return surveysOverQuota
	case ResourceLLMEvents:
		return llmEventsOverQuota
	case ResourceRecordings:
		return recordingNotStored
	}
	return EventsOverQuota
}
