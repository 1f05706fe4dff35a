package capture

import (
	"context"
	"sync/atomic"
)

// Batch is what one request asks to be recorded, all of one project.
type Batch struct {
	ProjectID int64
	Events    []Event
	Seen      []Seen
	Warnings  []Warning
	Usage     []Usage
	// Size is about how many bytes the batch holds.
	Size int
}

// Appender takes batches and returns when they are durable, with ErrUnavailable
// when they are not and will not be.
type Appender interface {
	Append(ctx context.Context, b *Batch) error
}

// RecorderConfig says where a Recorder writes. Only Ledger is required.
type RecorderConfig struct {
	Ledger Ledger
}

// Recorder records batches: all that wait share one transaction (group commit).
type Recorder struct {
	config RecorderConfig
	stats  recorderCounters
}

type recorderCounters struct{ commits atomic.Uint64 }

// NewRecorder starts a Recorder, which runs until Close.
func NewRecorder(c RecorderConfig) *Recorder { return &Recorder{config: c} }

// Append implements Appender.
func (r *Recorder) Append(ctx context.Context, b *Batch) error { return ErrUnavailable }

// Alone runs work in a transaction of its own between the commits, for what is
// no event: erasing a person, importing one.
func (r *Recorder) Alone(ctx context.Context, projectID int64, work func(Tx) error) error {
	return ErrUnavailable
}

// Close lets what waits be recorded, then stops.
func (r *Recorder) Close() {}
