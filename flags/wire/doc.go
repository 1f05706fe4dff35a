// Package wire reads and writes what goes over the wire and into stores as text:
// JSON in the form of PostHog's service (serde_json), and UUIDs.
//
// There is one of each: [Reader] takes JSON apart, strict or lenient, into values
// or into the spans of the text; [AppendQuoted] and [AppendFloat] write strings and
// numbers; [Encode] and [Decode] are encoding/json without escapes for HTML and with
// numbers as they stand; [ParseUUID], [NewUUID7] and the functions beside them are
// for ids.
//
// It is a leaf: it imports nothing of ours, does no I/O and knows no flag and no
// event. It stands below flags because that is a module of its own and needs it, so
// it can be in no other; capture, management and the adapters may import it from
// there without learning of flags. It is for the rooms of this repository: what it
// exports may change with them.
package wire
