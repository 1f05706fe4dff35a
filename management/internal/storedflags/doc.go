// Package storedflags has the stored form of a flag (spec/management.md §5.1), with the rules that
// every write of a flag obeys. The packages that manage flags, and objects with flags of their own,
// use it; package featureflags has the operations of the API.
//
// Store.Load reads a Flag with its state before the change. Store.Save checks the changed flag as a
// whole (Check: its settings, its filters, the flags and cohorts to which it refers), whether the
// caller may change it and whether the change needs an approval, and stores it with its next version
// and an entry in the log. Store.SaveLinked does the same after a change of the links to the objects
// that use the flag.
package storedflags
