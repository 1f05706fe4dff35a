package batchexports

import "github.com/bunting-flags/bunting/management"

// kindExportBackfill is a backfill: Parent is the export, Sort as that of runs.
const kindExportBackfill = "batch_export_backfill"

// BatchExportBackfill is a backfill of an export (§4.3.6).
type BatchExportBackfill struct {
	ID          string            `json:"id"`
	Team        int64             `json:"team"`
	BatchExport string            `json:"batch_export"`
	Start       management.Stamp  `json:"start_at"` // null: from the beginning
	End         management.Stamp  `json:"end_at"`   // null: until it was made
	Status      string            `json:"status"`
	Created     management.Stamp  `json:"created_at"`
	Finished    management.Stamp  `json:"finished_at"`
	Updated     management.Stamp  `json:"last_updated_at"`
	Progress    *backfillProgress `json:"progress"`
}

// backfillProgress is how far a backfill has come.
type backfillProgress struct {
	Total    int     `json:"total_runs"`
	Finished int     `json:"finished_runs"`
	Progress float64 `json:"progress"` // 0 to 1
}

// exportBackfill is a backfill as it is stored.
type exportBackfill struct {
	BatchExportBackfill
	Number int64            `json:"number"`
	Next   management.Stamp `json:"next"`  // the beginning of its next run
	Until  management.Stamp `json:"until"` // the end of its last one
	// Single: one run covers everything.
	Single bool `json:"single,omitempty"`
	Total  int  `json:"total"`
	Done   int  `json:"done"`
	// Worst is how its runs have failed, empty for not.
	Worst string `json:"worst,omitempty"`
	// Repeats is the run that it repeats, empty for none.
	Repeats string `json:"repeats,omitempty"`
	// Position is set where it covers times of coming in, up to the place UpTo, as a
	// schedule does, instead of times of events.
	Position *exportPosition `json:"place,omitempty"`
	UpTo     int64           `json:"up_to,omitempty"`
}

// exportBackfillID is the answer to what makes a backfill.
type exportBackfillID struct {
	ID string `json:"backfill_id"`
}

func putBackfill(tx management.Tx, b *exportBackfill) error {
	b.Progress = nil
	if b.Status != exportStarting && b.Total > 0 {
		b.Progress = &backfillProgress{b.Total, b.Done, float64(b.Done) / float64(b.Total)}
	}
	return tx.Put(&management.Record{
		Kind: kindExportBackfill, Parent: b.BatchExport, ID: b.ID, Sort: management.SortTime(b.Created.Time) + "/" + management.SortNumber(b.Number), Data: management.Encode(b),
	})
}

// backfillOf returns a backfill, nil for none.
func backfillOf(tx management.Tx, export, id string) (*exportBackfill, error) {
	return management.LoadRecord[exportBackfill](tx, kindExportBackfill, export, id)
}
