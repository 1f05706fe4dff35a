package batchexports

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindExportTask is the kind of the records of tasks. ID is the export, Sort the time at which the
// task is due. Hidden means that it is not due at any time unless the export changes.
const kindExportTask = "batch_export_task"

// exportTask is the state of an export's execution. While a server works on an export it has the
// lease, and no other server may claim the task before the lease expires.
type exportTask struct {
	Export string           `json:"export"`
	Owner  string           `json:"owner,omitempty"` // of the lease; empty if there is none
	Until  management.Stamp `json:"until,omitzero"`  // end of the lease
	// Position is the position that the schedule has reached.
	Position exportPosition `json:"place"`
	// Run is the id of the current run, or empty. Backfill is the backfill to which that run
	// belongs, or empty, and NotBefore the time of the next attempt.
	Run       string           `json:"run,omitempty"`
	Backfill  string           `json:"backfill,omitempty"`
	NotBefore management.Stamp `json:"not_before,omitzero"`
	// Backfills are the ids of the backfills that have not ended, in order.
	Backfills []string `json:"backfills,omitempty"`
}

// exportPosition is the position that a schedule has reached. All events of the project at
// positions up to Cut that arrived before To are exported. At positions up to Low, all events
// arrived before To. Events that arrived before To and are after Cut were committed late, and
// belong to the next run. Therefore every event is exported exactly once, whatever the order of
// times and positions is.
type exportPosition struct {
	Low int64            `json:"low,omitempty"`
	Cut int64            `json:"cut,omitempty"`
	To  management.Stamp `json:"to"`
	// IsNew reports that the schedule begins at To and has no positions yet.
	IsNew bool `json:"fresh,omitempty"`
}

// equals reports whether two positions are the same. Times are compared by Equal.
func (p exportPosition) equals(other exportPosition) bool {
	return p.Low == other.Low && p.Cut == other.Cut && p.To.Equal(other.To.Time) && p.IsNew == other.IsNew
}

// positionAfter returns the position behind a run without reading the ledger, with a lower bound
// for Low.
func (r *exportRun) positionAfter() exportPosition {
	return exportPosition{Low: r.Span.After, Cut: r.Span.UpTo, To: r.To}
}

// taskOf returns the task of an export, or ErrNotFound if the export was deleted.
func taskOf(tx management.Tx, export string) (*exportTask, error) {
	return records.Existing(management.Found[exportTask](tx.Get(kindExportTask, "", export)))
}

// settleTime is the time after the end of an interval at which the interval is exported. By then,
// requests that arrived before the end are committed or have failed. Events that are committed even
// later belong to the next run.
const settleTime = 30 * time.Second

// putTask stores a task with the time at which it is due.
func (s Service) putTask(tx management.Tx, e *exportRecord, t *exportTask) error {
	due, hasWork, err := s.due(tx, e, t)
	if err != nil {
		return err
	}
	return tx.Put(&management.Record{Kind: kindExportTask, ID: t.Export, Sort: storage.SortTime(due), Hidden: !hasWork, Data: storage.Encode(t)})
}

// due returns the time at which the task has to be executed. It returns false if the task has no
// work unless the export changes. While a server has the lease, the task is due when the lease
// expires.
func (s Service) due(tx management.Tx, e *exportRecord, t *exportTask) (due time.Time, hasWork bool, err error) {
	if t.Owner != "" {
		return t.Until.Time, true, nil
	}
	if t.Run != "" {
		r, err := runOf(tx, e.ID, t.Run)
		if err != nil || r == nil || !isActive(r.Status) {
			return time.Unix(0, 0), true, err // it was cancelled: continue at once
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

// nextBackfill returns the first backfill with an interval that has ended, otherwise the backfill
// with the interval that ends first. A backfill that ends in the future therefore does not block
// the ones after it. begin is the time at which the backfill can continue: long ago for
// immediately, zero if there is no backfill. b is nil for a backfill that no longer exists.
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

// latest returns the later of two times.
func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// interval returns the next interval of the schedule, and false if the schedule is paused or has
// ended. Intervals that end before start_at are skipped.
func (e *exportRecord) interval(t *exportTask) (from, to time.Time, ok bool) {
	if e.Paused || e.Deleted {
		return from, to, false
	}
	plan := e.schedule()
	from = t.Position.To.Time
	to = plan.next(from)
	// The first interval is the one that contains start_at or ends with it.
	if start := e.Start.Time; !start.IsZero() && to.Before(start) {
		from = plan.floor(start.Add(-time.Microsecond))
		to = plan.next(from)
	}
	return from, to, e.End.IsZero() || !to.After(e.End.Time)
}

// interval returns the next interval of a backfill.
func (b *exportBackfill) interval(e *exportRecord) (from, to time.Time) {
	from, to = b.Next.Time, b.Until.Time
	if !b.Single && b.Repeats == "" {
		if next := e.schedule().next(from); next.Before(to) {
			to = next
		}
	}
	return from, to
}

// wake updates the time at which the task of an export is due.
func (s Service) wake(tx management.Tx, e *exportRecord) error {
	t, err := taskOf(tx, e.ID)
	if err != nil {
		return err
	}
	return s.putTask(tx, e, t)
}

// cancelBackfill cancels a backfill, and its run if that is the current one.
func (s Service) cancelBackfill(tx management.Tx, t *exportTask, b *exportBackfill) error {
	now := management.NewStamp(s.Env.Now())
	b.Status, b.Finished, b.Updated = exportWasCancelled, now, now
	t.Backfills = slices.DeleteFunc(t.Backfills, func(id string) bool { return id == b.ID })
	if err := putBackfill(tx, b); err != nil {
		return err
	}
	if t.Backfill != b.ID {
		return nil
	}
	return s.cancelCurrent(tx, t)
}

// cancelCurrent cancels the current run.
func (s Service) cancelCurrent(tx management.Tx, t *exportTask) error {
	r, err := runOf(tx, t.Export, t.Run)
	if err != nil || r == nil || !isActive(r.Status) {
		return err
	}
	r.finish(s.Env.Now(), exportWasCancelled)
	r.addLog(s.Env.Now(), "WARNING", "The run was cancelled.")
	return putRun(tx, r)
}

// cancelAll cancels the current run and all backfills.
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
