package sqlstore

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

// sealEvery is the time between two attempts to seal events unless the configuration has another,
// and the maximum delay until the files of erased events are rewritten.
const sealEvery = 10 * time.Second

// seal seals full blocks of events, until the context is canceled. Of consecutive failures it logs
// the first. Events that cannot be sealed stay in the database.
func (s *Store) seal(ctx context.Context) {
	var failures throttle.Streak
	ticks := time.NewTicker(s.sealEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		more, err := true, error(nil)
		for more && err == nil && ctx.Err() == nil {
			more, err = s.events.Seal(ctx)
		}
		if failures.Begins(err) && ctx.Err() == nil {
			s.logger.Error("events could not be written into segments; it will be tried again", "error", err)
		}
	}
}
