package batchexports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/management"
)

// attempt does the work of a run once, and writes down what became of it.
func (s Service) attempt(ctx context.Context, h *held) error {
	working, cancel := context.WithCancelCause(ctx)
	limited, stop := context.WithTimeout(working, exportTime)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(limited, h, cancel) })
	done, err := s.Runner.Run(limited, s.job(h))
	if err != nil && limited.Err() != nil {
		err = context.Cause(limited)
	}
	stop()
	watch.Wait()
	cancel(nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // the server ends: the run is tried again
	case errors.Is(err, errLeaseLost):
		return nil
	case errors.Is(err, errRunCancelled):
		err = nil
	}
	return s.conclude(context.WithoutCancel(ctx), h, done, err)
}

// watch renews the lease, and ends the work when that is lost or the run is
// cancelled.
func (s Service) watch(ctx context.Context, h *held, cancel context.CancelCauseFunc) {
	every := s.Watch
	if every <= 0 {
		every = defaultWatch
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := s.Desk.Store.Write(ctx, func(tx management.Tx) error {
			t, err := s.mine(tx, h)
			if err != nil {
				return err
			}
			r, err := runOf(tx, t.Export, t.Run)
			if err != nil {
				return err
			}
			if r == nil || !underWay(r.Status) {
				return errRunCancelled
			}
			t.Until = management.At(s.Desk.Now().Add(exportLease))
			return s.putTask(tx, h.export, t)
		})
		// A store that does not answer may do so the next time; whether the lease was
		// kept is looked at again before anything is written down.
		if errors.Is(err, errLeaseLost) || errors.Is(err, errRunCancelled) {
			cancel(err)
			return
		}
	}
}

// conclude writes down what became of a run, and how far its export has come.
func (s Service) conclude(ctx context.Context, h *held, done Done, failure error) error {
	place, err := s.placeAfter(ctx, h)
	if err != nil {
		return err
	}
	var told *management.JobDone
	err = s.Desk.Store.Write(ctx, func(tx management.Tx) error {
		told = nil
		t, err := s.mine(tx, h)
		if err != nil {
			return err
		}
		r, err := runOf(tx, t.Export, t.Run)
		if err != nil || r == nil {
			return err
		}
		if underWay(r.Status) {
			if failure != nil {
				t.NotBefore = s.fail(r, h.export, failure)
			} else {
				s.complete(r, done)
			}
			if err := putRun(tx, r); err != nil {
				return err
			}
			told = &management.JobDone{Job: management.JobBatchExport, Project: h.export.Team, ID: r.ID, Export: h.export.ID, ExportName: h.export.Name, Status: r.Status, Rows: done.Rows, Again: underWay(r.Status)}
			if failure != nil && r.LatestError != nil {
				told.Failure = *r.LatestError
			}
		}
		if !underWay(r.Status) {
			if err := s.advance(tx, h.export, t, r, place); err != nil {
				return err
			}
			t.Run, t.Backfill, t.NotBefore = "", "", management.Stamp{}
		}
		return s.putTask(tx, h.export, t)
	})
	if errors.Is(err, errLeaseLost) {
		return nil
	}
	if err == nil {
		told.TellTo(s.JobDone)
	}
	return err
}

func (s Service) complete(r *exportRun, done Done) {
	none := int64(0)
	r.finish(s.Desk.Now(), exportCompleted)
	r.Completed, r.Total, r.Failed, r.Bytes, r.LatestError = &done.Rows, &done.Rows, &none, &done.Bytes, nil
	r.say(s.Desk.Now(), "INFO", fmt.Sprintf("The run is complete: %d rows, %d bytes.", done.Rows, done.Bytes))
}

// fail notes a failure, and returns when to try again unless the run has ended.
func (s Service) fail(r *exportRun, e *exportRecord, failure error) management.Stamp {
	text := cutText(e.Destination.redact(failure.Error()), maxExportError)
	now := s.Desk.Now()
	r.Attempts++
	r.LatestError, r.Updated = &text, management.At(now)
	var refused *Refused
	switch {
	case errors.As(failure, &refused):
		r.finish(now, exportFailed)
	case r.Attempts < exportAttempts:
		pause := exportPause(r.Attempts)
		r.say(now, "WARNING", fmt.Sprintf("Attempt %d has failed and is repeated in %s: %s", r.Attempts, pause, text))
		return management.At(now.Add(pause))
	case errors.Is(failure, context.DeadlineExceeded):
		r.finish(now, exportTimedOut)
	default:
		r.finish(now, exportRetryable)
	}
	r.say(now, "ERROR", fmt.Sprintf("The run has failed: %s", text))
	return management.Stamp{}
}

// cutText shortens a text to so many bytes.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// advance puts a run that has ended behind: the schedule, or the backfill, goes
// on with what comes after it.
func (s Service) advance(tx management.Tx, e *exportRecord, t *exportTask, r *exportRun, place exportPlace) error {
	if t.Backfill == "" {
		if !place.To.Before(t.Place.To.Time) { // else it was unpaused meanwhile, and is further on
			t.Place = place
		}
		return nil
	}
	b, err := backfillOf(tx, e.ID, t.Backfill)
	if err != nil || b == nil || !underWay(b.Status) {
		return err
	}
	b.Done++
	b.Next, b.Updated = r.To, management.At(s.Desk.Now())
	if b.Place != nil {
		b.Place = &place
	}
	if r.Status != exportCompleted && b.Worst != exportFailed {
		b.Worst = r.Status
	}
	if !b.Next.Before(b.Until.Time) {
		b.Status, b.Finished = exportCompleted, management.At(s.Desk.Now())
		if b.Worst != "" {
			b.Status = b.Worst
		}
		t.Backfills = slices.DeleteFunc(t.Backfills, func(id string) bool { return id == b.ID })
	}
	return putBackfill(tx, b)
}
