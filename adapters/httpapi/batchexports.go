package httpapi

// batchExportEndpoints are those of batch exports, their runs and backfills.
var batchExportEndpoints = []endpoint{}
