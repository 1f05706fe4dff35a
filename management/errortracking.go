package management

// ErrorTracking are assignment rules (§4.2) and issues (decision 24).
type ErrorTracking struct{ *core }
