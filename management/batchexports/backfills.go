package batchexports

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// maxBackfillRuns is the greatest number of runs of a backfill.
const maxBackfillRuns = 10_000

// maxBackfills is the greatest number of backfills of an export that have not ended.
const maxBackfills = 100

// backfillFields are the fields of a new backfill.
var backfillFields = management.Fields{
	{Name: "start_at", Type: management.Any, Help: "ISO 8601 with a time zone, or a date without time for daily and weekly exports; null: from the beginning"},
	{Name: "end_at", Type: management.Any, Help: "ISO 8601 with a time zone, or a date without time for daily and weekly exports; null: until now"},
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

// date parses the beginning or the end of a backfill of days or weeks, which is a date without a
// time. The day begins at the offset hour in the time zone of the export, which is UTC by default.
// A time that is midnight in that zone is accepted as its date, because older clients send it
// (spec/clients.md §16).
func (s schedule) date(name, text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if parsed, isTime := plain.ParseTime(text); err != nil && isTime {
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

// hasZone reports whether a time has a time zone.
func hasZone(text string) bool {
	return strings.ContainsAny(text[min(len(text), len(time.DateOnly)):], "Zz+-")
}

// backfillTime reads a time of a backfill. It returns the zero time if the field is null or absent.
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
	parsed, ok := plain.ParseTime(text)
	if _, err := time.Parse(time.DateOnly, text); !ok && err != nil {
		return time.Time{}, management.Fault(name, "Input %s is not a valid ISO formatted datetime.", text)
	}
	if !hasZone(text) {
		return time.Time{}, management.Fault(name, "Input %s is naive.", text)
	}
	return parsed, nil
}

// AddBackfill creates a backfill, which exports a range of time one more time: events by their own
// time, persons by the time when they were first seen, sessions by the time of their last event.
// Without start_at, the whole range is one run.
func (s Service) AddBackfill(ctx context.Context, scope *management.Scope, id string, body management.Body) (*exportBackfillID, error) {
	v, err := backfillFields.Change(body)
	if err != nil {
		return nil, err
	}
	e, err := s.export(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	b := &exportBackfill{}
	if err := s.planBackfill(ctx, e, b, v); err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*exportBackfillID, error) {
		e, err := findExport(tx, scope, id)
		if err != nil {
			return nil, err
		}
		// The store may call this function several times, and addBackfill changes the backfill.
		fresh := *b
		return s.addBackfill(tx, e, &fresh)
	})
}

// planBackfill validates the range of a backfill, moves its beginning to the first data of the project
// if it is earlier, and sets the number of its runs.
func (s Service) planBackfill(ctx context.Context, e *exportRecord, b *exportBackfill, v management.Values) error {
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
	// At most the current interval may be included.
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
		return management.Fault("", "The provided backfill date range contains no data. The first data is from %s.", first.Format(time.RFC3339))
	}
	b.Next, b.Until, b.Total = management.NewStamp(start), management.NewStamp(end), 1
	if !b.Single {
		b.Total = plan.count(start, end, maxBackfillRuns+1)
	}
	if b.Total > maxBackfillRuns {
		return management.Fault("", "The backfill would have more than %d runs: choose a shorter date range.", maxBackfillRuns)
	}
	return nil
}

// first returns the time at which the data of the export's model begin, and whether there are any.
func (s Service) first(ctx context.Context, e *exportRecord) (time.Time, bool, error) {
	if e.Model == modelPersons {
		return s.Rows.FirstPerson(ctx, e.Team)
	}
	return s.Rows.FirstEvent(ctx, e.Team)
}

// addBackfill stores a backfill and appends it to the export's task.
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

// queueBackfill is addBackfill without storing the task. It returns an error of kind TooMany if the
// export has too many backfills.
func (s Service) queueBackfill(tx management.Tx, e *exportRecord, t *exportTask, b *exportBackfill) (err error) {
	if len(t.Backfills) >= maxBackfills {
		return &management.Error{Kind: management.TooMany, Code: "too_many_concurrent_backfills", Message: fmt.Sprintf("There are already %d waiting backfills. Cancel one of them first.", maxBackfills)}
	}
	now := management.NewStamp(s.Env.Now())
	b.ID, b.Team, b.BatchExport, b.Status, b.Created, b.Updated = s.Env.NewID(), e.Team, e.ID, exportStarting, now, now
	if b.Number, err = tx.Next(kindExportBackfill); err != nil {
		return err
	}
	t.Backfills = append(t.Backfills, b.ID)
	return putBackfill(tx, b)
}

