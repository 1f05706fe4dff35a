package database

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
)

// An open breaker pings in the background, in one goroutine however often it is
// tripped, until the store is closed.
func TestBreaker_Close(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	tries := make(chan struct{})
	b := breaker{Ping: func(ctx context.Context) error {
		tries <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}}
	pgtest.Concurrently(t, 8, func(int) error { b.trip(); return nil })
	<-tries
	b.close()
	b.close()
	b.trip()
	select {
	case <-tries:
		t.Error("tried after the end")
	default:
	}
}
