package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// These are the defaults of ProcessorConfig.
const (
	defaultTries = 8
	defaultPause = 250 * time.Millisecond
)

// maxPause is the longest pause between two attempts.
const maxPause = 10 * time.Second

// ProcessorConfig is the configuration of a Processor. Stream, Recorder and Positions are
// required.
type ProcessorConfig struct {
	Stream   Stream
	Recorder *Recorder
	// Positions reads the stored positions of the stream. It must be backed by the ledger of
	// Recorder.
	Positions PositionReader
	// Tries is the number of times that a message is tried individually, while the store
	// accepts other writes, before it becomes a dead letter. If zero, it is 8. Attempts that
	// fail with ErrStore do not count, and are repeated without limit.
	Tries int
	// Pause is the pause before the second attempt. If zero, it is 250 ms. Each following
	// pause is twice as long, up to ten seconds.
	Pause time.Duration
	// OnFailure is called with errors, from several goroutines. If nil, errors are only
	// counted.
	OnFailure func(error)
	// Now is the clock. If nil, time.Now is used.
	Now func() time.Time
}

// Processor records the messages of a Stream, each partition in order and each message
// exactly once. The position of the stream is written in the same transaction as the
// messages (Recorder.Advance). Therefore a message that is delivered twice, because of a
// crash or because two processes read a partition for a moment, has no effect: neither on
// events and people nor on counts.
//
// A message that cannot be decoded, or that the store rejects while it accepts other writes,
// is stored as a dead letter, and the Processor continues with the next message. While the
// store accepts no writes, or fails with ErrStore, the stream waits.
type Processor struct {
	config      ProcessorConfig
	messages    atomic.Uint64
	deadLetters atomic.Uint64
	failures    atomic.Uint64
}

// errProcessor is returned if a required field of ProcessorConfig is missing.
var errProcessor = errors.New("capture: a Processor needs Stream, Recorder and Positions")

// NewProcessor returns a Processor. It returns an error if Stream, Recorder or Positions is
// nil.
func NewProcessor(c ProcessorConfig) (*Processor, error) {
	if c.Stream == nil || c.Recorder == nil || c.Positions == nil {
		return nil, errProcessor
	}
	c.Tries = cmp.Or(max(c.Tries, 0), defaultTries)
	c.Pause = cmp.Or(max(c.Pause, 0), defaultPause)
	if c.OnFailure == nil {
		c.OnFailure = func(error) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Processor{config: c}, nil
}

// Run processes messages until ctx is canceled. A transaction that is in progress then is
// completed.
func (p *Processor) Run(ctx context.Context) error {
	if p == nil || p.config.Stream == nil {
		return errProcessor
	}
	return p.config.Stream.RunPartitions(ctx, p.runPartition)
}

// runPartition reads one partition until ctx is canceled. After an error it pauses, then
// starts again at the stored position.
func (p *Processor) runPartition(ctx context.Context, number int) {
	wait := p.backoff()
	for ctx.Err() == nil {
		before := p.messages.Load()
		err := p.follow(ctx, number)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, ErrMoved) {
			p.reportFailure(fmt.Errorf("partition %d of the stream: %w", number, err))
		}
		if p.messages.Load() != before {
			wait = p.backoff()
		}
		wait(ctx)
	}
}

// reportFailure counts an error and calls OnFailure.
func (p *Processor) reportFailure(err error) {
	p.failures.Add(1)
	p.config.OnFailure(err)
}

// backoff returns a function that waits. Each call waits twice as long as the previous one,
// up to maxPause, or until its context is canceled.
func (p *Processor) backoff() func(ctx context.Context) {
	pause := p.config.Pause
	return func(ctx context.Context) {
		t := time.NewTimer(pause)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		pause = min(2*pause, maxPause)
	}
}

// follow reads a partition from the stored position until an error occurs.
func (p *Processor) follow(ctx context.Context, number int) error {
	position, err := p.config.Positions.StreamPosition(ctx, p.config.Stream.ID(), number)
	if err != nil {
		return err
	}
	r, err := p.config.Stream.Open(ctx, position)
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		list, err := r.Next(ctx)
		if err != nil {
			return err
		}
		if position, err = p.recordMessages(ctx, r, position, list); err != nil {
			return err
		}
		if err := r.Acknowledge(ctx, position); err != nil && ctx.Err() == nil {
			p.reportFailure(err) // the next acknowledgment includes this one
		}
	}
}

