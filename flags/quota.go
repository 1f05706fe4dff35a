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
	mu    sync.Mutex
	month month
	left  int64 // of the lot, below the limit
	spent bool  // the limit is reached
	limit int64
	// failures counts the times that Usage could not count.
	failures atomic.Uint64
}

type month struct {
	year int
	of   time.Month
}

func monthOf(at time.Time) month {
	at = at.UTC()
	return month{at.Year(), at.Month()}
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

// take spends n requests of an organization with a limit; false when there are
// not so many left. With n = 0 it only tells whether the limit is reached.
// Without a count the request is answered: flags must not fail because a
// counter does. Those who waited for a count that failed do not try again, so that
// requests do not queue up behind a store that is gone.
func (q *quota) take(ctx context.Context, organization string, limit int64, at time.Time, n int64) bool {
	return q.draw(ctx, organization, limit, at, n, n)
}

// reserve claims as much as is missing of n requests in one go, so that they are
// taken without asking Usage.
func (q *quota) reserve(ctx context.Context, organization string, limit int64, at time.Time, n int64) {
	q.draw(ctx, organization, limit, at, n, 0)
}

// draw claims what is missing of n requests, and spends spend of them if all n
// are there.
func (q *quota) draw(ctx context.Context, organization string, limit int64, at time.Time, n, spend int64) bool {
	m := q.meter(organization)
	failures := m.failures.Load()
	m.mu.Lock()
	defer m.mu.Unlock()
	now := monthOf(at)
	if m.month == now && m.limit != limit && m.left > 0 {
		_, _ = q.usage.Spend(ctx, organization, at, -m.left) // claimed under the old limit
	}
	if m.month != now || m.limit != limit {
		m.month, m.limit, m.left, m.spent = now, limit, 0, false
	}
	if m.left < n && !m.spent {
		if m.failures.Load() != failures {
			return true
		}
		claim := max(q.lot, n)
		total, err := q.usage.Spend(ctx, organization, at, claim)
		if err != nil {
			if ctx.Err() == nil {
				m.failures.Add(1)
			}
			return true
		}
		if over := min(total-limit, claim); over > 0 { // what lies beyond the limit is not ours
			m.spent = true
			claim -= over
			_, _ = q.usage.Spend(ctx, organization, at, -over)
		}
		m.left += claim
	}
	if m.left < n || m.spent && m.left == 0 {
		return false
	}
	m.left -= spend
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

func (u *memoryUsage) Spend(_ context.Context, organization string, at time.Time, n int64) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now := monthOf(at); u.counts == nil || u.month != now { // past months count no more
		u.counts, u.month = map[string]int64{}, now
	}
	u.counts[organization] += n
	return u.counts[organization], nil
}

var _ Usage = (*memoryUsage)(nil)
