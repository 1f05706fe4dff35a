package serving

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultLot is the number of requests that a server claims from Usage at a time.
const defaultLot = 100

// DefinitionsCost is the cost of one download of definitions, in requests (§10.1).
const DefinitionsCost = 10

// quota spends the monthly requests of organizations. It claims them in lots, so that Usage
// is called for each lot only.
//
// For all servers that share a Usage: the part of a lot beyond the limit is returned and
// never spent, so that the servers together answer exactly as many requests as the limit
// allows. The rest of a lot is lost when a server stops, which is at most one lot for each
// organization and stop. After the limit is lowered, a server may still spend the requests
// that it has claimed, at most one lot, until it reads the new limit within a second. While
// Usage fails, requests are answered and not counted.
type quota struct {
	usage Usage
	lot   int64

	// meters has an entry for each organization. Beyond quotaOrganizations, the least
	// recently used one is evicted and the rest of its lot is lost.
	meters *lru.Cache[string, *meter]
}

const quotaOrganizations = 16384

// meter is the state of one organization's quota in the current month.
type meter struct {
	mu        sync.Mutex
	month     month
	remaining int64 // rest of the lot that is within the limit
	exhausted bool  // the limit is reached
	limit     int64
	// failures counts the failed calls of Usage.
	failures atomic.Uint64
}

// month is a calendar month in UTC.
type month struct {
	year  int
	month time.Month
}

func monthOf(t time.Time) month {
	t = t.UTC()
	return month{t.Year(), t.Month()}
}

// newQuota applies the defaults of [Config] to usage and lot.
func newQuota(usage Usage, lot int64) *quota {
	if usage == nil {
		usage = &memoryUsage{}
	}
	if lot <= 0 {
		lot = defaultLot
	}
	meters, _ := lru.New[string, *meter](quotaOrganizations) // returns an error only for sizes below 1
	return &quota{usage: usage, lot: lot, meters: meters}
}

// consume spends n requests of an organization with a limit. It returns false if fewer are
// left; for n = 0, if the limit is reached. If Usage fails it returns true, since flags must
// not fail because of a counter. Callers that waited for a call of Usage that failed do not
// retry it, so that requests do not queue up for a failed store.
func (q *quota) consume(ctx context.Context, organization string, limit int64, t time.Time, n int64) bool {
	return q.claim(ctx, organization, limit, t, n, n)
}

// reserve claims the missing part of n requests in one call of Usage, so that they can be
// spent without further calls.
func (q *quota) reserve(ctx context.Context, organization string, limit int64, t time.Time, n int64) {
	q.claim(ctx, organization, limit, t, n, 0)
}

// claim claims the missing part of n requests, and spends consumed of them if n are
// available.
func (q *quota) claim(ctx context.Context, organization string, limit int64, t time.Time, n, consumed int64) bool {
	m := q.meter(organization)
	failures := m.failures.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := monthOf(t)
	if m.month == now && m.limit != limit && m.remaining > 0 {
		_, _ = q.usage.Spend(ctx, organization, t, -m.remaining) // return the requests claimed under the old limit
	}
	if m.month != now || m.limit != limit {
		m.month, m.limit, m.remaining, m.exhausted = now, limit, 0, false
	}
	if m.remaining < n && !m.exhausted {
		if m.failures.Load() != failures {
			return true
		}
		lot := max(q.lot, n)
		total, err := q.usage.Spend(ctx, organization, t, lot)
		if err != nil {
			if ctx.Err() == nil {
				m.failures.Add(1)
			}
			return true
		}
		if over := min(total-limit, lot); over > 0 { // return the part beyond the limit
			m.exhausted = true
			lot -= over
			_, _ = q.usage.Spend(ctx, organization, t, -over)
		}
		m.remaining += lot
	}
	if m.remaining < n || m.exhausted && m.remaining == 0 {
		return false
	}
	m.remaining -= consumed
	return true
}

// meter returns the meter of an organization and adds it if it does not exist.
func (q *quota) meter(organization string) *meter {
	if m, ok := q.meters.Get(organization); ok {
		return m
	}
	m := &meter{}
	if old, had, _ := q.meters.PeekOrAdd(organization, m); had {
		return old
	}
	return m
}

// memoryUsage counts in memory, from zero at every start.
type memoryUsage struct {
	mu     sync.Mutex
	month  month
	counts map[string]int64 // by organization
}

func (u *memoryUsage) Spend(_ context.Context, organization string, t time.Time, n int64) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := monthOf(t); u.counts == nil || u.month != now { // past months are dropped
		u.counts, u.month = map[string]int64{}, now
	}
	u.counts[organization] += n
	return u.counts[organization], nil
}

var _ Usage = (*memoryUsage)(nil)
