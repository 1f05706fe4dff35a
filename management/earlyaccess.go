package management

// EarlyAccess are early access features (§5.5).
type EarlyAccess struct{ *core }
