// Package cohorts manages cohorts (spec/management.md §5.2): sets of persons, defined by filters
// (dynamic) or by a list (static).
//
// New returns a Service with the operations of the API: lists, changes, members, files of members,
// previews of unsaved filters, and the cohorts of one person. A matcher decides with the engine of
// flags which persons belong to a cohort. Counts are stored with the cohort; CountDue renews old
// ones, and the server must call it regularly. The stored form and its checks are in storedcohorts.
package cohorts
