package sqlstore

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

const (
	// convertRetry is the time until the conversion is tried again after a failure, and convertWait the time until it is
	// checked again while another server does it.
	convertRetry, convertWait = 10 * time.Second, time.Second
	// maxConvertPause is the longest pause between two steps.
	maxConvertPause = 100 * time.Millisecond
	// convertReport is the time between two lines of the log.
	convertReport = 10 * time.Second
)

// convert converts the events and the duplicate keys of an earlier schema, in steps, until all are converted or the context is
// canceled. While events are stored, it pauses after each step for as long as the step took. Of consecutive failures it
// logs the first.
func (s *Store) convert(ctx context.Context) {
	s.logger.Info("the events of an earlier version are converted in the background")
	var failures throttle.Streak
	for reported := time.Now(); ; {
		began, last := time.Now(), s.events.Last.Load()
		did, hasMore, left, err := s.events.Convert(ctx)
		pause := time.Duration(0)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause = convertRetry
		case !hasMore:
			s.logger.Info("all events are converted")
			return
		case !did:
			pause = convertWait
		case s.events.Last.Load() != last:
			pause = min(time.Since(began), maxConvertPause)
		}
		if failures.Begins(err) {
			s.logger.Error("events of an earlier version could not be converted: they can be read, nothing is lost, and it will be tried again", "error", err)
		}
		if did && time.Since(reported) > convertReport {
			reported = time.Now()
			s.logger.Info("stored events are being converted", "left", left)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
