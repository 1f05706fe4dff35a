package httpapi

// projectEndpoints are those of projects and their keys.
var projectEndpoints = []endpoint{}
