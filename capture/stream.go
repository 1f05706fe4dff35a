package capture

import (
	"context"
	"time"
)

// Stream stores batches durably in front of a Ledger, for a Processor. It is divided into
// partitions. All batches of a project are in the same partition, in the order in which
// Append returned.
type Stream interface {
	Appender
	// ID identifies the stream. If a stream is deleted and created again, its ID is
	// different.
	ID() string
	// RunPartitions calls read, in a goroutine of its own, for every partition that this
	// process must read, until ctx is canceled. It returns after all calls have returned. The
	// context of a call is canceled when another process takes over the partition; for a
	// moment both may read it.
	RunPartitions(ctx context.Context, read func(ctx context.Context, partition int)) error
	// Open returns a reader of the messages after a position. If the stream does not contain
	// the message of that position, the reader returns all messages of the partition.
	Open(ctx context.Context, after StreamPosition) (StreamReader, error)
}

// StreamReader reads a partition. It must not be used concurrently.
type StreamReader interface {
	// Next waits for messages and returns them in order: at least one, and as many as are
	// available, up to a bound. After an error the reader must not be used any more.
	Next(ctx context.Context) ([]Message, error)
	// StoreDeadLetter stores a message durably as a dead letter. It is idempotent.
	StoreDeadLetter(ctx context.Context, m *Message, reason string) error
	// Acknowledge reports that all messages up to a position are recorded, so that the stream
	// may delete them.
	Acknowledge(ctx context.Context, at StreamPosition) error
	// Close ends the reading.
	Close()
}

// StreamPosition identifies a message in a stream. If Seq is zero, it is the beginning of the
// partition.
type StreamPosition struct {
	Stream    string
	Partition int
	Seq       uint64
	// ID is the ID of the message. It is needed because a stream that has lost its last
	// messages may assign their numbers again.
	ID UUID
}

// Move is the step from one position of a partition to a later one.
type Move struct{ From, To StreamPosition }

// PositionReader reads the stored position of a stream: the To of the last Move of a
// partition, or its beginning if there was no move.
type PositionReader interface {
	StreamPosition(ctx context.Context, stream string, partition int) (StreamPosition, error)
}

// Message is a message of a stream.
type Message struct {
	StreamPosition
	// At is the time when the stream stored the message.
	At      time.Time
	Batches []*Batch
	// Fault is the error if the message cannot be decoded, or nil.
	Fault error
	// Body is the stored form of the message.
	Body []byte
}

// StreamStats are totals of a stream since the start, and its current state.
type StreamStats struct {
	// Appended is the number of messages that are durable in the stream. Rejected is the
	// number of batches that are not, and whose senders have received an error.
	Appended, Rejected uint64
	// Partitions is the number of partitions that this process reads now. Waiting is the
	// number of their messages that are not recorded yet, and Oldest the age of the oldest of
	// these.
	Partitions int
	Waiting    uint64
	Oldest     time.Duration
	// Redelivered is the number of messages that were read a second time, after a failure.
	Redelivered uint64
	// DeadLetters is the number of dead letters that are stored now, including those of other
	// processes.
	DeadLetters uint64
}
