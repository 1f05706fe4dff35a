package storedcohorts

import (
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// ScheduleCounts schedules an immediate count of the cohorts of a document. It writes a single
// record with the given id for all of them, so that applying a large document stays cheap.
func ScheduleCounts(tx definitions.Tx, id string, project int64, cohorts []*Cohort) error {
	var due []int64
	for _, c := range cohorts {
		if c.IsCountedPeriodically() {
			due = append(due, c.ID)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return tx.Put(&management.Record{
		Kind: KindCountDue, ID: Parent(project, 0) + "/" + id, Sort: storage.SortTime(time.Unix(0, 0)),
		Data: storage.Encode(CountDue{Project: project, Cohorts: due}),
	})
}
