// Package natsstream buffers events in a JetStream of NATS in front of the database (decision 28),
// for installations in which one database cannot store them as fast as they arrive.
//
// [Stream] implements capture.Stream. Append returns after the broker has acknowledged a batch;
// capture.Processor records the messages of the stream.
//
// It creates the following streams on the broker, with the name bunting:
//
//	bunting_events  bunting.events.<partition>     events to record
//	bunting_dead    bunting.dead.<partition>.<id>  dead letters
//	bunting_leases  bunting.leases.>               which server reads which partition
//
// # Durability
//
// The streams are in files, and a publication waits for its acknowledgement (decision 13). A single
// broker acknowledges before the data is on the disk, unless it runs with sync_interval: always;
// with Replicas 3, data survives the power failure of one broker. The stream is limited in bytes
// and rejects messages when it is full; it does not delete messages that are not recorded.
//
// # Order
//
// A project's events are in one partition, murmur3 of its id modulo the number of partitions, which
// is fixed when the stream is created. Partitions do not depend on the distinct id: a merge or an
// alias affects two of them, groups and group types belong to the project, and the store locks the
// project in any case, so that smaller partitions would not be faster. Of each partition one
// message is published at a time, with all batches that have arrived since the last one, so that
// the order is preserved when a publication is retried (§13.2).
//
// # Exactly once
//
// The position up to which a partition is recorded is in the database, updated in the transaction
// that records (capture.Move), not on the broker: consumers send no acknowledgements and are
// recreated after that position. The last recorded message always stays in the stream. If it is not
// found, the broker has lost its latest messages or the stream was recreated, numbers may be
// reused, and the partition is read from its beginning; unique keys then prevent that events are
// stored twice, but usage may be charged twice. For the same reason messages are removed only after
// a check that the stream still has the last recorded message. A message has an id, by which the
// broker detects duplicates for two minutes; Append times out long before.
//
// # Several servers
//
// Each server has leases on its share of the partitions, and renews them three times per lease
// duration. The partitions of a failed server are read by other servers after its leases have
// expired, 15 seconds after their last renewal. Leases only avoid duplicate work; recording each
// message exactly once depends only on the position.
package natsstream
