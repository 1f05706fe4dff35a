package httpapi

// insightEndpoints are those of insights: stored queries that are never run.
var insightEndpoints = []endpoint{}
