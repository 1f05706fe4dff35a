package capture

import (
	"context"
	"errors"
	"testing"
	"time"
)

// slowUsage blocks until the test releases it.
type slowUsage struct {
	requests chan struct{}
	answer   chan int64
}

func (u *slowUsage) Used(context.Context, string, Resource, time.Time) (int64, error) {
	u.requests <- struct{}{}
	if n := <-u.answer; n >= 0 {
		return n, nil
	}
	return 0, errors.New("the database does not answer")
}

// Decision 11: a monthly limit counts stored events and events in progress. A slow store only
// delays the caller that reads the count, and an error of the store does not drop events.
func TestMeters(t *testing.T) {
	usage := &slowUsage{make(chan struct{}), make(chan int64)}
	m := newMeters(usage)
	key := meterKey{"org", ResourceEvents}
	at := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	consume := func(at time.Time) bool { return m.consume(t.Context(), key, 10, at) }
	reading := func(at time.Time, stored int64) bool {
		t.Helper()
		done := make(chan bool)
		go func() { done <- consume(at) }()
		<-usage.requests
		if !consume(at) {
			t.Error("who does not ask is kept from counting on what is known")
		}
		usage.answer <- stored
		return <-done
	}
	if !reading(at, 3) { // 3 are stored, 2 are in progress
		t.Error("5 of 10 are refused")
	}
	for i := range 5 {
		if !consume(at) {
			t.Errorf("event %d of 10 is refused", 6+i)
		}
	}
	if consume(at) {
		t.Error("event 11 of 10 is taken")
	}
	later := at.Add(2 * meterAge)
	go func() { <-usage.requests; usage.answer <- -1 }()
	if consume(later) {
		t.Error("a count that cannot be read begins anew")
	}
	february := at.Add(2 * time.Hour)
	if !reading(february, 0) {
		t.Error("a new month is refused")
	}
}
