// Package history reads and changes what the server has stored: events, persons, groups, and the
// names of events and properties.
//
// [Endpoints] has the tables (routes.go, and next to their handlers). Handlers read with a [Reader]
// (reader.go): events.go and eventfilter.go for events, persons.go and personfilter.go for persons,
// groups.go for groups, names.go and remarks.go for names. personswrite.go, groupswrite.go,
// importing.go and erase.go change or delete. live.go sends new events while they arrive.
package history
