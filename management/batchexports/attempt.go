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
func (s Service) attempt(ctx context.Context, h *claimedRun) error {
	workCtx, cancel := context.WithCancelCause(ctx)
	limitedCtx, stop := context.WithTimeout(workCtx, exportTime)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(limitedCtx, h, cancel) })
	done, err := s.Runner.Run(limitedCtx, s.job(h))
	if err != nil && limitedCtx.Err() != nil {
		err = context.Cause(limitedCtx)
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
func (s Service) watch(ctx context.Context, h *claimedRun, cancel context.CancelCauseFunc) {
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
		err := s.Env.Store.Write(ctx, func(tx management.Tx) error {
			t, err := s.checkLease(tx, h)
			if err != nil {
				return err
			}
			r, err := runOf(tx, t.Export, t.Run)
			if err != nil {
				return err
			}
			if r == nil || !isActive(r.Status) {
				return errRunCancelled
			}
			t.Until = management.NewStamp(s.Env.Now().Add(exportLease))
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
func (s Service) conclude(ctx context.Context, h *claimedRun, done RunTotals, failure error) error {
	position, err := s.positionAfter(ctx, h)
	if err != nil {
		return err
	}
	var result *management.JobDone
	err = s.Env.Store.Write(ctx, func(tx management.Tx) error {
		result = nil
		t, err := s.checkLease(tx, h)
		if err != nil {
			return err
		}
		r, err := runOf(tx, t.Export, t.Run)
		if err != nil || r == nil {
			return err
		}
		if isActive(r.Status) {
			if failure != nil {
				t.NotBefore = s.fail(r, h.export, failure)
			} else {
				s.complete(r, done)
			}
			if err := putRun(tx, r); err != nil {
				return err
			}
			result = &management.JobDone{Job: management.JobBatchExport, Project: h.export.Team, ID: r.ID, Export: h.export.ID, ExportName: h.export.Name, Status: r.Status, Rows: done.Rows, Again: isActive(r.Status)}
			if failure != nil && r.LatestError != nil {
				result.Failure = *r.LatestError
			}
		}
		if !isActive(r.Status) {
			if err := s.advance(tx, h.export, t, r, position); err != nil {
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
		result.ReportTo(s.JobDone)
	}
	return err
}

func (s Service) complete(r *exportRun, done RunTotals) {
	zero := int64(0)
	r.finish(s.Env.Now(), exportCompleted)
	r.Completed, r.Total, r.Failed, r.Bytes, r.LatestError = &done.Rows, &done.Rows, &zero, &done.Bytes, nil
	r.addLog(s.Env.Now(), "INFO", fmt.Sprintf("The run is complete: %d rows, %d bytes.", done.Rows, done.Bytes))
}

// fail notes a failure, and returns when to try again unless the run has ended.
func (s Service) fail(r *exportRun, e *exportRecord, failure error) management.Stamp {
	text := cutText(e.Destination.redact(failure.Error()), maxExportError)
	now := s.Env.Now()
	r.Attempts++
	r.LatestError, r.Updated = &text, management.NewStamp(now)
	var permanent *PermanentError
	switch {
	case errors.As(failure, &permanent):
		r.finish(now, exportFailed)
	case r.Attempts < exportAttempts:
		pause := exportPause(r.Attempts)
		r.addLog(now, "WARNING", fmt.Sprintf("Attempt %d has failed and is repeated in %s: %s", r.Attempts, pause, text))
		return management.NewStamp(now.Add(pause))
	case errors.Is(failure, context.DeadlineExceeded):
		r.finish(now, exportTimedOut)
	default:
		r.finish(now, exportRetryable)
	}
	r.addLog(now, "ERROR", fmt.Sprintf("The run has failed: %s", text))
	return management.Stamp{}
}

// cutText shortens a text to so many bytes.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// advance puts a run that has ended behind: the schedule, or the backfill, goes
// on with what comes after it.
func (s Service) advance(tx management.Tx, e *exportRecord, t *exportTask, r *exportRun, position exportPosition) error {
	if t.Backfill == "" {
		if !position.To.Before(t.Position.To.Time) { // else it was unpaused meanwhile, and is further on
			t.Position = position
		}
		return nil
	}
	b, err := backfillOf(tx, e.ID, t.Backfill)
	if err != nil || b == nil || !isActive(b.Status) {
		return err
	}
	b.Done++
	b.Next, b.Updated = r.To, management.NewStamp(s.Env.Now())
	if b.Position != nil {
		b.Position = &position
	}
	if r.Status != exportCompleted && b.Worst != exportFailed {
		b.Worst = r.Status
	}
	if !b.Next.Before(b.Until.Time) {
		b.Status, b.Finished = exportCompleted, management.NewStamp(s.Env.Now())
		if b.Worst != "" {
			b.Status = b.Worst
		}
		t.Backfills = slices.DeleteFunc(t.Backfills, func(id string) bool { return id == b.ID })
	}
	return putBackfill(tx, b)
}
