// Package management is the desk at which everything that people manage begins: who
// may, how a request is read, what is said of its faults, where things are kept. What
// they manage has rooms of its own below: featureflags, organizations, dashboards,
// batchexports, errortracking. Each imports this desk and flags, and none another:
// where two meet, the one that asks has a function in its Config. Package rooms opens
// all of them. The rules are those of spec/management.md (named by section, such as
// §4.4) and of decisions 18 to 27; nothing here knows HTTP or SQL.
//
// A request goes through it in this order (§1.5): Service.Authenticate finds the
// Caller of a key, Caller.Require looks at the key's scopes, Service.Project or
// Service.Organization at what the caller may reach, and a method of a room does
// the work. Errors are *Error for what the caller is told; all others are faults of
// ours or of the store.
//
// Everything is kept as records (store.go). A rule runs inside one transaction of
// the Store: it reads, decides and writes through a Tx, and an error leaves
// everything as it was. What has a table of its own has methods of its own: in the
// desk's Tx what every room reads, such as projects, and in a room's Tx what it alone
// asks for, such as flags. Package rooms shows each room its part of one Store.
//
// What can be written of a resource is a table of Fields: it reads bodies, words
// the errors (§2.2), goes into the members of what is kept and describes itself to the
// API's documentation. What every resource repeats is Resource: it finds a thing, lays
// a body over it, stores, shows and notes it, in the order of §1.5; a Spec has the
// rules that are the resource's own.
package management
