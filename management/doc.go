// Package management is the base of all packages for managed objects: it authenticates callers,
// checks their access, reads request bodies, words errors, and declares the port of the store. The
// objects themselves have packages below this one: featureflags, organizations, dashboards,
// batchexports and errortracking. Each imports this package and flags but none of its siblings; if
// it needs a sibling's data, its Config has a function for it. Package rooms opens all of them. The
// rules are those of spec/management.md (cited by section, such as §4.4) and of decisions 18 to 27.
// The package does not depend on HTTP or SQL.
//
// A request passes through these steps (§1.5): Service.Authenticate finds the Caller of a key,
// Caller.Require checks the key's scopes, Service.Project or Service.Organization checks access and
// returns a Scope, and a method of a subpackage does the work. Errors for the caller are *Error;
// all other errors are faults of this program or of the store.
//
// Objects are stored as a Record (store.go). An operation runs inside one transaction of the Store:
// it reads, decides and writes through a Tx, and an error rolls it back. Objects with database
// tables of their own have methods of their own: in Tx of this package those that all packages
// need, such as projects, and in the Tx of a subpackage those that only it needs, such as flags.
// Package rooms combines these interfaces on one Store.
//
// The writable fields of a resource are a table of Fields. It reads bodies, produces the errors
// (§2.2), and documents itself in the API's description. Package internal/resource implements the
// operations that all resources share: it finds an object, applies a body to it, stores, shows and
// logs it.
package management
