package batchexports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// maxBackfillRuns is how many runs a backfill may have.
const maxBackfillRuns = 10_000

// maxBackfills is how many backfills of an export may wait.
const maxBackfills = 100

// BackfillFields are the fields of a new backfill.
var BackfillFields = management.Fields{
	{Name: "start_at", Type: management.Any, Help: "ISO 8601 with a zone, of days and weeks a date alone; null: from the beginning"},
	{Name: "end_at", Type: management.Any, Help: "ISO 8601 with a zone, of days and weeks a date alone; null: until now"},
}

// Backfills returns a page of the backfills of an export, newest first.
func (s Service) Backfills(ctx context.Context, scope *management.Scope, id, cursor string) (CursorPage[BatchExportBackfill], error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (out CursorPage[BatchExportBackfill], err error) {
		e, err := findExport(tx, scope, id)
		if err != nil {
			return out, err
		}
		all, err := keyedRecords(tx, management.Query{Kind: kindExportBackfill, Parent: e.ID}, func(_ *BatchExportBackfill, sort string) (string, bool) { return sort, true })
		if err != nil {
			return out, err
		}
		return pageAt(all, true, cursor, exportBackfillPage)
	})
}

// Backfill returns one backfill.
func (s Service) Backfill(ctx context.Context, scope *management.Scope, export, id string) (*BatchExportBackfill, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (*BatchExportBackfill, error) {
		_, b, err := findInExport[exportBackfill](tx, scope, kindExportBackfill, export, id)
		if err != nil {
			return nil, err
		}
		return &b.BatchExportBackfill, nil
	})
}

// date reads the bound of a backfill of days or weeks, which is a date alone: that day
// begins where an interval does, by the clock of the export's zone, which is UTC
// unless it says another. Midnight of that zone is the date, too, as older clients
// send it (spec/clients.md §16).
func (s schedule) date(name, text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if parsed, isTime := management.ParseTime(text); err != nil && isTime {
		parsed = parsed.In(s.zone)
		if !hasZone(text) || parsed.Sub(time.Date(parsed.Year(), parsed.Month(), parsed.Day(), 0, 0, 0, 0, s.zone)) != 0 {
			return day, management.Fault(name, "Input '%s' is not a valid ISO formatted date. Daily or weekly batch export backfills expect only the date component, but a time was included.", text)
		}
		day, err, text = parsed, nil, parsed.Format(time.DateOnly)
	}
	switch {
	case err != nil:
		return day, management.Fault(name, "Input '%s' is not a valid ISO formatted date.", text)
	case s.interval == everyWeek && int(day.Weekday()) != s.day:
		return day, management.Fault(name, "Input %s is not on the correct day of the week for this batch export. Its weeks begin on %s.", text, time.Weekday(s.day))
	}
	return time.Date(day.Year(), day.Month(), day.Day(), s.hour, 0, 0, 0, s.zone).UTC(), nil
}

// hasZone reports whether a time says its zone.
func hasZone(text string) bool {
	return strings.ContainsAny(text[min(len(text), len(time.DateOnly)):], "Zz+-")
}

// backfillTime reads a time of a backfill; zero for null and for none.
func backfillTime(s schedule, v management.Values, name string) (time.Time, error) {
	raw := v.Raw(name)
	if raw == nil {
		return time.Time{}, nil
	}
	var text string
	if management.JSONKind(raw) != "str" || json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	if evenIntervals[s.interval] == 0 {
		return s.date(name, text)
	}
	parsed, ok := management.ParseTime(text)
	if _, err := time.Parse(time.DateOnly, text); !ok && err != nil {
		return time.Time{}, management.Fault(name, "Input %s is not a valid ISO formatted datetime.", text)
	}
	if !hasZone(text) {
		return time.Time{}, management.Fault(name, "Input %s is naive.", text)
	}
	return parsed, nil
}

// AddBackfill exports a span of time anew: of events by their own time, of
// persons by when they were first seen, of sessions by their last event.
// Without a beginning all of it is one run.
func (s Service) AddBackfill(ctx context.Context, scope *management.Scope, id string, body management.Body) (*exportBackfillID, error) {
	v, err := BackfillFields.Change(body)
	if err != nil {
		return nil, err
	}
	e, err := s.export(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	b := &exportBackfill{}
	if err := s.measure(ctx, e, b, v); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*exportBackfillID, error) {
		e, err := findExport(tx, scope, id)
		if err != nil {
			return nil, err
		}
		fresh := *b
		return s.addBackfill(tx, e, &fresh)
	})
}

