// Package serving answers requests for the flags of many projects from stores.
//
// A [Decider] finds the project of an API key, counts the request, reads the facts that the flags
// need from its ports, and evaluates the flags with package flags: [Decider.Decide], in decider.go.
// [Decider.Reader] reads flags as typed values, [Decider.Explain] returns a trace, and
// [Decider.Payload] and [Decider.MembersPayload] return definitions for SDKs that evaluate locally.
// They return the errors of package flags, such as [flags.ErrUnknownKey].
//
// ports.go has the interfaces that stores and other services implement, and memory.go an
// implementation in memory. registry.go caches the compiled flags of projects, payload.go and
// members.go their payloads; quota.go counts requests in lots.
//
// A Decider and a [Memory] are safe for concurrent use. An [Answer] contains the memory that a
// request uses; reuse it, and evaluations do not allocate. The next request overwrites it.
//
// # Bounds
//
//	cached projects            16 times 1,024 keys, the least recently used are evicted first
//	revision of a project      read every second
//	members of static cohorts  100,000 ids and 4 MiB in a payload; cached for 64 projects
//	quotas                     16,384 organizations
package serving
