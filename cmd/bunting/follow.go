package main

import (
	"context"
	"time"
)

// followPause is how long the follower waits when it has seen all events.
const followPause = time.Second

// follow makes issues of the exceptions among the events, until the context ends.
// A failure is logged once; it goes on where it was.
func (s *server) follow(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		more, err := s.manager.ErrorTracking.Follow(ctx)
		if ctx.Err() == nil {
			s.jobs.count(jobIssues, err)
		}
		switch {
		case err == nil:
			failing = false
		case ctx.Err() == nil && !failing:
			failing = true
			s.log.Error("exceptions could not be made issues; it will be tried again", "error", err)
		}
		if more && err == nil {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}
