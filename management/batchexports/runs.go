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
)

// kindExportRun is a run: Parent is the export, Sort when it was made and a
// number, so that no two are equal.
const kindExportRun = "batch_export_run"

// The states of runs and backfills (§4.3.5).
const (
	exportStarting  = "Starting"
	exportRunning   = "Running"
	exportCompleted = "Completed"
	exportFailed    = "Failed"
	exportRetryable = "FailedRetryable"
	exportCancelled = "Cancelled"
	exportTimedOut  = "TimedOut"
)

// exportStatuses are all that may be asked for.
var exportStatuses = []string{
	exportStarting, exportRunning, exportCompleted, exportFailed, exportRetryable, "FailedBilling", exportCancelled, "Terminated", exportTimedOut, "ContinuedAsNew",
}

// underWay reports whether a run or backfill can still be cancelled.
func underWay(status string) bool { return status == exportStarting || status == exportRunning }

// BatchExportRun is a run of an export (§4.3.5).
type BatchExportRun struct {
	ID          string           `json:"id"`
	BatchExport string           `json:"batch_export"`
	Status      string           `json:"status"`
	Completed   *int64           `json:"records_completed"`
	Failed      *int64           `json:"records_failed"`
	LatestError *string          `json:"latest_error"`
	From        management.Stamp `json:"data_interval_start"`
	To          management.Stamp `json:"data_interval_end"`
	Cursor      *string          `json:"cursor"`
	Created     management.Stamp `json:"created_at"`
	Finished    management.Stamp `json:"finished_at"`
	Updated     management.Stamp `json:"last_updated_at"`
	Total       *int64           `json:"records_total_count"`
	Bytes       *int64           `json:"bytes_exported"`
	Backfill    *string          `json:"backfill"`
}

// exportRun is a run as it is stored.
type exportRun struct {
	BatchExportRun
	Span   Span  `json:"span"`
	Number int64 `json:"number"`
	// Writes is the run whose output this one writes: its own id, or that of the
	// run that it repeats, unless that was complete.
	Writes   string           `json:"writes"`
	Attempts int              `json:"attempts"` // that have failed
	Log      []ExportLogEntry `json:"log"`
}

// ExportLogEntry is a line of the log of a run.
type ExportLogEntry struct {
	Time    management.Stamp `json:"timestamp"`
	Level   string           `json:"level"` // INFO, WARNING, ERROR
	Message string           `json:"message"`
}

// maxExportLog is how many lines of a run are kept, the newest ones.
const maxExportLog = 200

func (r *exportRun) say(at time.Time, level, message string) {
	r.Log = append(r.Log, ExportLogEntry{management.At(at), level, message})
	if over := len(r.Log) - maxExportLog; over > 0 {
		r.Log = slices.Delete(r.Log, 0, over)
	}
}

// finish is the end of a run.
func (r *exportRun) finish(at time.Time, status string) {
	r.Status, r.Finished, r.Updated = status, management.At(at), management.At(at)
}

func (r *exportRun) sort() string {
	return management.SortTime(r.Created.Time) + "/" + management.SortNumber(r.Number)
}

func putRun(tx management.Tx, r *exportRun) error {
	return tx.Put(&management.Record{Kind: kindExportRun, Parent: r.BatchExport, ID: r.ID, Sort: r.sort(), Data: management.Encode(r)})
}

// runOf returns a run, nil for none.
func runOf(tx management.Tx, export, id string) (*exportRun, error) {
	return management.LoadRecord[exportRun](tx, kindExportRun, export, id)
}

// exportID makes the id of a run out of what it covers, so that it is the same
// wherever and whenever it is made.
func exportID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return wire.UUID(sum[:16]).String()
}

// CursorPage is a page of a list that has no count. The cursors are empty where
// there is no such page.
type CursorPage[T any] struct {
	Results        []T
	Next, Previous string
}

// RunQuery is what a list of runs looks at. Zero times are no bounds but
// for After, which is 7 days ago.
type RunQuery struct {
	After, Before string // of made: ISO 8601, or relative such as -7d
	Start, End    string // of the interval
	Ordering      string // created_at, data_interval_start; with - in front the latest first
	Status        string
	Cursor        string
}

