package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/flags/wire"
)

// DeadLetter is a message of a stream whose events the database refuses, or that
// cannot be read.
type DeadLetter struct {
	// ID names it, At is when it came.
	ID string
	At time.Time
	// Fault says why it cannot be read; nil: it has Events, of Projects, in order.
	Fault    error
	Events   int
	Projects []int64

	stream *natsstream.Stream
	letter *natsstream.DeadLetter
}

// Requeue gives it back to the stream, to be recorded again.
func (d *DeadLetter) Requeue(ctx context.Context) error {
	if d == nil || d.stream == nil {
		return errNoLetter
	}
	return d.stream.Requeue(wire.Context(ctx), d.letter)
}

// Delete deletes it.
func (d *DeadLetter) Delete(ctx context.Context) error {
	if d == nil || d.stream == nil {
		return errNoLetter
	}
	return d.stream.Delete(wire.Context(ctx), d.letter)
}

var errNoLetter = errors.New("the dead letter is none that DeadLetters has given")

// DeadLetters calls each with those of a stream, the oldest first, until it fails.
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
