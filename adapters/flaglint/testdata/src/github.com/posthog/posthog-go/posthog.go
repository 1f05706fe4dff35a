// Package posthog has the signatures that the test needs.
package posthog

type FeatureFlagPayload struct{ Key, DistinctId string }

func IsFeatureEnabled(p FeatureFlagPayload) bool { return p.Key != "" }
