package batchexports

import (
	"context"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// RunQuery filters and orders a list of runs. Empty fields are ignored, except that After is 7 days
// ago and Before now by default.
type RunQuery struct {
	// After and Before are the range of the times of creation, in ISO 8601 or relative such as -7d.
	// Start and End are that of the interval that a run covers.
	After, Before string
	Start, End    string
	// Ordering is created_at or data_interval_start, with a leading - for descending order.
	Ordering string
	Status   string
	Cursor   string
}

// Runs returns a page of the runs of an export.
func (s Service) Runs(ctx context.Context, scope *management.Scope, id string, q RunQuery) (CursorPage[BatchExportRun], error) {
	window, err := s.window(q)
	if err != nil {
		return CursorPage[BatchExportRun]{}, err
	}
	return management.Read(ctx, &s.Env, func(tx management.Tx) (out CursorPage[BatchExportRun], err error) {
		e, err := findExport(tx, scope, id)
		if err != nil {
			return out, err
		}
		runs, err := keyedRecords(tx, management.Query{
			Kind: kindExportRun, Parent: e.ID, From: storage.SortTime(window.after), To: storage.SortTime(window.before.Add(time.Microsecond)),
		}, func(r *BatchExportRun, sort string) (string, bool) { return window.sortKey(r, sort), window.matches(r) })
		if err != nil {
			return out, err
		}
		return pageAt(runs, window.descending, q.Cursor, exportRunPage)
	})
}

// runWindow is a parsed RunQuery.
type runWindow struct {
	after, before, start, end time.Time
	byInterval, descending    bool
	status                    string
}

// window parses and validates a RunQuery.
func (s Service) window(q RunQuery) (w runWindow, err error) {
	now := s.Env.Now()
	w = runWindow{after: now.AddDate(0, 0, -7), before: now, status: q.Status}
	for _, f := range []struct {
		name, text string
		to         *time.Time
	}{{"after", q.After, &w.after}, {"before", q.Before, &w.before}, {"start", q.Start, &w.start}, {"end", q.End, &w.end}} {
		if f.text == "" {
			continue
		}
		bound, ok := relativeTime(f.text, now)
		if !ok {
			return w, management.Fault(f.name, plain.BadTime)
		}
		*f.to = bound
	}
	ordering := strings.TrimPrefix(q.Ordering, "-")
	w.descending = q.Ordering == "" || ordering != q.Ordering
	switch ordering {
	case "", "created_at":
	case "data_interval_start":
		w.byInterval = true
	default:
		w.descending = true // an unknown order is ignored, as in other lists (§3)
	}
	if q.Status != "" && !slices.Contains(exportStatuses, q.Status) {
		return w, management.NotAChoice("status", q.Status, exportStatuses)
	}
	return w, nil
}

// matches reports whether the window contains a run. The times of creation are checked by the
// store.
func (w *runWindow) matches(r *BatchExportRun) bool {
	return (w.status == "" || r.Status == w.status) &&
		(w.start.IsZero() || !r.From.Before(w.start)) && (w.end.IsZero() || !r.To.After(w.end))
}

// sortKey returns the key by which a run is sorted. sort is the Sort of its record.
func (w *runWindow) sortKey(r *BatchExportRun, sort string) string {
	if w.byInterval {
		return storage.SortTime(r.From.Time) + "/" + sort
	}
	return sort
}

// relativeUnits subtract n units from a time, by the letter of the unit.
var relativeUnits = map[byte]func(when time.Time, n int) time.Time{
	'h': func(when time.Time, n int) time.Time { return when.Add(-time.Duration(n) * time.Hour) },
	'd': func(when time.Time, n int) time.Time { return when.AddDate(0, 0, -n) },
	'w': func(when time.Time, n int) time.Time { return when.AddDate(0, 0, -7*n) },
	'm': func(when time.Time, n int) time.Time { return management.AddMonths(when, -n) },
	'y': func(when time.Time, n int) time.Time { return management.AddMonths(when, -12*n) },
}

// relativeTime parses a time, or a duration before now such as -7d, whose number is below 10,000.
func relativeTime(text string, now time.Time) (time.Time, bool) {
	if body, ok := strings.CutPrefix(text, "-"); ok && len(body) > 1 && len(body) < 6 {
		n, err := strconv.Atoi(body[:len(body)-1])
		back, valid := relativeUnits[body[len(body)-1]]
		if err != nil || n < 0 || !valid {
			return time.Time{}, false
		}
		return back(now, n), true
	}
	return plain.QueryTime(text)
}

// Run returns one run.
func (s Service) Run(ctx context.Context, scope *management.Scope, export, id string) (*BatchExportRun, error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (*BatchExportRun, error) {
		_, r, err := findInExport[exportRun](tx, scope, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		return &r.BatchExportRun, nil
	})
}

// RunLog returns a page of the log of a run, oldest entries first.
func (s Service) RunLog(ctx context.Context, scope *management.Scope, export, id string, p management.Page) (management.List[ExportLogEntry], error) {
	return management.Read(ctx, &s.Env, func(tx management.Tx) (management.List[ExportLogEntry], error) {
		_, r, err := findInExport[exportRun](tx, scope, kindExportRun, export, id)
		if err != nil {
			return management.List[ExportLogEntry]{}, err
		}
		out := management.List[ExportLogEntry]{}
		out.Results, out.Count = lists.PageOf(r.Log, p)
		return out, nil
	})
}

// exportCancelled is the response to cancelling a run or a backfill.
type exportCancelled struct {
	Cancelled bool `json:"cancelled"`
}

// CancelRun cancels a run. A server that executes it stops within Config.Watch.
func (s Service) CancelRun(ctx context.Context, scope *management.Scope, export, id string) (*exportCancelled, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*exportCancelled, error) {
		e, r, err := findInExport[exportRun](tx, scope, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		if !isActive(r.Status) {
			return nil, management.Fault("", "Cannot cancel a run that is in '%s' status", r.Status)
		}
		r.finish(s.Env.Now(), exportWasCancelled)
		r.addLog(s.Env.Now(), "WARNING", "The run was cancelled.")
		if err := putRun(tx, r); err != nil {
			return nil, err
		}
		return &exportCancelled{true}, s.wake(tx, e)
	})
}

