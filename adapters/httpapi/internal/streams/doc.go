// Package streams keeps open connections with clients: definitions for SDKs, changes for OFREP, and
// feeds of the management API.
//
// [New] makes the [Streams] of a server. A client joins with [Streams.Join]; all streams of a
// project and a kind share a hub, which reads the definitions at intervals and publishes each
// version once (hub.go). stream.go writes to one client: events, keep-alives and the end, and it
// closes clients that are too slow. addresses.go limits the streams of an address, and
// [Streams.ServeFeed] serves feeds, whose content other packages provide (feeds.go).
package streams
