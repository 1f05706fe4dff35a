// Package capture takes in events and keeps people and groups current.
//
// A body becomes a [Submission] ([Decode], [DecodeV1]); [Intake.Accept] finds
// its project, makes an [Event] of every item or says why there is none, and
// hands them to the [Recorder]. The Recorder joins all that wait, works out what
// they change of people and groups, and has the [Ledger] keep events and changes
// in one transaction. When Accept returns, they are durable.
//
//	body -> decode.go -> Submission -> intake.go, prepare.go -> Batch
//	     -> recorder.go -> plan.go -> Changes -> Ledger
//
// What an event does to people is in plan.go and the files beside it; what it
// looks like when it is stored, in prepare.go. JSON is never taken apart more
// than needed: an object's members are found (object.go), and their values stay
// the text that was sent.
//
// The room does no I/O: what it needs of the world stands in ports.go. Section
// numbers in comments are those of the specification of capture, and words such
// as person, distinct id and group are PostHog's.
//
// Bounds: an event's size ([wire.MaxEventOf]), the depth of JSON, names and ids, a
// person's properties, the batches that wait and what is remembered of people
// ([RecorderConfig]), projects and keys that are remembered. The bytes of bodies
// under way are bounded by who reads them.
package capture
