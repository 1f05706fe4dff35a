package capture

import (
	"context"
	"time"
)

// Stream keeps batches durably in front of a Ledger, for a Processor. It is split
// into partitions; a project's batches are all in the same one, in the order in
// which Append returned.
type Stream interface {
	Appender
	// ID names the stream. One that was made anew has another.
	ID() string
	// RunPartitions runs read for every partition that is this process's to read, until ctx
	// ends, and returns when all have returned. The context of read ends when another
	// process is to go on with the partition; for a moment both may read it.
	RunPartitions(ctx context.Context, read func(ctx context.Context, partition int)) error
	// Open begins to read behind a place. Where the stream does not hold what the
	// place names, all that the partition holds comes.
	Open(ctx context.Context, after StreamPosition) (StreamReader, error)
}

// StreamReader reads a partition, from one goroutine.
type StreamReader interface {
	// Next waits until there is something, and returns it in order: at least one
	// message, and as many more as there are, up to a bound. After an error the
	// reader is of no use any more.
	Next(ctx context.Context) ([]Message, error)
	// StoreDeadLetter keeps a message durably as a dead letter, once however often it is asked.
	StoreDeadLetter(ctx context.Context, m *Message, reason string) error
	// Acknowledge says that everything up to a place is recorded: the stream may forget it.
	Acknowledge(ctx context.Context, at StreamPosition) error
	Close()
}

// StreamPosition is a message in a stream. The zero Seq is the beginning.
type StreamPosition struct {
	Stream    string
	Partition int
	Seq       uint64
	// ID is the message's own: a stream that has lost its end may give a number
	// again.
	ID UUID
}

// Move leads from one place of a partition to a later one.
type Move struct{ From, To StreamPosition }

// PositionReader tells how far a stream is done with: what the last Move of a partition
// led to, the beginning when there was none.
type PositionReader interface {
	StreamPosition(ctx context.Context, stream string, partition int) (StreamPosition, error)
}

// Message is what a stream holds at a place.
type Message struct {
	StreamPosition
	// At is when the stream took it in.
	At      time.Time
	Batches []*Batch
	// Fault says why the message cannot be read, nil for no reason.
	Fault error
	// Body is the message as it is kept.
	Body []byte
}

// StreamStats are what a stream tells of itself, and totals since the start.
type StreamStats struct {
	// Appended messages are durable in the stream; Refused batches are not, and
	// their senders know.
	Appended, Rejected uint64
	// Partitions are read by this process now. Of them, Waiting messages are not yet
	// recorded, and Oldest is the age of the first of these.
	Partitions int
	Waiting    uint64
	Oldest     time.Duration
	// Redelivered messages were read a second time, after a failure.
	Redelivered uint64
	// DeadLetters are kept now, by all.
	DeadLetters uint64
}
