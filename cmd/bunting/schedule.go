package main

import (
	"context"
	"time"
)

// scheduleEvery is how long a scheduled change may be late.
const scheduleEvery = time.Second

// schedule makes the changes of flags whose time has come, until the context
// ends. A failure is logged once.
func (s *server) schedule(ctx context.Context) {
	failing := false
	tick := time.NewTicker(scheduleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		_, err := s.manager.ScheduledChanges.RunDue(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.jobs.count(jobSchedules, err)
		}
		if err != nil && !failing {
			s.log.Error("scheduled changes of flags could not be made; it will be tried again", "error", err)
		}
		failing = err != nil
	}
}
