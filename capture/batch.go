package capture

import "context"

// Batch is the data of one request that is to be recorded. All of it belongs to one project.
type Batch struct {
	ProjectID int64
	Events    []Event
	Seen      []SeenName
	Warnings  []Warning
	Usage     []Usage
}

// Appender records batches. Append returns nil when the batch is durable, and ErrUnavailable
// if it could not be recorded. It must be safe for concurrent use.
type Appender interface {
	Append(ctx context.Context, b *Batch) error
}
