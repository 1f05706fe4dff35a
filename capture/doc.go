// Package capture receives events and keeps persons and groups up to date.
//
// A request body is decoded into a [Submission] ([Decode], [DecodeV1]). [Intake.Accept] finds
// its project, converts every item to an [Event] or reports the reason why it is dropped, and
// passes the events to the [Recorder]. The Recorder combines all waiting batches, computes
// how their events change persons and groups, and has the [Ledger] store events and changes
// in one transaction. When Accept returns, the events are durable.
//
//	body -> decode.go -> Submission -> intake.go, prepare.go -> Batch
//	     -> recorder.go -> plan.go -> Changes -> Ledger
//
// The file plan.go and the files whose names begin with plan compute what an event changes of
// a person; prepare.go computes the form in which an event is stored. JSON is not parsed more
// than needed: object.go finds the members of an object, and their values remain the text
// that the client sent.
//
// The package does no I/O: the interfaces to stores and streams are declared in ports.go and
// stream.go. Section numbers in comments refer to the specification of capture, and terms
// such as person, distinct id and group are PostHog's.
//
// These are bounded: the size of an event ([wire.MaxEventOf]), the depth of JSON, the length
// of names and ids, the properties of a person, the number of waiting batches and the cache
// of persons ([RecorderConfig]), and the cache of projects and keys. The caller must bound
// the bytes of bodies that are being read.
package capture
