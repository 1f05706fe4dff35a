package management

// BatchExports are batch exports, their runs and backfills (§4.3, decision 23).
type BatchExports struct{ *core }
