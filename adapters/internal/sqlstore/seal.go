package sqlstore

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

const (
	// sealEvery is the time between two attempts to seal events, and the maximum delay until the files
	// of erased events are rewritten.
	sealEvery = 10 * time.Second
	// maxSealPause is the maximum number of attempts that are left out after failures of a bucket: five
	// minutes.
	maxSealPause = 30
)

// seal seals events at once and then every sealEvery, until the context is canceled. Of consecutive
// failures it logs the first. After each failure of a bucket it pauses twice as long, because its requests
// take long and may cost money. Events that cannot be sealed stay in the database.
func (s *Store) seal(ctx context.Context) {
	var failures throttle.Streak
	ticks := time.NewTicker(sealEvery)
	defer ticks.Stop()
	for pause, left := 0, 0; ; left-- {
		if left <= 0 {
			switch err := s.trySealing(ctx, &failures); {
			case err == nil:
				pause = 0
			case s.files.IsBucket() && !errors.Is(err, events.ErrSealing):
				pause = min(2*pause+1, maxSealPause)
			}
			left = pause + 1
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}

// trySealing seals events and reports the result. While another server seals, the result of the last attempt
// is valid.
func (s *Store) trySealing(ctx context.Context, failures *throttle.Streak) error {
	steps, err := s.Seal(ctx)
	if ctx.Err() != nil || errors.Is(err, events.ErrSealing) {
		return err
	}
	if steps > 0 || err != nil {
		s.sealed(err)
	}
	s.failure.set(err)
	if failures.Begins(err) {
		advice := "check the folder of the segments"
		if s.files.IsBucket() {
			advice = "check the bucket of the segments"
		} else if errors.Is(err, syscall.ENOSPC) {
			advice = "free space on the disk of the segments"
		}
		s.logger.Error("events could not be written into segments: they stay in the database, nothing is lost, and it will be tried again; "+advice, "error", err)
	}
	return err
}

// Seal seals events until all that are due are sealed, and returns the number of steps. A store with
// Config.Segments and a positive Config.SealAfter does it in the background. Nothing is written to a folder
// before it is known to be that of the database.
func (s *Store) Seal(ctx context.Context) (steps int, err error) {
	if !s.hasFolder {
		if err := s.checkFolder(ctx); err != nil {
			return 0, err
		}
	}
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

// checkFolder checks that the folder of segments belongs to the database and has all listed files. If
// a bucket has lost some, only reading their events fails.
func (s *Store) checkFolder(ctx context.Context) error {
	if err := copies.ClaimFolder(ctx, s.db, s.files); err != nil {
		return err
	}
	err := s.events.CheckFiles(ctx)
	if s.files.IsBucket() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, block.ErrDamaged)) {
		s.logger.Error("segment files are missing or damaged; bunting doctor lists them", "error", err)
		err = nil
	}
	s.hasFolder = err == nil
	return err
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
