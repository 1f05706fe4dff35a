package management

// Dashboards are dashboards with their tiles, collaborators and sharing (§4.1).
type Dashboards struct{ *core }
