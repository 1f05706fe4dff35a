package httpapi

// experimentEndpoints are those of experiments: flags with a start, an end and exposure counts.
var experimentEndpoints = []endpoint{}
