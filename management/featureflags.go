package management

// FeatureFlags are feature flags (§5.1).
type FeatureFlags struct{ *core }
