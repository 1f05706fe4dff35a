package management

// Cohorts are cohorts (§5.2).
type Cohorts struct{ *core }
