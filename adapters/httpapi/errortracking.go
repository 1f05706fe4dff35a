package httpapi

// errorTrackingEndpoints are those of assignment rules.
var errorTrackingEndpoints = []endpoint{}
