package httpapi

// dashboardEndpoints are those of dashboards with their tiles, collaborators and sharing.
var dashboardEndpoints = []endpoint{}