// RetryRun creates a backfill that repeats a run: it covers the same data, and replaces the output
// of the run if that was not completed.
func (s Service) RetryRun(ctx context.Context, scope *management.Scope, export, id string) (*exportBackfillID, error) {
	return management.Write(ctx, &s.Env, func(tx management.Tx) (*exportBackfillID, error) {
		e, r, err := findInExport[exportRun](tx, scope, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		if isActive(r.Status) {
			return nil, management.Fault("", "Cannot retry a run that is in '%s' status", r.Status)
		}
		b := &exportBackfill{BatchExportBackfill: BatchExportBackfill{Start: r.From, End: r.To}, Next: r.From, Until: r.To, Total: 1, Repeats: r.ID}
		return s.addBackfill(tx, e, b)
	})
}

// The states of runs and backfills (§4.3.5).
const (
	exportStarting     = "Starting"
	exportRunning      = "Running"
	exportCompleted    = "Completed"
	exportFailed       = "Failed"
	exportRetryable    = "FailedRetryable"
	exportWasCancelled = "Cancelled"
	exportTimedOut     = "TimedOut"
)

// exportStatuses are the states that a request may filter by. They include states of PostHog that
// do not occur here.
var exportStatuses = []string{
	exportStarting, exportRunning, exportCompleted, exportFailed, exportRetryable, "FailedBilling", exportWasCancelled, "Terminated", exportTimedOut, "ContinuedAsNew",
}

// maxExportLog is the number of log entries of a run that are stored. Older ones are dropped.
const maxExportLog = 200

// isActive reports whether a run or backfill can still be cancelled.
func isActive(status string) bool { return status == exportStarting || status == exportRunning }

// isFailure reports whether a run ended with a failure: at once, after its last attempt, or because
// it took too long.
func isFailure(status string) bool {
	return status == exportFailed || status == exportRetryable || status == exportTimedOut
}

// exportRun is the stored form of a run.
type exportRun struct {
	BatchExportRun
	// Span selects the data of the run. Number is a sequence number.
	Span   Span  `json:"span"`
	Number int64 `json:"number"`
	// Writes is the id of the run whose output this run writes: its own, or that of the run that it
	// repeats if that one was not completed.
	Writes   string           `json:"writes"`
	Attempts int              `json:"attempts"` // that have failed
	Log      []ExportLogEntry `json:"log"`
}

// ExportLogEntry is an entry of the log of a run.
type ExportLogEntry struct {
	Time    management.Stamp `json:"timestamp"`
	Level   string           `json:"level"` // INFO, WARNING or ERROR
	Message string           `json:"message"`
}

// addLog appends an entry to the log.
func (r *exportRun) addLog(when time.Time, level, message string) {
	r.Log = append(r.Log, ExportLogEntry{management.NewStamp(when), level, message})
	if excess := len(r.Log) - maxExportLog; excess > 0 {
		r.Log = slices.Delete(r.Log, 0, excess)
	}
}

// finish ends a run with a status.
func (r *exportRun) finish(when time.Time, status string) {
	r.Status, r.Finished, r.Updated = status, management.NewStamp(when), management.NewStamp(when)
}

// sort returns the Record.Sort of the run.
func (r *exportRun) sort() string {
	return storage.SortTime(r.Created.Time) + "/" + storage.SortNumber(r.Number)
}

// putRun stores a run.
func putRun(tx management.Tx, r *exportRun) error {
	return tx.Put(&management.Record{Kind: kindExportRun, Parent: r.BatchExport, ID: r.ID, Sort: r.sort(), Data: storage.Encode(r)})
}

// runOf returns a run, or nil if it does not exist.
func runOf(tx management.Tx, export, id string) (*exportRun, error) {
	return resource.LoadRecord[exportRun](tx, kindExportRun, export, id)
}

// exportID derives a UUID from the interval and the owner of a run. It is the same on every server.
func exportID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return wire.UUID(sum[:16]).String()
}
