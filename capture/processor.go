package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// Defaults of ProcessorConfig.
const (
	defaultTries = 8
	defaultPause = 250 * time.Millisecond
)

// maxPause is the longest pause between two tries.
const maxPause = 10 * time.Second

// ProcessorConfig says what a Processor carries from where to where. Stream, Into
// and Places are required.
type ProcessorConfig struct {
	Stream   Stream
	Recorder *Recorder
	// Positions are those that Into's ledger keeps.
	Positions PositionReader
	// Tries is how often a message is tried alone that the store refuses while it takes
	// others, until it is a dead letter. 8 when zero. What fails with
	// ErrStore is tried for as long as it takes.
	Tries int
	// Pause is the one before the second try, 250 ms when zero. Each further
	// one is twice as long, up to ten seconds.
	Pause time.Duration
	// OnFailure is told what goes wrong, from several goroutines. Nil: nobody is.
	OnFailure func(error)
	// Now is the clock, time.Now when nil.
	Now func() time.Time
}

// Processor records what a Stream holds: each partition in order, and each
// message once. How far it has come is written in the transaction that records
// (Recorder.Advance), so a message that comes again, after a crash or because two
// processes read a partition for a moment, changes nothing: not events and
// people, and not what is counted.
//
// A message that cannot be read, or that the store refuses while it takes others,
// is kept as a dead letter and the next ones go on. While the store takes nothing
// at all, or fails for reasons of its own (ErrStore), the stream waits.
type Processor struct {
	config      ProcessorConfig
	messages    atomic.Uint64
	deadLetters atomic.Uint64
	failures    atomic.Uint64
}

var errProcessor = errors.New("capture: a Processor needs Stream, Recorder and Positions")

// NewProcessor makes a Processor. It fails without Stream, Recorder or Positions.
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

// Run processes until the context ends; what is being recorded then is recorded
// to its end.
func (p *Processor) Run(ctx context.Context) error {
	if p == nil || p.config.Stream == nil {
		return errProcessor
	}
	return p.config.Stream.RunPartitions(ctx, p.runPartition)
}

// runPartition reads one partition until the context ends, from the kept place again
// whenever something fails.
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

func (p *Processor) reportFailure(err error) {
	p.failures.Add(1)
	p.config.OnFailure(err)
}

// backoff returns a function that waits, longer each time.
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
			p.reportFailure(err) // the next one says the same again
		}
	}
}

// recordMessages records messages, all in one transaction where that succeeds.
func (p *Processor) recordMessages(ctx context.Context, r StreamReader, position StreamPosition, list []Message) (StreamPosition, error) {
	var batches []*Batch
	allReadable := true
	for i := range list {
		allReadable = allReadable && list[i].Fault == nil
		batches = append(batches, list[i].Batches...)
	}
	if to := list[len(list)-1].StreamPosition; allReadable {
		err := p.config.Recorder.Advance(ctx, Move{position, to}, batches)
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

// recordMessage records a message alone, or buries it.
func (p *Processor) recordMessage(ctx context.Context, r StreamReader, position StreamPosition, m *Message) error {
	move, wait := Move{position, m.StreamPosition}, p.backoff()
	for rejections := 0; ; {
		err := m.Fault
		if err == nil {
			err = p.config.Recorder.Advance(ctx, move, m.Batches)
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
		// Whose fault it is shows in whether the store takes a place and nothing else.
		probe := p.config.Recorder.Advance(ctx, Move{position, position}, nil)
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

// storeDeadLetter keeps a message as a dead letter, then records a warning in its place.
func (p *Processor) storeDeadLetter(ctx context.Context, r StreamReader, move Move, m *Message, cause error) error {
	p.config.OnFailure(fmt.Errorf("a message of the stream becomes a dead letter: %w", cause))
	if err := r.StoreDeadLetter(ctx, m, cause.Error()); err != nil {
		return fmt.Errorf("keeping a dead letter: %w", err)
	}
	var warnings []*Batch
	for _, b := range m.Batches {
		w := &Batch{ProjectID: b.ProjectID}
		w.warn(Warning{Type: WarnDeadLetter, At: p.config.Now().UTC().Truncate(time.Microsecond), Count: int64(len(b.Events)),
			Detail: "the store refuses these events; they are kept as a dead letter"})
		warnings = append(warnings, w)
	}
	err := p.config.Recorder.Advance(ctx, move, warnings)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrMoved) && !errors.Is(err, ErrStore) {
		err = p.config.Recorder.Advance(ctx, move, nil) // of a project that is gone there is nothing to tell
	}
	if err == nil {
		p.deadLetters.Add(1)
	}
	return err
}

// ProcessorStats are totals since the start.
type ProcessorStats struct {
	// Messages were recorded, Buried ones are dead letters.
	Messages, DeadLetters uint64
	// Failures are attempts to read or record that failed.
	Failures uint64
}

// Stats returns totals.
func (p *Processor) Stats() ProcessorStats {
	if p == nil {
		return ProcessorStats{}
	}
	return ProcessorStats{Messages: p.messages.Load(), DeadLetters: p.deadLetters.Load(), Failures: p.failures.Load()}
}
