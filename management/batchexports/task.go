package batchexports

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindExportTask is what a server has to do for an export: ID is the export, Sort
// when to look at it next.
const kindExportTask = "batch_export_task"

// exportTask is where an export stands. While a server works on it it holds the
// lease, and no other one takes it before that has run out.
type exportTask struct {
	Export string           `json:"export"`
	Owner  string           `json:"owner,omitempty"` // of the lease, empty for nobody
	Until  management.Stamp `json:"until,omitzero"`  // until when the lease holds
	// Position is how far the schedule has come.
	Position exportPosition `json:"place"`
	// Run is the run that has been begun, empty for none; Backfill the one that it
	// belongs to; NotBefore when to try it again.
	Run       string           `json:"run,omitempty"`
	Backfill  string           `json:"backfill,omitempty"`
	NotBefore management.Stamp `json:"not_before,omitzero"`
	// Backfills are those that are not done, in their order.
	Backfills []string `json:"backfills,omitempty"`
}

// exportPosition is how far a schedule has come. Everything of the project is
// covered that has a place in the ledger up to Cut and came in before To; up to
// Low all of it came in before To. What came in before To and stands behind Cut
// was committed late, and the next run covers it too: so nothing is left out and
// nothing comes twice, however times and places lie.
type exportPosition struct {
	Low int64            `json:"low,omitempty"`
	Cut int64            `json:"cut,omitempty"`
	To  management.Stamp `json:"to"`
	// IsNew: nothing before To is wanted, and there is no place yet.
	IsNew bool `json:"fresh,omitempty"`
}

func (p exportPosition) equals(other exportPosition) bool {
	return p.Low == other.Low && p.Cut == other.Cut && p.To.Equal(other.To.Time) && p.IsNew == other.IsNew
}

// positionAfter is the place behind a run, as far as the run itself tells.
func (r *exportRun) positionAfter() exportPosition {
	return exportPosition{Low: r.Span.After, Cut: r.Span.UpTo, To: r.To}
}

// taskOf returns the task of an export.
func taskOf(tx management.Tx, export string) (*exportTask, error) {
	r, err := tx.Get(kindExportTask, "", export)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, management.ErrNotFound() // deleted meanwhile
	}
	return management.Decode[exportTask](r)
}

// settleTime is how long after its end an interval is exported: by then requests that
// came in before it have been committed or given up. What is later still belongs
// to the next run.
const settleTime = 30 * time.Second

// putTask saves a task with the time when it is to be looked at.
func (s Service) putTask(tx management.Tx, e *exportRecord, t *exportTask) error {
	due, hasWork, err := s.due(tx, e, t)
	if err != nil {
		return err
	}
	return tx.Put(&management.Record{Kind: kindExportTask, ID: t.Export, Sort: management.SortTime(due), Hidden: !hasWork, Data: management.Encode(t)})
}

// due is when there is something to do; false: never, as things are.
func (s Service) due(tx management.Tx, e *exportRecord, t *exportTask) (due time.Time, hasWork bool, err error) {
	if t.Owner != "" {
		return t.Until.Time, true, nil
	}
	if t.Run != "" {
		r, err := runOf(tx, e.ID, t.Run)
		if err != nil || r == nil || !isActive(r.Status) {
			return time.Unix(0, 0), true, err // it was cancelled: go on
		}
		return latest(t.NotBefore.Time, time.Unix(0, 0)), true, nil
	}
	if _, to, ok := e.interval(t); ok {
		due, hasWork = to.Add(settleTime), true
	}
	_, begin, err := s.nextBackfill(tx, e, t)
	if err == nil && !begin.IsZero() && (!hasWork || begin.Before(due)) {
		due, hasWork = begin, true
	}
	return due, hasWork, err
}

// nextBackfill is the first backfill whose next interval is over, else the one whose
// is over first: one that ends in the future keeps no other waiting. begin is when it
// can go on, long ago for at once, zero for no backfill. b is nil for one that is gone.
func (s Service) nextBackfill(tx management.Tx, e *exportRecord, t *exportTask) (b *exportBackfill, begin time.Time, err error) {
	now := s.Env.Now()
	for _, id := range t.Backfills {
		candidate, err := backfillOf(tx, e.ID, id)
		if err != nil {
			return nil, begin, err
		}
		if candidate == nil {
			return nil, time.Unix(0, 0), nil
		}
		_, to := candidate.interval(e)
		if !to.Add(settleTime).After(now) || !to.After(now) {
			return candidate, time.Unix(0, 0), nil
		}
		if start := to.Add(settleTime); begin.IsZero() || start.Before(begin) {
			b, begin = candidate, start
		}
	}
	return b, begin, nil
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// interval is the next one of the schedule; false: there is none, as things are.
// Those whose run would come before start_at are passed over.
func (e *exportRecord) interval(t *exportTask) (from, to time.Time, ok bool) {
	if e.Paused || e.Deleted {
		return from, to, false
	}
	plan := e.schedule()
	from = t.Position.To.Time
	to = plan.next(from)
	if start := e.Start.Time; !start.IsZero() && to.Before(start) {
		from = plan.floor(start.Add(-time.Microsecond))
		to = plan.next(from)
	}
	return from, to, e.End.IsZero() || !to.After(e.End.Time)
}

// interval is the next one of a backfill.
func (b *exportBackfill) interval(e *exportRecord) (from, to time.Time) {
	from, to = b.Next.Time, b.Until.Time
	if !b.Single && b.Repeats == "" {
		if next := e.schedule().next(from); next.Before(to) {
			to = next
		}
	}
	return from, to
}

// wake makes a task be looked at anew.
func (s Service) wake(tx management.Tx, e *exportRecord) error {
	t, err := taskOf(tx, e.ID)
	if err != nil {
		return err
	}
	return s.putTask(tx, e, t)
}

// cancelBackfill ends a backfill that is not done.
func (s Service) cancelBackfill(tx management.Tx, t *exportTask, b *exportBackfill) error {
	now := management.NewStamp(s.Env.Now())
	b.Status, b.Finished, b.Updated = exportCancelled, now, now
	t.Backfills = slices.DeleteFunc(t.Backfills, func(id string) bool { return id == b.ID })
	if err := putBackfill(tx, b); err != nil {
		return err
	}
	if t.Backfill != b.ID {
		return nil
	}
	return s.cancelCurrent(tx, t)
}

// cancelCurrent ends the run that was begun.
func (s Service) cancelCurrent(tx management.Tx, t *exportTask) error {
	r, err := runOf(tx, t.Export, t.Run)
	if err != nil || r == nil || !isActive(r.Status) {
		return err
	}
	r.finish(s.Env.Now(), exportCancelled)
	r.addLog(s.Env.Now(), "WARNING", "The run was cancelled.")
	return putRun(tx, r)
}

// cancelAll ends everything of an export.
func (s Service) cancelAll(tx management.Tx, t *exportTask) error {
	for _, id := range slices.Clone(t.Backfills) {
		b, err := backfillOf(tx, t.Export, id)
		if err == nil && b != nil {
			err = s.cancelBackfill(tx, t, b)
		}
		if err != nil {
			return err
		}
	}
	return s.cancelCurrent(tx, t)
}
