package httpapi

// scheduledChangeEndpoints are those of changes of flags at a later time.
var scheduledChangeEndpoints = []endpoint{}
