package flags

import (
	"context"
	"sync"
	"time"
)

// DefaultLot is how many requests a server claims from Usage at a time.
const DefaultLot = 100

// definitionsCost is what one download of definitions counts (§10.1).
const definitionsCost = 10

// quota spends an organization's monthly requests. It claims them in lots, so
// that the count is asked once a lot; with one server the limit is exact, with
// several it is overrun by at most one lot a server. What is left of a lot when
// the server stops is lost to the month.
type quota struct {
	usage Usage
	lot   int64

	mu     sync.Mutex
	meters map[string]*meter // one an organization that has asked
}

type meter struct {
	mu    sync.Mutex
	month month
	left  int64 // of the lot, below the limit
	spent bool  // the limit is reached
	limit int64
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
		lot = DefaultLot
	}
	return &quota{usage: usage, lot: lot, meters: map[string]*meter{}}
}

// take spends n requests of an organization with a limit; false when there are
// not so many left. With n = 0 it only tells whether the limit is reached.
// Without a count the request is answered: flags must not fail because a
// counter does.
func (q *quota) take(ctx context.Context, organization string, limit int64, at time.Time, n int64) bool {
	m := q.meter(organization)
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
		claim := max(q.lot, n)
		total, err := q.usage.Spend(ctx, organization, at, claim)
		if err != nil {
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
	m.left -= n
	return true
}

func (q *quota) meter(organization string) *meter {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.meters[organization]
	if m == nil {
		m = &meter{}
		q.meters[organization] = m
	}
	return m
}

// memoryUsage counts in memory, from zero at every start.
type memoryUsage struct {
	mu     sync.Mutex
	counts map[usageKey]int64
}

type usageKey struct {
	organization string
	month        month
}

func (u *memoryUsage) Spend(_ context.Context, organization string, at time.Time, n int64) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.counts == nil {
		u.counts = map[usageKey]int64{}
	}
	k := usageKey{organization, monthOf(at)}
	u.counts[k] += n
	return u.counts[k], nil
}

var _ Usage = (*memoryUsage)(nil)
