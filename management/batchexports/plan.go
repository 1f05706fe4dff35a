package batchexports

import (
	"context"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// plannedRun is what the next run of an export covers.
type plannedRun struct {
	from, to time.Time
	span     Span
	backfill *exportBackfill // nil: the schedule
	writes   string          // the run that it repeats
}

// maxLateness is how much earlier than the one before it an event may have come in.
// It is only looked at where a schedule begins: later on places are exact.
const maxLateness = time.Hour

// sessionReach is how far back, and for backfills also ahead, the other events of
// a session are looked for.
const sessionReach = 48 * time.Hour

// planRun finds out what the next run covers: the schedule's, when it is due,
// before the backfills'. nil: nothing is due.
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
	case p.to.After(now) && p.to.Add(settleTime).After(now):
		return nil, nil
	case repeated != nil:
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

// spanOf is what an interval of a schedule covers. Which of the places is its end
// decides only to which of two runs something belongs that was committed late:
// the exact end is written down with it. whole: it is the horizon.
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
	isNew := position.IsNew || from.After(position.To.Time)
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

// positionAfter is how far a schedule has come with a run.
func (s Service) positionAfter(ctx context.Context, h *claimedRun) (exportPosition, error) {
	position := exportPosition{Low: h.run.Span.UpTo, Cut: h.run.Span.UpTo, To: h.run.To}
	if h.export.Model == modelPersons || h.run.Span.Before.IsZero() {
		return position, nil
	}
	var err error
	position.Low, err = s.Rows.Passed(ctx, h.export.Team, h.run.Span.After, h.run.Span.UpTo, h.run.To.Time)
	return position, err
}
