package batchexports

import (
	"crypto/sha256"
	"slices"
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

// maxExportLog is how many lines of a run are kept, the newest ones.
const maxExportLog = 200

// isActive reports whether a run or backfill can still be cancelled.
func isActive(status string) bool { return status == exportStarting || status == exportRunning }

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

func (r *exportRun) addLog(when time.Time, level, message string) {
	r.Log = append(r.Log, ExportLogEntry{management.NewStamp(when), level, message})
	if excess := len(r.Log) - maxExportLog; excess > 0 {
		r.Log = slices.Delete(r.Log, 0, excess)
	}
}

// finish is the end of a run.
func (r *exportRun) finish(when time.Time, status string) {
	r.Status, r.Finished, r.Updated = status, management.NewStamp(when), management.NewStamp(when)
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
