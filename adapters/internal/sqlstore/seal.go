package sqlstore

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

// sealEvery is the time between two attempts to seal events, and the maximum delay until the files
// of erased events are rewritten.
const sealEvery = 10 * time.Second

// seal seals events at once and then every sealEvery, until the context is canceled. Of consecutive
// failures it logs the first. Events that cannot be sealed stay in the database.
func (s *Store) seal(ctx context.Context) {
	var failures throttle.Streak
	ticks := time.NewTicker(sealEvery)
	defer ticks.Stop()
	for {
		s.trySealing(ctx, &failures)
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// trySealing seals events and reports the result.
func (s *Store) trySealing(ctx context.Context, failures *throttle.Streak) {
	steps, err := s.sealAll(ctx)
	if ctx.Err() != nil {
		return
	}
	if steps > 0 || err != nil {
		s.sealed(err)
	}
	s.failure.set(err)
	if failures.Begins(err) {
		advice := "check the folder of the segments"
		if errors.Is(err, syscall.ENOSPC) {
			advice = "free space on the disk of the segments"
		}
		s.logger.Error("events could not be written into segments: they stay in the database, nothing is lost, and it will be tried again; "+advice, "error", err)
	}
}

// sealAll seals events until there is nothing to do, and returns the number of steps.
func (s *Store) sealAll(ctx context.Context) (steps int, err error) {
	for more := true; more && ctx.Err() == nil; {
		if more, err = s.events.Seal(ctx); err != nil {
			return steps, err
		}
		if more {
			steps++
		}
	}
	return steps, nil
}

// sealFailure is whether the last attempt to seal events has failed.
type sealFailure struct {
	mu    sync.Mutex
	since time.Time
	err   error
}

// set stores the result of an attempt.
func (f *sealFailure) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.since = time.Now()
	}
	f.err = err
}

// SealFailure returns the error of the last attempt to write events into segments, and since when all
// attempts have failed. The error is nil if it has succeeded.
func (s *Store) SealFailure() (since time.Time, err error) {
	s.failure.mu.Lock()
	defer s.failure.mu.Unlock()
	return s.failure.since, s.failure.err
}