// recordMessages records messages and returns the new position. It tries one transaction for
// all of them. If that fails, or if one cannot be decoded, it records them individually, so
// that one bad message does not block the rest.
func (p *Processor) recordMessages(ctx context.Context, r StreamReader, position StreamPosition, list []Message) (StreamPosition, error) {
	var batches []*Batch
	allReadable := true
	for i := range list {
		allReadable = allReadable && list[i].Fault == nil
		batches = append(batches, list[i].Batches...)
	}
	if to := list[len(list)-1].StreamPosition; allReadable {
		err := p.config.Recorder.advance(ctx, Move{position, to}, batches)
		if err == nil {
			p.messages.Add(uint64(len(list)))
			return to, nil
		}
		if ctx.Err() != nil || errors.Is(err, ErrMoved) {
			return position, err
		}
		p.reportFailure(err)
	}
	for i := range list {
		if err := p.recordMessage(ctx, r, position, &list[i]); err != nil {
			return position, err
		}
		position = list[i].StreamPosition
	}
	return position, nil
}

// recordMessage records a single message, or stores it as a dead letter. It returns only if
// that succeeded, ctx is canceled or another reader has moved the position.
func (p *Processor) recordMessage(ctx context.Context, r StreamReader, position StreamPosition, m *Message) error {
	move, wait := Move{position, m.StreamPosition}, p.backoff()
	for rejections := 0; ; {
		err := m.Fault
		if err == nil {
			err = p.config.Recorder.advance(ctx, move, m.Batches)
		}
		switch {
		case err == nil:
			p.messages.Add(1)
			return nil
		case ctx.Err() != nil || errors.Is(err, ErrMoved):
			return err
		case m.Fault == nil:
			p.reportFailure(err)
			wait(ctx)
		}
		// To find out whether the message or the store causes the error, write only the
		// position: if that succeeds, the message is the cause.
		probe := p.config.Recorder.advance(ctx, Move{position, position}, nil)
		if ctx.Err() != nil || errors.Is(probe, ErrMoved) {
			return errors.Join(ctx.Err(), probe)
		}
		if probe == nil && !errors.Is(err, ErrStore) && !errors.Is(err, errNotTried) {
			rejections++
		}
		if probe == nil && (m.Fault != nil || rejections >= p.config.Tries) {
			if err = p.storeDeadLetter(ctx, r, move, m, err); err == nil || ctx.Err() != nil || errors.Is(err, ErrMoved) {
				return err
			}
			p.reportFailure(err)
		}
		if m.Fault != nil || probe != nil {
			wait(ctx)
		}
	}
}

// storeDeadLetter stores a message as a dead letter, then records a warning in place of its
// events.
func (p *Processor) storeDeadLetter(ctx context.Context, r StreamReader, move Move, m *Message, cause error) error {
	p.config.OnFailure(fmt.Errorf("a message of the stream becomes a dead letter: %w", cause))
	if err := r.StoreDeadLetter(ctx, m, cause.Error()); err != nil {
		return fmt.Errorf("storing a dead letter: %w", err)
	}
	var warnings []*Batch
	for _, b := range m.Batches {
		w := &Batch{ProjectID: b.ProjectID}
		w.warn(Warning{Type: WarnDeadLetter, At: p.config.Now().UTC().Truncate(time.Microsecond), Count: int64(len(b.Events)),
			Detail: "the store rejects these events; they are stored as a dead letter"})
		warnings = append(warnings, w)
	}
	err := p.config.Recorder.advance(ctx, move, warnings)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrMoved) && !errors.Is(err, ErrStore) {
		err = p.config.Recorder.advance(ctx, move, nil) // a deleted project cannot have warnings
	}
	if err == nil {
		p.deadLetters.Add(1)
	}
	return err
}

// ProcessorStats are totals since the start.
type ProcessorStats struct {
	// Messages is the number of recorded messages, DeadLetters that of messages stored as
	// dead letters.
	Messages, DeadLetters uint64
	// Failures is the number of failed attempts to read or record.
	Failures uint64
}

// Stats returns the totals since the start. p may be nil.
func (p *Processor) Stats() ProcessorStats {
	if p == nil {
		return ProcessorStats{}
	}
	return ProcessorStats{Messages: p.messages.Load(), DeadLetters: p.deadLetters.Load(), Failures: p.failures.Load()}
}
