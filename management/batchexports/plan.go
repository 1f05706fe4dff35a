package batchexports

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// plannedRun describes the next run of an export.
type plannedRun struct {
	from, to time.Time
	span     Span
	backfill *exportBackfill // nil for a run of the schedule
	writes   string          // the id of the run whose output it replaces, or empty
}

// maxLateness is the greatest time by which an event may have arrived before an event with a lower
// position. It matters only when a schedule begins; later positions are exact.
const maxLateness = time.Hour

// sessionReach is the time before a run, and for backfills also after it, in which the remaining
// events of its sessions are searched.
const sessionReach = 48 * time.Hour

// planRun determines the data of the next run. A run of the schedule that is due precedes the runs
// of backfills. It returns nil if no run is due.
func (s Service) planRun(ctx context.Context, h *claimedRun) (*plannedRun, error) {
	horizon, err := s.Rows.Horizon(ctx, h.export.Team)
	if err != nil {
		return nil, err
	}
	now := s.Env.Now()
	if from, to, ok := h.export.interval(h.task); ok && !to.Add(settleTime).After(now) {
		span, err := s.spanOf(ctx, h.export, h.task.Position, from, to, horizon, false)
		return &plannedRun{from: from, to: to, span: span}, err
	}
	if len(h.task.Backfills) == 0 {
		return nil, nil
	}
	p := &plannedRun{}
	var repeated *exportRun
	err = s.Env.Store.Read(ctx, func(tx management.Tx) (err error) {
		if p.backfill, _, err = s.nextBackfill(tx, h.export, h.task); err != nil || p.backfill == nil || p.backfill.Repeats == "" {
			return err
		}
		repeated, err = runOf(tx, h.export.ID, p.backfill.Repeats)
		return err
	})
	if err != nil || p.backfill == nil {
		return nil, err
	}
	b := p.backfill
	p.from, p.to = b.interval(h.export)
	switch {
	// The interval of the backfill has not ended.
	case p.to.After(now) && p.to.Add(settleTime).After(now):
		return nil, nil
	case repeated != nil:
		// The output of a completed run is not replaced.
		if p.span = repeated.Span; repeated.Status != exportCompleted {
			p.writes = repeated.Writes
		}
	case b.Position != nil:
		p.span, err = s.spanOf(ctx, h.export, *b.Position, p.from, p.to, b.UpTo, !p.to.Before(b.Until.Time))
	default:
		p.span = Span{UpTo: horizon, From: p.from, To: p.to}
	}
	return p, err
}

// spanOf returns the Span of an interval of a schedule. The choice of its last position only
// decides which of two runs exports an event that was committed late, because the Span stores the
// position exactly and the next run continues there. If toHorizon is true, the last position is the
// horizon.
func (s Service) spanOf(ctx context.Context, e *exportRecord, position exportPosition, from, to time.Time, horizon int64, toHorizon bool) (span Span, err error) {
	boundary := func(when time.Time) (n int64) {
		if err == nil {
			n, err = s.Rows.Boundary(ctx, when, horizon)
		}
		return n
	}
	until := func(when time.Time) int64 {
		if toHorizon {
			return max(horizon, position.Cut)
		}
		return max(boundary(when), position.Cut)
	}
	// A new schedule has no previous run to continue.
	isNew := position.IsNew || from.After(position.To.Time)
	// Persons are selected by positions only.
	if e.Model == modelPersons {
		span.UpTo = until(to)
		if span.After = position.Cut; isNew {
			span.After = boundary(from)
		}
		return span, err
	}
	span.UpTo, span.Before, span.DoneBefore = until(to.Add(settleTime)), to, from
	if isNew {
		span.After, span.DoneUpTo = boundary(from.Add(-maxLateness)), span.UpTo
	} else {
		span.After, span.DoneUpTo = position.Low, position.Cut
	}
	if e.Model == modelSessions {
		span.Back = min(boundary(from.Add(-sessionReach)), span.After)
	}
	return span, err
}

// positionAfter returns the position that a schedule has reached with a run. It reads the ledger in
// order to find the greatest position up to which all events arrived before the end of the run.
func (s Service) positionAfter(ctx context.Context, h *claimedRun) (exportPosition, error) {
	position := exportPosition{Low: h.run.Span.UpTo, Cut: h.run.Span.UpTo, To: h.run.To}
	if h.export.Model == modelPersons || h.run.Span.Before.IsZero() {
		return position, nil
	}
	var err error
	position.Low, err = s.Rows.Passed(ctx, h.export.Team, h.run.Span.After, h.run.Span.UpTo, h.run.To.Time)
	return position, err
}
