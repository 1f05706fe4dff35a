package httpapi

// memberEndpoints are those of members of organizations.
var memberEndpoints = []endpoint{}
