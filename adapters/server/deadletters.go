package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/flags/wire"
)

// DeadLetter is a message of a stream that cannot be parsed, or that has events that the database
// rejects.
type DeadLetter struct {
	// ID identifies the message, At is when it was received.
	ID string
	At time.Time
	// Fault is why the message cannot be parsed. If it is nil, the message has the given number of
	// Events, of Projects, which are sorted.
	Fault    error
	Events   int
	Projects []int64

	stream *natsstream.Stream
	letter *natsstream.DeadLetter
}

// Requeue returns the message to the stream, so that its events are recorded.
func (d *DeadLetter) Requeue(ctx context.Context) error {
	if d == nil || d.stream == nil {
		return errNoLetter
	}
	return d.stream.Requeue(wire.Context(ctx), d.letter)
}

// Delete deletes the message.
func (d *DeadLetter) Delete(ctx context.Context) error {
	if d == nil || d.stream == nil {
		return errNoLetter
	}
	return d.stream.Delete(wire.Context(ctx), d.letter)
}

var errNoLetter = errors.New("the dead letter does not come from DeadLetters")

// DeadLetters calls each for the dead letters of a stream, the oldest first. It stops at the first
// error and returns it.
func DeadLetters(ctx context.Context, s Stream, each func(*DeadLetter) error) error {
	ctx = wire.Context(ctx)
	stream, err := natsstream.Connect(ctx, natsstream.Config{URL: s.URL, Creds: s.Creds})
	if err != nil {
		return err
	}
	defer stream.Close()
	return stream.DeadLetters(ctx, func(letter *natsstream.DeadLetter) error {
		d := DeadLetter{ID: letter.ID.String(), At: letter.At, Fault: letter.Fault, stream: stream, letter: letter}
		for _, b := range letter.Batches {
			d.Events += len(b.Events)
			d.Projects = append(d.Projects, b.ProjectID)
		}
		slices.Sort(d.Projects)
		d.Projects = slices.Compact(d.Projects)
		return each(&d)
	})
}
