package batchexports

import "github.com/bunting-flags/bunting/management"

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Backfill, BatchExport, Test, Unpause management.Fields
}{
	Backfill: backfillFields, BatchExport: exportFields, Test: testFields, Unpause: unpauseFields,
}
