// Package wire reads and writes what goes over the wire and into stores as text:
// JSON strings and numbers in the form of PostHog's service (serde_json), and
// UUIDs.
//
// It is a leaf: it imports nothing of ours, does no I/O and knows no flag and no
// event. It stands below flags, because that is a module of its own and needs it,
// and so that capture and the adapters write each text in the same way. It is for
// the rooms of this repository: what it exports may change with them.
package wire
