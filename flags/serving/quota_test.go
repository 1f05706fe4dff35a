package serving_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// fakeUsage is a Usage that several servers may share and that may fail.
type fakeUsage struct {
	mu     sync.Mutex
	counts map[string]int64
	claims int
	err    error
}

func (l *fakeUsage) Spend(_ context.Context, organization string, t time.Time, n int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 { // returned requests are not a claim
		l.claims++
	}
	if l.err != nil {
		return 0, l.err
	}
	if l.counts == nil {
		l.counts = map[string]int64{}
	}
	key := organization + t.UTC().Format(" 2006-01")
	l.counts[key] += n
	return l.counts[key], nil
}

func (s *fakeSource) limit(n int64) { s.project.FlagLimit = &n }

// countAnswered returns how many of n requests are answered.
func countAnswered(t testing.TB, d *serving.Decider, n int) (count int) {
	t.Helper()
	for range n {
		got, answer := decideAll(t, d, serving.Request{})
		if answer.QuotaLimited == (len(got) > 0) || answer.Decisions.Errors {
			t.Fatalf("limited is %v with %v", answer.QuotaLimited, got)
		}
		if !answer.QuotaLimited {
			count++
		}
	}
	return count
}

// With one server the limit is exact for every size of a lot, and Usage is called for each
// lot only (decision 11, quota.go).
func TestDecider_Decision11_LimitIsExact(t *testing.T) {
	for _, c := range []struct {
		limit, lot int64
		requests   int
		claims     int // in one month
	}{
		{0, 0, 5, 1}, {1, 0, 5, 1}, {3, 0, 10, 1}, {250, 0, 300, 3}, {10, 1, 20, 11}, {10, 3, 20, 4}, {10, 10, 20, 2}, {10, 1000, 20, 1},
	} {
		t.Run(fmt.Sprintf("limit %d, lot %d", c.limit, c.lot), func(t *testing.T) {
			s, usage := newFakeSource(t, oneFlag), &fakeUsage{}
			s.limit(c.limit)
			d := s.decider(t, func(dc *serving.Config) { dc.Usage, dc.Lot = usage, c.lot })
			for month := range 3 {
				if got := countAnswered(t, d, c.requests); int64(got) != c.limit {
					t.Errorf("month %d: %d answered", month, got)
				}
				if usage.claims != c.claims*(month+1) {
					t.Errorf("month %d: %d claims", month, usage.claims)
				}
				s.advance(31 * 24 * time.Hour)
			}
			if got := d.Stats(); got.QuotaLimited != 3*uint64(int64(c.requests)-c.limit) || got.Requests != 3*uint64(c.limit) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Concurrent requests cannot exceed the limit.
func TestDecider_Decision11_LimitIsExactAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newFakeSource(t, oneFlag)
	s.limit(777)
	d := s.decider(t, func(dc *serving.Config) { dc.Lot = 10 })
	counts := make(chan int)
	for range 8 {
		go func() { counts <- countAnswered(t, d, 200) }()
	}
	total := 0
	for range 8 {
		total += <-counts
	}
	if total != 777 {
		t.Errorf("%d answered", total)
	}
}

// Several servers that share a count exceed the limit by at most one lot each, and never by
// requests that were not claimed.
func TestDecider_Decision11_SeveralServers(t *testing.T) {
	usage := &fakeUsage{}
	total := 0
	var servers []*serving.Decider
	for range 3 {
		s := newFakeSource(t, oneFlag)
		s.limit(100)
		servers = append(servers, s.decider(t, func(dc *serving.Config) { dc.Usage, dc.Lot = usage, 7 }))
	}
	for range 60 {
		for _, d := range servers {
			total += countAnswered(t, d, 1)
		}
	}
	if total < 100-3*7 || total > 100+3*7 {
		t.Errorf("%d answered of a limit of 100", total)
	}
}

// If Usage fails, requests are answered, since flags must not fail because of a counter.
func TestDecider_Decision11_UsageFails(t *testing.T) {
	s, usage := newFakeSource(t, oneFlag), &fakeUsage{err: errors.New("database is down")}
	s.limit(2)
	d := s.decider(t, func(dc *serving.Config) { dc.Usage = usage })
	if got := countAnswered(t, d, 5); got != 5 {
		t.Errorf("%d answered", got)
	}
	usage.err = nil
	if got := countAnswered(t, d, 5); got != 2 {
		t.Errorf("%d answered", got)
	}
}

// Free requests are not counted (§10.1, row 125).
func TestDecider_10_1_FreeRequests(t *testing.T) {
	s := newFakeSource(t, `{"flags": [
		{"id": 1, "key": "survey-targeting-a", "active": true, "filters": {"groups": [{}]}},
		{"id": 2, "key": "product-tour-targeting-b", "active": true, "filters": {"groups": [{}]}},
		{"id": 3, "key": "paid", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}}]}`)
	s.limit(2)
	d := s.decider(t, nil)
	free := map[string]string{"survey-targeting-a": "on", "product-tour-targeting-b": "on"}
	for range 20 {
		checkDecisions(t, d, serving.Request{}, free)
		checkDecisions(t, d, serving.Request{DisableFlags: true, NoDistinctID: true}, map[string]string{})
		checkDecisions(t, d, serving.Request{Selection: flags.Selection{Keys: []string{}, Runtime: "server"}}, map[string]string{})
	}
	paid := serving.Request{Selection: flags.Selection{Runtime: "server"}}
	for range 2 {
		if got, _ := decideAll(t, d, paid); got["paid"] != "on" {
			t.Errorf("%v", got)
		}
	}
	if _, answer := decideAll(t, d, paid); !answer.QuotaLimited {
		t.Error("the third paid request is answered")
	}
	if err := d.Decide(context.Background(), &serving.Request{APIKey: "phc_shop", NoDistinctID: true}, new(serving.Answer)); !errors.Is(err, flags.ErrNoDistinctID) {
		t.Error(err) // checked before the quota (§9.10)
	}
}

// A download costs ten requests. A download beyond the limit is refused and not counted.
func TestDecider_10_1_Downloads(t *testing.T) {
	s := newFakeSource(t, oneFlag)
	s.limit(25)
	d := s.decider(t, nil)
	p, _, err := d.Project(context.Background(), "phc_shop")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false, false} {
		if got := d.CountPayload(context.Background(), &p); got != want {
			t.Errorf("download %d: %v", i+1, got)
		}
	}
	if got := countAnswered(t, d, 10); got != 5 {
		t.Errorf("%d requests fit beside two downloads", got)
	}
	p.FlagLimit = nil
	if !d.CountPayload(context.Background(), &p) {
		t.Error("refused without a limit")
	}
	p.QuotaLimited = []string{"feature_flags"}
	if d.CountPayload(context.Background(), &p) {
		t.Error("allowed when paused")
	}
}
