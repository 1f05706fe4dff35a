// Package featureflags manages feature flags (spec/management.md §5.1): their list and their view,
// states, versions, pinned values, previews of conditions, who receives which value and why, and
// exposures; and flags as code (decision 27): export, plan and apply of documents.
//
// New returns a Flags with the operations of the API. The resource of flags (flags.go) reads and
// changes single flags, and the renderer (view.go) converts them to the form of the API. What a write
// of a flag must obey is in storedflags. The package does no I/O: the store, the persons and
// everything else outside of it are interfaces and functions in Config.
package featureflags
