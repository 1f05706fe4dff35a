// Package wire has the text forms that are sent over the wire and stored: JSON as PostHog's service
// writes it (serde_json), and UUIDs.
//
// There is one implementation of each: [AppendQuoted] and [AppendFloat] write strings and numbers;
// [Encode] and [Decode] are encoding/json without the escapes for HTML and with numbers as
// json.Number; [Special] and [Unescape] are the parts that scanners of JSON share; [ParseUUID]
// and [NewUUID7] handle ids.
//
// The package is a leaf: it imports no other package of this repository, does no I/O, and contains
// no logic of flags or events. It is in the module of flags because that module needs it and must
// not depend on another; capture, management and the adapters may import it from here without
// depending on flags. It is for the packages of this repository only. Its exported names stay compatible,
// because a program may combine modules of this repository of different versions.
package wire