// addCatchUp creates the backfill of Unpause. It continues where the schedule stopped, by ingestion
// time and up to the horizon, which becomes the position of the schedule. All events up to low have
// arrived long ago.
func (s Service) addCatchUp(tx management.Tx, e *exportRecord, t *exportTask, horizon, low int64) error {
	now, position := s.Env.Now(), t.Position
	if t.Run != "" && t.Backfill == "" { // the current run belongs to the schedule; continue behind it
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
		return nil // the schedule covers everything itself
	}
	// The schedule continues where the backfill ends.
	b.Total = e.schedule().count(b.Next.Time, now, maxBackfillRuns)
	t.Position = exportPosition{Low: max(position.Low, low), Cut: b.UpTo, To: management.NewStamp(now)}
	return s.queueBackfill(tx, e, t, b)
}

// CancelBackfill cancels a backfill, and its run if one is in progress.
func (s Service) CancelBackfill(ctx context.Context, scope *management.Scope, export, id string) (*exportCancelled, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*exportCancelled, error) {
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
		return &exportCancelled{true}, s.putTask(tx, e, t)
	})
}

// kindExportBackfill is the kind of the records of backfills. Parent is the export, Sort the time
// of creation and a number, as for runs.
const kindExportBackfill = "batch_export_backfill"

// BatchExportBackfill is the form of a backfill in responses (§4.3.6).
type BatchExportBackfill struct {
	ID          string            `json:"id"`
	Team        int64             `json:"team"`
	BatchExport string            `json:"batch_export"`
	Start       management.Stamp  `json:"start_at"` // null: from the beginning of the data
	End         management.Stamp  `json:"end_at"`   // null: until the backfill was created
	Status      string            `json:"status"`
	Created     management.Stamp  `json:"created_at"`
	Finished    management.Stamp  `json:"finished_at"`
	Updated     management.Stamp  `json:"last_updated_at"`
	Progress    *backfillProgress `json:"progress"`
}

// backfillProgress is the progress of a backfill, as a number of runs and as a share from 0 to 1.
type backfillProgress struct {
	Total    int     `json:"total_runs"`
	Finished int     `json:"finished_runs"`
	Progress float64 `json:"progress"`
}

// exportBackfill is the stored form of a backfill.
type exportBackfill struct {
	BatchExportBackfill
	Number int64 `json:"number"`
	// Number is a sequence number. Next is the beginning of the backfill's next run, and Until the
	// end of its last one.
	Next  management.Stamp `json:"next"`
	Until management.Stamp `json:"until"`
	// Single reports whether one run covers the whole range.
	Single bool `json:"single,omitempty"`
	// Total is the number of runs, and Done the number of those that have ended.
	Total int `json:"total"`
	Done  int `json:"done"`
	// Worst is the status of the worst of its runs that failed, or empty.
	Worst string `json:"worst,omitempty"`
	// Repeats is the id of the run that it repeats, or empty.
	Repeats string `json:"repeats,omitempty"`
	// Position is set if the backfill covers an interval of ingestion time up to the position UpTo,
	// as a schedule does. Otherwise it covers an interval of event time.
	Position *exportPosition `json:"place,omitempty"`
	UpTo     int64           `json:"up_to,omitempty"`
}

// exportBackfillID is the response to a request that creates a backfill.
type exportBackfillID struct {
	ID string `json:"backfill_id"`
}

// putBackfill stores a backfill, with its progress.
func putBackfill(tx management.Tx, b *exportBackfill) error {
	b.Progress = nil
	if b.Status != exportStarting && b.Total > 0 {
		b.Progress = &backfillProgress{b.Total, b.Done, float64(b.Done) / float64(b.Total)}
	}
	return tx.Put(&management.Record{
		Kind: kindExportBackfill, Parent: b.BatchExport, ID: b.ID, Sort: storage.SortTime(b.Created.Time) + "/" + storage.SortNumber(b.Number), Data: storage.Encode(b),
	})
}

// backfillOf returns a backfill, or nil if it does not exist.
func backfillOf(tx management.Tx, export, id string) (*exportBackfill, error) {
	return resource.LoadRecord[exportBackfill](tx, kindExportBackfill, export, id)
}
