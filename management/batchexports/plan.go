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

// lateness is how much earlier than the one before it an event may have come in.
// It is only looked at where a schedule begins: later on places are exact.
const lateness = time.Hour

// sessionReach is how far back, and for backfills also ahead, the other events of
// a session are looked for.
const sessionReach = 48 * time.Hour

// planRun finds out what the next run covers: the schedule's, when it is due,
// before the backfills'. nil: nothing is due.
func (s Service) planRun(ctx context.Context, h *held) (*plannedRun, error) {
	horizon, err := s.Rows.Horizon(ctx, h.export.Team)
	if err != nil {
		return nil, err
	}
	now := s.Desk.Now()
	if from, to, ok := h.export.interval(h.task); ok && !to.Add(settle).After(now) {
		span, err := s.spanOf(ctx, h.export, h.task.Place, from, to, horizon, false)
		return &plannedRun{from: from, to: to, span: span}, err
	}
	if len(h.task.Backfills) == 0 {
		return nil, nil
	}
	p := &plannedRun{}
	var repeated *exportRun
	err = s.Desk.Store.Read(ctx, func(tx management.Tx) (err error) {
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
	case p.to.After(now) && p.to.Add(settle).After(now):
		return nil, nil
	case repeated != nil:
		if p.span = repeated.Span; repeated.Status != exportCompleted {
			p.writes = repeated.Writes
		}
	case b.Place != nil:
		p.span, err = s.spanOf(ctx, h.export, *b.Place, p.from, p.to, b.UpTo, !p.to.Before(b.Until.Time))
	default:
		p.span = Span{UpTo: horizon, From: p.from, To: p.to}
	}
	return p, err
}

// spanOf is what an interval of a schedule covers. Which of the places is its end
// decides only to which of two runs something belongs that was committed late:
// the exact end is written down with it. whole: it is the horizon.
func (s Service) spanOf(ctx context.Context, e *exportRecord, place exportPlace, from, to time.Time, horizon int64, whole bool) (span Span, err error) {
	boundary := func(at time.Time) (n int64) {
		if err == nil {
			n, err = s.Rows.Boundary(ctx, at, horizon)
		}
		return n
	}
	until := func(at time.Time) int64 {
		if whole {
			return max(horizon, place.Cut)
		}
		return max(boundary(at), place.Cut)
	}
	fresh := place.Fresh || from.After(place.To.Time)
	if e.Model == modelPersons {
		span.UpTo = until(to)
		if span.After = place.Cut; fresh {
			span.After = boundary(from)
		}
		return span, err
	}
	span.UpTo, span.Before, span.DoneBefore = until(to.Add(settle)), to, from
	if fresh {
		span.After, span.DoneUpTo = boundary(from.Add(-lateness)), span.UpTo
	} else {
		span.After, span.DoneUpTo = place.Low, place.Cut
	}
	if e.Model == modelSessions {
		span.Back = min(boundary(from.Add(-sessionReach)), span.After)
	}
	return span, err
}

// placeAfter is how far a schedule has come with a run.
func (s Service) placeAfter(ctx context.Context, h *held) (exportPlace, error) {
	place := exportPlace{Low: h.run.Span.UpTo, Cut: h.run.Span.UpTo, To: h.run.To}
	if h.export.Model == modelPersons || h.run.Span.Before.IsZero() {
		return place, nil
	}
	var err error
	place.Low, err = s.Rows.Passed(ctx, h.export.Team, h.run.Span.After, h.run.Span.UpTo, h.run.To.Time)
	return place, err
}
