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

// attempt executes a run once and stores the outcome. It stores nothing if the server is
// shutting down or has lost the lease, because the run is then repeated.
func (s Service) attempt(ctx context.Context, h *claimedRun) error {
	workCtx, cancel := context.WithCancelCause(ctx)
	limitedCtx, stop := context.WithTimeout(workCtx, exportTime)
	var watch sync.WaitGroup
	watch.Go(func() { s.watch(limitedCtx, h, cancel) })
	done, err := s.Runner.Run(limitedCtx, s.job(h))
	// The destination's error is only a consequence of the cancelled context.
	if err != nil && limitedCtx.Err() != nil {
		err = context.Cause(limitedCtx)
	}
	stop()
	watch.Wait()
	cancel(nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // the server is shutting down: the run is repeated
	case errors.Is(err, errLeaseLost):
		return nil
	case errors.Is(err, errRunCancelled):
		err = nil
	}
	return s.storeOutcome(context.WithoutCancel(ctx), h, done, err)
}

// watch renews the lease until ctx ends. It cancels the run if the lease is lost or the run was
// cancelled in the store.
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
		// An unavailable store may be available at the next tick. If the lease is lost meanwhile,
		// conclude finds that out before it stores anything.
		if errors.Is(err, errLeaseLost) || errors.Is(err, errRunCancelled) {
			cancel(err)
			return
		}
	}
}

// storeOutcome stores the outcome of a run: its totals or its failure, and the position that the export
// has reached. A failed run may remain active, in order to be attempted later.
func (s Service) storeOutcome(ctx context.Context, h *claimedRun, done RunTotals, failure error) error {
	// This reads the ledger, which must not be done inside the transaction.
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
		// A run that was cancelled meanwhile keeps that status.
		if isActive(r.Status) {
			if failure != nil {
				t.NotBefore = s.fail(r, h.export, failure)
			} else {
				s.complete(r, done)
			}
			if err := putRun(tx, r); err != nil {
				return err
			}
			result = jobDone(h.export, r, done.Rows, failure)
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

// jobDone describes the outcome of an attempt of a run, for metrics and logs.
func jobDone(e *exportRecord, r *exportRun, rows int64, failure error) *management.JobDone {
	d := &management.JobDone{Job: management.JobBatchExport, Project: e.Team, ID: r.ID, Export: e.ID, ExportName: e.Name, Status: r.Status, Rows: rows, Again: isActive(r.Status)}
	if failure != nil && r.LatestError != nil {
		d.Failure = *r.LatestError
	}
	return d
}

// complete sets the totals of a run that has succeeded.
func (s Service) complete(r *exportRun, done RunTotals) {
	zero := int64(0)
	r.finish(s.Env.Now(), exportCompleted)
	r.Completed, r.Total, r.Failed, r.Bytes, r.LatestError = &done.Rows, &done.Rows, &zero, &done.Bytes, nil
	r.addLog(s.Env.Now(), "INFO", fmt.Sprintf("The run is complete: %d rows, %d bytes.", done.Rows, done.Bytes))
}

// fail records a failed attempt. It returns the time of the next attempt, or zero if the run has
// ended: after a PermanentError or after exportAttempts attempts.
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
		r.addLog(now, "WARNING", fmt.Sprintf("Attempt %d failed and will be retried in %s: %s", r.Attempts, pause, text))
		return management.NewStamp(now.Add(pause))
	case errors.Is(failure, context.DeadlineExceeded):
		r.finish(now, exportTimedOut)
	default:
		r.finish(now, exportRetryable)
	}
	r.addLog(now, "ERROR", fmt.Sprintf("The run has failed: %s", text))
	return management.Stamp{}
}

// cutText returns the beginning of a string, at most limit bytes, without cutting a character.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// advance moves the schedule or the backfill of a run that has ended past that run.
func (s Service) advance(tx management.Tx, e *exportRecord, t *exportTask, r *exportRun, position exportPosition) error {
	if t.Backfill == "" {
		if !position.To.Before(t.Position.To.Time) { // otherwise it was unpaused meanwhile, and its position is later
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
	// exportFailed is the worst status, so later runs do not replace it.
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
