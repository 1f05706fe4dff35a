// Package natsstream keeps events in a JetStream of NATS in front of the database
// (decision 28): for when one database cannot take them as fast as they come.
//
// [Stream] implements capture.Stream. Append returns when the broker has
// acknowledged; capture.Processor records what the stream holds.
//
// What it makes on the broker, with the name bunting:
//
//	bunting_events  bunting.events.<partition>  what is to be recorded
//	bunting_dead    bunting.dead.<partition>.<id>  dead letters
//	bunting_leases  bunting.leases.>  who reads which partition
//
// # Durability
//
// The streams are in files, and a publication waits for its acknowledgement
// (decision 13). A single broker acknowledges before the disk has it, unless it
// runs with sync_interval: always; three with Replicas 3 keep what a power cut
// takes from one. The stream is bounded in bytes and refuses when it is full; it
// deletes nothing that is not recorded.
//
// # Order
//
// A project's events are in one partition, murmur3 of its id over the number of
// partitions, which is fixed when the stream is made. It is not split further by
// distinct id: a merge or an alias touches two of them, groups and group types
// belong to the project, and the store locks the project anyway, so nothing would
// be gained by it. Of one partition one message is published at a time, which
// holds all that has come meanwhile, so order holds where a publication has to be
// tried again (§13.2).
//
// # Exactly once
//
// How far a partition is recorded stands in the database, in the transaction that
// records (capture.Move), not on the broker: consumers acknowledge nothing and
// are made anew behind that place. The last recorded message always stays in the
// stream. Where it is not found, the broker has lost its end or the stream was
// made anew, its numbers may come again, and the partition is read from its
// beginning; duplicate keys then keep events from being stored twice, while the use
// that is charged may be charged twice. For the same reason nothing is removed
// before the stream is seen to hold the last recorded message still. A message has
// an id, by which the broker knows a second publication for two minutes; Append
// gives up long before.
//
// # Several servers
//
// Each holds leases on its share of the partitions, renewed three times while
// they last. What a dead server held is taken over when its leases end, 15
// seconds after their renewal. Leases save work; that no message is recorded twice
// rests on the place alone.
package natsstream
