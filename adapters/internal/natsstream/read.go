package natsstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
)

const (
	// readAhead is the maximum number of messages of a partition in memory.
	readAhead = 8
	// readWait is how long one request for messages waits.
	readWait = 30 * time.Second
	// purgeEvery is how often recorded messages are removed while further messages arrive, and
	// purgeAfter the time without messages after which they are removed.
	purgeEvery = time.Second
	purgeAfter = 200 * time.Millisecond
)

// reader implements capture.StreamReader, with a consumer of its own that expires on the broker
// when it is not used.
type reader struct {
	stream    *Stream
	partition int
	subject   string
	consumer  jetstream.Consumer
	ctx       context.Context // until Close
	cancel    context.CancelFunc

	batch    jetstream.MessageBatch
	cancelOf context.CancelFunc // cancels batch
	expected uint64             // the consumer's next number; if it is missing, a message was lost in transit
	parts    assembly
	strays   []capture.StreamPosition // incomplete messages to be removed

	done   capture.StreamPosition // recorded, but not yet removed
	purged time.Time
	lag    *lag
}

// Open implements capture.Stream.
func (s *Stream) Open(ctx context.Context, after capture.StreamPosition) (capture.StreamReader, error) {
	r := &reader{stream: s, partition: after.Partition, subject: s.config.Name + ".events." + strconv.Itoa(after.Partition), expected: 1}
	c := jetstream.ConsumerConfig{
		FilterSubject: r.subject, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	const patience = 3 // a new leader among the brokers may not have the message immediately
	found, err := s.hasMessage(ctx, r.subject, after, patience)
	if err != nil {
		return nil, err
	}
	if found {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverByStartSequencePolicy, after.Seq+1
	} else if after.Seq > 0 {
		s.config.Logger.Warn("the stream no longer contains the message that was recorded last; reading everything that it contains", "partition", after.Partition)
	}
	if r.consumer, err = s.events.CreateConsumer(ctx, c); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.attachReader(r, c.OptStartSeq)
	return r, nil
}

// hasMessage reports whether the stream has the message of a position. If it does not, the function
// retries that many times.
func (s *Stream) hasMessage(ctx context.Context, subject string, p capture.StreamPosition, again int) (bool, error) {
	if p.Seq == 0 {
		return false, nil
	}
	for try := 0; ; try++ {
		m, err := s.events.GetMsg(ctx, p.Seq)
		if err == nil {
			name, _ := nameOf(m.Header, p.Seq, m.Data)
			return m.Subject == subject && name.ID == p.ID, nil
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, err
		}
		if try == again {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Next implements capture.StreamReader.
func (r *reader) Next(ctx context.Context) (list []capture.Message, err error) {
	for {
		var msg jetstream.Msg
		if msg, err = r.receive(ctx, len(list) == 0); err != nil {
			return nil, err
		}
		if msg == nil { // no further messages at the moment
			r.lag.inHand.Store(uint64(len(list)))
			r.lag.oldest.Store(list[0].At.UnixNano())
			return list, nil
		}
		m, err := r.assemble(msg)
		if err != nil {
			return nil, err
		}
		if m != nil {
			if list = append(list, *m); len(list) == 1 {
				r.lag.oldest.Store(m.At.UnixNano())
			}
		}
	}
}

// receive returns the next message of the broker. If wait is false, it returns nil if no message is
// available, or after readAhead messages.
func (r *reader) receive(ctx context.Context, wait bool) (jetstream.Msg, error) {
	for {
		if r.batch == nil {
			if !wait {
				return nil, nil
			}
			if err := r.fetch(); err != nil {
				return nil, err
			}
		}
		var msg jetstream.Msg
		var open bool
		var err error
		if wait {
			if msg, open, err = r.await(ctx); err != nil {
				return nil, err
			}
		} else {
			select {
			case msg, open = <-r.batch.Messages():
			default:
				return nil, nil
			}
		}
		if open {
			return msg, nil
		}
		err = r.batch.Error()
		r.cancelOf()
		r.batch = nil
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			return nil, fmt.Errorf("reading: %w", err)
		}
	}
}

// await waits for a message; open is false at the end of the batch.
func (r *reader) await(ctx context.Context) (msg jetstream.Msg, open bool, err error) {
	quiet := time.NewTimer(purgeAfter)
	defer quiet.Stop()
	for {
		select {
		case msg, open = <-r.batch.Messages():
			return msg, open, nil
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-quiet.C:
			if err := r.purge(ctx); err != nil {
				return nil, false, err
			}
		}
	}
}

// fetch requests up to readAhead messages.
func (r *reader) fetch() (err error) {
	ctx, cancel := context.WithTimeout(r.ctx, readWait)
	if r.batch, err = r.consumer.Fetch(readAhead, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(readWait/6)); err != nil {
		cancel()
		return err
	}
	r.cancelOf = cancel
	return nil
}

// assemble converts a message of the broker. It returns nil while parts are missing.
func (r *reader) assemble(msg jetstream.Msg) (*capture.Message, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	if meta.Sequence.Consumer != r.expected {
		return nil, fmt.Errorf("reading: message %d came where %d was expected", meta.Sequence.Consumer, r.expected)
	}
	r.expected++
	r.lag.received.Store(meta.Sequence.Consumer)
	r.lag.last.Store(meta.Sequence.Stream)
	r.lag.pending.Store(meta.NumPending)
	r.stream.countRedelivered(r.partition, meta.Sequence.Stream)
	m := &capture.Message{StreamPosition: capture.StreamPosition{Stream: r.stream.id, Partition: r.partition, Seq: meta.Sequence.Stream}, At: meta.Timestamp}
	name, named := nameOf(msg.Headers(), m.Seq, msg.Data())
	m.ID = name.ID
	complete, strays := r.parts.add(name, m.StreamPosition, msg.Data())
	r.strays = append(r.strays, strays...)
	if !complete {
		return nil, nil
	}
	if m.Body = r.parts.take(); !named {
		m.Fault = errors.New("the message has no readable id")
		return m, nil
	}
	m.Batches, m.Fault = parseBody(m.Body)
	return m, nil
}

// countRedelivered counts messages that are read repeatedly.
func (s *Stream) countRedelivered(partition int, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq <= s.highest[partition] {
		s.redelivered.Add(1)
	}
	s.highest[partition] = max(s.highest[partition], seq)
}

// Acknowledge implements capture.StreamReader. It removes recorded messages, at most once in
// purgeEvery.
func (r *reader) Acknowledge(ctx context.Context, pos capture.StreamPosition) error {
	r.done = pos
	r.lag.setRecorded(pos.Seq)
	if time.Since(r.purged) < purgeEvery {
		return nil
	}
	return r.purge(ctx)
}

// purge removes the recorded messages except the last one, which proves that the numbers of the
// stream are still valid. If they are not, it removes no messages, because other messages may have
// these numbers.
func (r *reader) purge(ctx context.Context) error {
	for _, stray := range r.strays { // otherwise they stay until the next message is recorded
		if same, err := r.stream.hasMessage(ctx, r.subject, stray, 0); err == nil && same {
			_ = r.stream.events.DeleteMsg(ctx, stray.Seq) // it may have been removed already
		}
	}
	r.strays = nil
	if r.done.Seq == 0 {
		return nil
	}
	if same, err := r.stream.hasMessage(ctx, r.subject, r.done, 0); err != nil {
		return fmt.Errorf("removing what is recorded: %w", err)
	} else if !same { // or another server has recorded further messages
		r.done = capture.StreamPosition{}
		return nil
	}
	r.purged = time.Now()
	if err := r.stream.events.Purge(ctx, jetstream.WithPurgeSubject(r.subject), jetstream.WithPurgeSequence(r.done.Seq)); err != nil {
		return fmt.Errorf("removing what is recorded: %w", err)
	}
	r.done = capture.StreamPosition{}
	return nil
}

// Close implements capture.StreamReader.
func (r *reader) Close() {
	r.stream.detachReader(r)
	ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
	_ = r.purge(ctx) // otherwise the next reader removes them
	_ = r.stream.events.DeleteConsumer(ctx, r.consumer.CachedInfo().Name)
	cancel()
	r.cancel()
	if r.batch != nil { // the goroutine of the batch ends with its context
		for range r.batch.Messages() {
		}
		r.cancelOf()
	}
}
