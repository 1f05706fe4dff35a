package httpapi

// earlyAccessEndpoints are those of early access features.
var earlyAccessEndpoints = []endpoint{}
