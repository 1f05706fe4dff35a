package flags

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// defaultLot is how many requests a server claims from Usage at a time.
const defaultLot = 100

// DefinitionsCost is what one download of definitions counts, in requests (§10.1).
const DefinitionsCost = 10

// quota spends an organization's monthly requests. It claims them in lots, so
// that the count is asked once a lot.
//
// The bound over all servers that share a Usage: the part of a lot that lies
// beyond the limit is given back and never spent, so together they answer exactly
// as many requests as the limit says. What is left of a lot when a server stops is
// lost to the month: at most one lot an organization and stop. When a limit is
// lowered, a server may still spend what it has claimed, at most one lot, until it
// sees that, within a second. While Usage cannot count, requests are answered and
// not counted.
type quota struct {
	usage Usage
	lot   int64

	// meters holds one an organization. Of more than quotaOrganizations the least
	// recently used is forgotten, and what is left of its lot is lost.
	meters *lru.Cache[string, *meter]
}

const quotaOrganizations = 16384

type meter struct {
	mu        sync.Mutex
	month     month
	remaining int64 // of the lot, below the limit
	exhausted bool  // the limit is reached
	limit     int64
	// failures counts the times that Usage could not count.
	failures atomic.Uint64
}

type month struct {
	year  int
	month time.Month
}

func monthOf(t time.Time) month {
	t = t.UTC()
	return month{t.Year(), t.Month()}
}

func newQuota(usage Usage, lot int64) *quota {
	if usage == nil {
		usage = &memoryUsage{}
	}
	if lot <= 0 {
		lot = defaultLot
	}
	meters, _ := lru.New[string, *meter](quotaOrganizations) // fails only for sizes below 1
	return &quota{usage: usage, lot: lot, meters: meters}
}

// consume spends n requests of an organization with a limit; false when there are
// not so many left. With n = 0 it only tells whether the limit is reached.
// Without a count the request is answered: flags must not fail because a
// counter does. Those who waited for a count that failed do not try again, so that
// requests do not queue up behind a store that is gone.
func (q *quota) consume(ctx context.Context, organization string, limit int64, t time.Time, n int64) bool {
	return q.claim(ctx, organization, limit, t, n, n)
}

// reserve claims as much as is missing of n requests in one go, so that they are
// taken without asking Usage.
func (q *quota) reserve(ctx context.Context, organization string, limit int64, t time.Time, n int64) {
	q.claim(ctx, organization, limit, t, n, 0)
}

// claim claims what is missing of n requests, and spends spend of them if all n
// are there.
func (q *quota) claim(ctx context.Context, organization string, limit int64, t time.Time, n, consumed int64) bool {
	m := q.meter(organization)
	failures := m.failures.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := monthOf(t)
	if m.month == now && m.limit != limit && m.remaining > 0 {
		_, _ = q.usage.Spend(ctx, organization, t, -m.remaining) // claimed under the old limit
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
		if over := min(total-limit, lot); over > 0 { // what lies beyond the limit is not ours
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
	if now := monthOf(t); u.counts == nil || u.month != now { // past months count no more
		u.counts, u.month = map[string]int64{}, now
	}
	u.counts[organization] += n
	return u.counts[organization], nil
}

var _ Usage = (*memoryUsage)(nil)
