package httpapi

// organizationEndpoints are those of organizations.
var organizationEndpoints = []endpoint{}
