// Package demodata generates the data of bunting demo: a month of events of invented persons who visit
// an invented shop.
//
// Flags lists the flags that the persons call. Events returns the events of the days until a time; the
// caller passes the definitions of the flags, so that calls have the values that the server returns.
// Random numbers are seeded by the day, and uuids are derived from the person and the event. Therefore
// a later run generates the same events again, and the server ignores them.
package demodata