// The sizes of pages (§3), and how many runs of a time are looked at where they
// are put in another order than that of their making.
const (
	exportRunPage      = 100
	exportBackfillPage = 50
	maxSortedRuns      = 10_000
)

// Runs returns a page of the runs of an export.
func (s Service) Runs(ctx context.Context, st *management.Standing, id string, q RunQuery) (CursorPage[BatchExportRun], error) {
	window, err := s.window(q)
	if err != nil {
		return CursorPage[BatchExportRun]{}, err
	}
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (out CursorPage[BatchExportRun], err error) {
		e, err := exportIn(tx, st, id)
		if err != nil {
			return out, err
		}
		runs, err := placedIn(tx, management.Query{
			Kind: kindExportRun, Parent: e.ID, From: management.SortTime(window.after), To: management.SortTime(window.before.Add(time.Microsecond)),
		}, func(r *BatchExportRun, sort string) (string, bool) { return window.place(r, sort), window.holds(r) })
		if err != nil {
			return out, err
		}
		return pageBy(runs, window.descending, q.Cursor, exportRunPage)
	})
}

// runWindow is an ExportRunQuery, read.
type runWindow struct {
	after, before, start, end time.Time
	byInterval, descending    bool
	status                    string
}

func (s Service) window(q RunQuery) (w runWindow, err error) {
	now := s.Desk.Now()
	w = runWindow{after: now.AddDate(0, 0, -7), before: now, status: q.Status}
	for _, f := range []struct {
		name, text string
		to         *time.Time
	}{{"after", q.After, &w.after}, {"before", q.Before, &w.before}, {"start", q.Start, &w.start}, {"end", q.End, &w.end}} {
		if f.text == "" {
			continue
		}
		at, ok := relativeTime(f.text, now)
		if !ok {
			return w, management.Fault(f.name, management.BadTime)
		}
		*f.to = at
	}
	ordering := strings.TrimPrefix(q.Ordering, "-")
	w.descending = q.Ordering == "" || ordering != q.Ordering
	switch ordering {
	case "", "created_at":
	case "data_interval_start":
		w.byInterval = true
	default:
		w.descending = true // as other lists do with an order that they do not know (§3)
	}
	if q.Status != "" && !slices.Contains(exportStatuses, q.Status) {
		return w, management.NotAChoice("status", q.Status, exportStatuses)
	}
	return w, nil
}

func (w *runWindow) holds(r *BatchExportRun) bool {
	return (w.status == "" || r.Status == w.status) &&
		(w.start.IsZero() || !r.From.Before(w.start)) && (w.end.IsZero() || !r.To.After(w.end))
}

// place orders a run in a page.
func (w *runWindow) place(r *BatchExportRun, sort string) string {
	if w.byInterval {
		return management.SortTime(r.From.Time) + "/" + sort
	}
	return sort
}

// relativeUnits are those of relative times, by letter.
var relativeUnits = map[byte]func(at time.Time, n int) time.Time{
	'h': func(at time.Time, n int) time.Time { return at.Add(-time.Duration(n) * time.Hour) },
	'd': func(at time.Time, n int) time.Time { return at.AddDate(0, 0, -n) },
	'w': func(at time.Time, n int) time.Time { return at.AddDate(0, 0, -7*n) },
	'm': func(at time.Time, n int) time.Time { return at.AddDate(0, -n, 0) },
	'y': func(at time.Time, n int) time.Time { return at.AddDate(-n, 0, 0) },
}

// relativeTime reads a time, or how long it is ago, such as -7d; the number is
// below 10,000.
func relativeTime(text string, now time.Time) (time.Time, bool) {
	if body, ok := strings.CutPrefix(text, "-"); ok && len(body) > 1 && len(body) < 6 {
		n, err := strconv.Atoi(body[:len(body)-1])
		back, known := relativeUnits[body[len(body)-1]]
		if err != nil || n < 0 || !known {
			return time.Time{}, false
		}
		return back(now, n), true
	}
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, true
	}
	// In a query a plus sign is a space.
	if at, ok := management.ParseTime(text); ok {
		return at, true
	}
	return management.ParseTime(strings.Replace(text, " ", "+", 1))
}

// placed is an item with what orders it; no two are equal.
type placed[T any] struct {
	place string
	item  T
}

