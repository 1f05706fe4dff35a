package queries

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// stranger asks for what is shared.
func stranger(patience time.Duration) Request {
	r := request(1, trend, Blocking)
	r.Shared, r.Patience = true, patience
	return r
}

// §1.9: what strangers get is at most 60 seconds older than the data, whatever it has cost.
func TestShared_Fresh(t *testing.T) {
	inHall(t, time.Millisecond, Limits{}, func(t *testing.T, h *hall, d *Desk) {
		answered(t, d, stranger(0))
		h.change(func(s *State) { s.Events++ })
		time.Sleep(59 * time.Second)
		if !answered(t, d, stranger(0)) {
			t.Error("after 59 seconds it is computed again")
		}
		time.Sleep(2 * time.Second)
		if answered(t, d, stranger(0)) {
			t.Error("after 61 seconds it is remembered still")
		}
	})
	inHall(t, 30*time.Second, Limits{Timeout: time.Minute}, func(t *testing.T, h *hall, d *Desk) {
		answered(t, d, stranger(0))
		h.change(func(s *State) { s.Events++ })
		time.Sleep(31 * time.Second) // since it has begun: 61
		if answered(t, d, stranger(0)) {
			t.Error("one that took long is remembered for longer")
		}
	})
	inHall(t, time.Second, Limits{}, func(t *testing.T, h *hall, d *Desk) {
		answered(t, d, stranger(0))
		h.change(func(s *State) { s.Rewritten++ })
		if answered(t, d, stranger(0)) {
			t.Error("what a merge has made wrong is shown")
		}
	})
}

// However many strangers come while a question is computed, it is computed once, none
// takes a place of the runs that members begin, and those whose patience has ended
// leave nothing behind.
func TestShared_ComputedOnce(t *testing.T) {
	inHall(t, 100*time.Second, Limits{}, func(t *testing.T, h *hall, d *Desk) {
		var wg sync.WaitGroup
		for i := range 8 {
			for range 50 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Second)
					a, err := d.Ask(t.Context(), stranger(10*time.Second))
					if err != nil || a.Result != nil || a.Status == nil || a.Status.Complete {
						t.Errorf("%+v, %v: want a run that goes on", a, err)
					}
				})
			}
		}
		wg.Wait()
		synctest.Wait()
		d.mu.Lock()
		if n, kept := d.computations[newestKey(d)].wanted, len(d.runs.byName); n != 1 || kept != 0 {
			t.Errorf("%d runs want it still, %d are kept by name", n, kept)
		}
		d.mu.Unlock()
		time.Sleep(21 * time.Second)
		if !answered(t, d, stranger(0)) || h.computed() != 1 {
			t.Errorf("it was computed %d times", h.computed())
		}
	})
}

func newestKey(d *Desk) (key string) {
	for key = range d.computations {
	}
	return key
}
