package management

// Insights are insights: stored queries that are never run (decision 18).
type Insights struct{ *core }