// placedIn are the newest records that a query chooses, of which place says yes.
func placedIn[T any](tx management.Tx, q management.Query, place func(x *T, sort string) (string, bool)) (out []placed[T], err error) {
	q.Descending, q.Limit = true, maxSortedRuns
	list, _, err := tx.List(q)
	for i := 0; i < len(list) && err == nil; i++ {
		var x *T
		if x, err = management.Decode[T](&list[i]); err == nil {
			if at, is := place(x, list[i].Sort); is {
				out = append(out, placed[T]{at, *x})
			}
		}
	}
	return out, err
}

// pageBy is a page of a list. A cursor is > or < and a place: the page behind or
// before it.
func pageBy[T any](list []placed[T], descending bool, cursor string, size int) (out CursorPage[T], err error) {
	slices.SortFunc(list, func(a, b placed[T]) int {
		if descending {
			a, b = b, a
		}
		return strings.Compare(a.place, b.place)
	})
	from, to := 0, min(size, len(list))
	if cursor != "" {
		side, place := cursor[:1], cursor[1:]
		passed := func(p string) bool { return p < place }
		if descending {
			passed = func(p string) bool { return p > place }
		}
		at := 0 // of the first that has not been passed
		for at < len(list) && passed(list[at].place) {
			at++
		}
		switch side {
		case ">":
			if at < len(list) && list[at].place == place {
				at++
			}
			from, to = at, min(at+size, len(list))
		case "<":
			from, to = max(at-size, 0), at
		default:
			return out, management.Missing("Invalid cursor")
		}
	}
	out.Results = make([]T, 0, to-from)
	for _, p := range list[from:to] {
		out.Results = append(out.Results, p.item)
	}
	if to > from && to < len(list) {
		out.Next = ">" + list[to-1].place
	}
	if to > from && from > 0 {
		out.Previous = "<" + list[from].place
	}
	return out, nil
}

// Run returns one run.
func (s Service) Run(ctx context.Context, st *management.Standing, export, id string) (*BatchExportRun, error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (*BatchExportRun, error) {
		_, r, err := within[exportRun](tx, st, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		return &r.BatchExportRun, nil
	})
}

// RunLog returns a page of the log of a run, oldest first.
func (s Service) RunLog(ctx context.Context, st *management.Standing, export, id string, p management.Page) (management.List[ExportLogEntry], error) {
	return management.Read(ctx, &s.Desk, func(tx management.Tx) (management.List[ExportLogEntry], error) {
		_, r, err := within[exportRun](tx, st, kindExportRun, export, id)
		if err != nil {
			return management.List[ExportLogEntry]{}, err
		}
		out := management.List[ExportLogEntry]{}
		out.Results, out.Count = management.PageOf(r.Log, p)
		return out, nil
	})
}

// ExportCancelled is the answer to cancel.
type ExportCancelled struct {
	Cancelled bool `json:"cancelled"`
}

// CancelRun ends a run. A server that works on it notices within
// Config.ExportWatch.
func (s Service) CancelRun(ctx context.Context, st *management.Standing, export, id string) (*ExportCancelled, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*ExportCancelled, error) {
		e, r, err := within[exportRun](tx, st, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		if !underWay(r.Status) {
			return nil, management.Fault("", "Cannot cancel a run that is in '%s' status", r.Status)
		}
		r.finish(s.Desk.Now(), exportCancelled)
		r.say(s.Desk.Now(), "WARNING", "The run was cancelled.")
		if err := putRun(tx, r); err != nil {
			return nil, err
		}
		return &ExportCancelled{true}, s.wake(tx, e)
	})
}

// RetryRun makes a backfill that repeats a run: it covers the same and writes
// over what the run has written.
func (s Service) RetryRun(ctx context.Context, st *management.Standing, export, id string) (*exportBackfillID, error) {
	return management.Write(ctx, &s.Desk, func(tx management.Tx) (*exportBackfillID, error) {
		e, r, err := within[exportRun](tx, st, kindExportRun, export, id)
		if err != nil {
			return nil, err
		}
		if underWay(r.Status) {
			return nil, management.Fault("", "Cannot retry a run that is in '%s' status", r.Status)
		}
		b := &exportBackfill{BatchExportBackfill: BatchExportBackfill{Start: r.From, End: r.To}, Next: r.From, Until: r.To, Total: 1, Repeats: r.ID}
		return s.addBackfill(tx, e, b)
	})
}
