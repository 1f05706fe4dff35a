package management

// ScheduledChanges are changes of flags at a later time (§5.1.3).
type ScheduledChanges struct{ *core }
