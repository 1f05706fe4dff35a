package httpapi

// cohortEndpoints are those of cohorts.
var cohortEndpoints = []endpoint{}
