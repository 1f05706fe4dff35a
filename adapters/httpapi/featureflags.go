package httpapi

// featureFlagEndpoints are those of feature flags.
var featureFlagEndpoints = []endpoint{}
