package main

import (
	"context"
	"time"
)

// scheduleEvery is how long a scheduled change may be late.
const scheduleEvery = time.Second

// schedule makes the changes of flags whose time has come, until the context
// ends.
func (s *server) schedule(ctx context.Context) {
	tick := time.NewTicker(scheduleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := s.manager.ScheduledChanges.RunDue(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("scheduled changes of flags could not be made; it will be tried again", "error", err)
		}
	}
}
