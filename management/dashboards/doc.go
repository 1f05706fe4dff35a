// Package dashboards keeps dashboards with their tiles and collaborators, insights,
// and links for those who have no key (spec/management.md §4.1).
package dashboards
