package batchexports

import (
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// kindExportRun is the kind of the records of runs. Parent is the export. Sort is the time of
// creation and a number, so that it is unique.
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

// exportStatuses are the states that a request may filter by. They include states of PostHog that
// do not occur here.
var exportStatuses = []string{
	exportStarting, exportRunning, exportCompleted, exportFailed, exportRetryable, "FailedBilling", exportCancelled, "Terminated", exportTimedOut, "ContinuedAsNew",
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

// BatchExportRun is the form of a run in responses (§4.3.5).
type BatchExportRun struct {
	ID          string `json:"id"`
	BatchExport string `json:"batch_export"`
	// Status is one of the states above. Completed, Failed and Total are numbers of rows, which are
	// null until the run has succeeded.
	Status    string `json:"status"`
	Completed *int64 `json:"records_completed"`
	Failed    *int64 `json:"records_failed"`
	// LatestError is the error of the last attempt, without secrets.
	LatestError *string `json:"latest_error"`
	// From and To are the interval that the run covers.
	From management.Stamp `json:"data_interval_start"`
	To   management.Stamp `json:"data_interval_end"`
	// Cursor is always null.
	Cursor   *string          `json:"cursor"`
	Created  management.Stamp `json:"created_at"`
	Finished management.Stamp `json:"finished_at"`
	Updated  management.Stamp `json:"last_updated_at"`
	Total    *int64           `json:"records_total_count"`
	Bytes    *int64           `json:"bytes_exported"`
	// Backfill is the id of the backfill, null for a run of the schedule.
	Backfill *string `json:"backfill"`
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
	return management.SortTime(r.Created.Time) + "/" + management.SortNumber(r.Number)
}

// putRun stores a run.
func putRun(tx management.Tx, r *exportRun) error {
	return tx.Put(&management.Record{Kind: kindExportRun, Parent: r.BatchExport, ID: r.ID, Sort: r.sort(), Data: management.Encode(r)})
}

// runOf returns a run, or nil if it does not exist.
func runOf(tx management.Tx, export, id string) (*exportRun, error) {
	return management.LoadRecord[exportRun](tx, kindExportRun, export, id)
}

// exportID derives a UUID from the interval and the owner of a run. It is the same on every server.
func exportID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return wire.UUID(sum[:16]).String()
}