// measure finds out what a backfill covers.
func (s Service) measure(ctx context.Context, e *exportRecord, b *exportBackfill, v management.Values) error {
	now, plan := s.Env.Now(), e.schedule()
	start, err := backfillTime(plan, v, "start_at")
	if err != nil {
		return err
	}
	end, err := backfillTime(plan, v, "end_at")
	if err != nil {
		return err
	}
	switch {
	case !start.IsZero() && !end.IsZero() && !start.Before(end):
		return management.Fault("", "The initial backfill datetime 'start_at' must be before 'end_at'")
	case end.After(now.Add(plan.next(now).Sub(plan.floor(now)))):
		return management.Fault("", "The provided 'end_at' (%s) is in the future. Cannot backfill beyond 1 batch period into the future.", end.Format(time.RFC3339))
	case s.Rows == nil:
		return errNoExports()
	}
	first, found, err := s.first(ctx, e)
	if err != nil {
		return err
	}
	if !found {
		return management.Fault("", "There is no data to backfill for this model.")
	}
	b.Start, b.End = management.NewStamp(start), management.NewStamp(end)
	if end.IsZero() {
		end = now
	}
	if !start.IsZero() && start.Before(first) {
		if start = plan.floor(first); start.Before(b.Start.Time) {
			start = b.Start.Time
		}
		b.Start = management.NewStamp(start)
	}
	if b.Single = start.IsZero(); b.Single {
		start = first
	}
	if !first.Before(end) || !start.Before(end) {
		return management.Fault("", "The provided backfill date range contains no data. The first data is of %s.", first.Format(time.RFC3339))
	}
	b.Next, b.Until, b.Total = management.NewStamp(start), management.NewStamp(end), 1
	if !b.Single {
		b.Total = plan.count(start, end, maxBackfillRuns+1)
	}
	if b.Total > maxBackfillRuns {
		return management.Fault("", "The backfill would have more than %d runs: choose a shorter range.", maxBackfillRuns)
	}
	return nil
}

// first is when the data of an export's model begin.
func (s Service) first(ctx context.Context, e *exportRecord) (time.Time, bool, error) {
	if e.Model == modelPersons {
		return s.Rows.FirstPerson(ctx, e.Team)
	}
	return s.Rows.FirstEvent(ctx, e.Team)
}

// addBackfill puts a backfill behind those that wait.
func (s Service) addBackfill(tx management.Tx, e *exportRecord, b *exportBackfill) (*exportBackfillID, error) {
	t, err := taskOf(tx, e.ID)
	if err != nil {
		return nil, err
	}
	if err := s.queueBackfill(tx, e, t, b); err != nil {
		return nil, err
	}
	return &exportBackfillID{b.ID}, s.putTask(tx, e, t)
}

func (s Service) queueBackfill(tx management.Tx, e *exportRecord, t *exportTask, b *exportBackfill) (err error) {
	if len(t.Backfills) >= maxBackfills {
		return &management.Error{Kind: management.TooMany, Code: "too_many_concurrent_backfills", Message: fmt.Sprintf("There are %d backfills already that wait. Cancel one of them first.", maxBackfills)}
	}
	now := management.NewStamp(s.Env.Now())
	b.ID, b.Team, b.BatchExport, b.Status, b.Created, b.Updated = s.Env.NewID(), e.Team, e.ID, exportStarting, now, now
	if b.Number, err = tx.Next(kindExportBackfill); err != nil {
		return err
	}
	t.Backfills = append(t.Backfills, b.ID)
	return putBackfill(tx, b)
}

// takeOver makes the backfill of unpause: it goes on where the schedule stood, by
// the time of coming in and up to the horizon, where the schedule then begins. Up
// to low everything came in long ago.
func (s Service) takeOver(tx management.Tx, e *exportRecord, t *exportTask, horizon, low int64) error {
	now, position := s.Env.Now(), t.Position
	if t.Run != "" && t.Backfill == "" { // the schedule is in a run, behind which it goes on
		r, err := runOf(tx, e.ID, t.Run)
		if err != nil {
			return err
		}
		if r != nil {
			position = r.positionAfter()
		}
	}
	b := &exportBackfill{
		BatchExportBackfill: BatchExportBackfill{Start: e.LastPaused, End: management.NewStamp(now)},
		Next:                position.To, Until: management.NewStamp(now), Position: &position, UpTo: max(horizon, position.Cut),
	}
	if !b.Next.Before(now) {
		return nil // nothing has come in that the schedule does not cover itself
	}
	b.Total = e.schedule().count(b.Next.Time, now, maxBackfillRuns)
	t.Position = exportPosition{Low: max(position.Low, low), Cut: b.UpTo, To: management.NewStamp(now)}
	return s.queueBackfill(tx, e, t, b)
}

// CancelBackfill ends a backfill, and its run that is under way.
func (s Service) CancelBackfill(ctx context.Context, scope *management.Scope, export, id string) (*ExportCancelled, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*ExportCancelled, error) {
		e, b, err := findInExport[exportBackfill](tx, scope, kindExportBackfill, export, id)
		if err != nil {
			return nil, err
		}
		if !isActive(b.Status) {
			return nil, management.Fault("", "Cannot cancel a backfill that is in '%s' status", b.Status)
		}
		t, err := taskOf(tx, e.ID)
		if err != nil {
			return nil, err
		}
		if err := s.cancelBackfill(tx, t, b); err != nil {
			return nil, err
		}
		return &ExportCancelled{true}, s.putTask(tx, e, t)
	})
}
