// Package dashboards manages the objects of a project's product analytics: dashboards with their
// tiles and collaborators, insights, which are stored queries, links that show a dashboard or an
// insight to visitors without a key, actions, annotations and alerts. The rules are specified in
// spec/management.md (§4.1) and in spec/clients.md.
//
// New opens the Service. It has the methods of Dashboards, and its fields Insights, Actions, Alerts
// and Annotations have the other resources. Links returns the links of a resource, and
// Dashboards.Shared opens a link for a visitor. A caller must run Alerts.CheckDue regularly if
// alerts should be checked.
//
// The package stores queries and does not run them. Config.RunQuery runs the queries of alerts, and
// a package that shows insights fills in insightResult. All objects are records of a
// management.Store: the comment of each kind constant, such as kindTile, describes their keys.
//
// A dashboard shows an insight through a tile, and an insight can be on several dashboards. Tiles
// are records below their dashboard that refer to their insight, so both directions are one
// listing. Dashboards, insights, tiles, actions and annotations are deleted softly: the record
// becomes hidden, and a body with deleted set to false restores it. Alerts and collaborators are
// deleted for good.
//
// Three rules decide whether a caller may edit a dashboard: access rules must allow editing it, and
// its restriction level must allow it to everyone, or the caller must be its creator, an
// administrator of the project or a collaborator. Insights, actions and links of insights depend on
// access rules only, and alerts and annotations on membership of the project.
package dashboards
