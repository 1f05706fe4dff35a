package batchexports

import "github.com/bunting-flags/bunting/management"

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
		Kind: kindExportBackfill, Parent: b.BatchExport, ID: b.ID, Sort: management.SortTime(b.Created.Time) + "/" + management.SortNumber(b.Number), Data: management.Encode(b),
	})
}

// backfillOf returns a backfill, or nil if it does not exist.
func backfillOf(tx management.Tx, export, id string) (*exportBackfill, error) {
	return management.LoadRecord[exportBackfill](tx, kindExportBackfill, export, id)
}
