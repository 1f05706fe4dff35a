package queries

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sharedRequest returns a request from a public link.
func sharedRequest(maxWait time.Duration) Request {
	r := request(1, trend, Blocking)
	r.Shared, r.MaxWait = true, maxWait
	return r
}

// §1.9: a result for public links is at most 60 seconds older than the data, independent of
// its cost.
func TestShared_Fresh(t *testing.T) {
	withService(t, time.Millisecond, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		mustExecute(t, d, sharedRequest(0))
		h.change(func(s *State) { s.Events++ })
		time.Sleep(59 * time.Second)
		if !mustExecute(t, d, sharedRequest(0)) {
			t.Error("after 59 seconds it is computed again")
		}
		time.Sleep(2 * time.Second)
		if mustExecute(t, d, sharedRequest(0)) {
			t.Error("after 61 seconds it is remembered still")
		}
	})
	withService(t, 30*time.Second, Limits{Timeout: time.Minute}, func(t *testing.T, h *fakeSource, d *Service) {
		mustExecute(t, d, sharedRequest(0))
		h.change(func(s *State) { s.Events++ })
		time.Sleep(31 * time.Second) // 61 s after the beginning
		if mustExecute(t, d, sharedRequest(0)) {
			t.Error("one that took long is remembered for longer")
		}
	})
	withService(t, time.Second, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		mustExecute(t, d, sharedRequest(0))
		h.change(func(s *State) { s.Rewritten++ })
		if mustExecute(t, d, sharedRequest(0)) {
			t.Error("what a merge has made wrong is shown")
		}
	})
}

// A query that many visitors of a public link execute concurrently is computed once.
// Their runs do not count as runs of members, and those that time out are removed.
func TestShared_ComputedOnce(t *testing.T) {
	withService(t, 100*time.Second, Limits{}, func(t *testing.T, h *fakeSource, d *Service) {
		var wg sync.WaitGroup
		for i := range 8 {
			for range 50 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Second)
					a, err := d.Execute(t.Context(), sharedRequest(10*time.Second))
					if err != nil || a.Result != nil || a.Status == nil || a.Status.Complete {
						t.Errorf("%+v, %v: want a run that goes on", a, err)
					}
				})
			}
		}
		wg.Wait()
		synctest.Wait()
		d.mu.Lock()
		if n, named := d.computations[newestKey(d)].waiters, len(d.runs.byName); n != 1 || named != 0 {
			t.Errorf("%d runs want it still, %d are kept by name", n, named)
		}
		d.mu.Unlock()
		time.Sleep(21 * time.Second)
		if !mustExecute(t, d, sharedRequest(0)) || h.computed() != 1 {
			t.Errorf("it was computed %d times", h.computed())
		}
	})
}

func newestKey(d *Service) (key string) {
	for key = range d.computations {
	}
	return key
}
