package natsstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
)

const (
	// readAhead is how many messages of a partition are in memory at most.
	readAhead = 8
	// readWait is how long one request for messages waits.
	readWait = 30 * time.Second
	// purgeEvery is how often what is recorded is removed while more comes, and
	// purgeAfter after what silence.
	purgeEvery = time.Second
	purgeAfter = 200 * time.Millisecond
	// maxBody bounds a body in memory: events are bounded, so a larger one is damaged.
	maxBody = 64 << 20
)

// messageName is what stands in a message's Nats-Msg-Id.
type messageName struct {
	ID          capture.UUID
	Part, Parts int
	Attempt     string
}

func (n messageName) String() string {
	return fmt.Sprintf("%s.%d.%d.%s", n.ID, n.Part, n.Parts, n.Attempt)
}

func parseName(text string) (n messageName, ok bool) {
	f := strings.SplitN(text, ".", 4)
	if len(f) != 4 {
		return n, false
	}
	var err1, err2 error
	n.ID, ok = capture.ParseUUID(f[0])
	n.Part, err1 = strconv.Atoi(f[1])
	n.Parts, err2 = strconv.Atoi(f[2])
	n.Attempt = f[3]
	return n, ok && err1 == nil && err2 == nil && n.Part >= 0 && n.Part < n.Parts
}

// parseBody reads what body made.
func parseBody(data []byte) ([]*capture.Batch, error) {
	if len(data) == 0 || data[0] != bodyVersion {
		return nil, errors.New("the message has a form that this program does not know")
	}
	if n, err := s2.DecodedLen(data[1:]); err != nil || n > maxBody {
		return nil, errors.New("the message is damaged")
	}
	plain, err := s2.Decode(nil, data[1:])
	if err != nil {
		return nil, fmt.Errorf("the message is damaged: %w", err)
	}
	var list []*capture.Batch
	for rest := string(plain); rest != ""; {
		n, used := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen64)]))
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, errors.New("the message is damaged")
		}
		b, err := capture.ParseBatch(rest[used : used+int(n)])
		if err != nil {
			return nil, err
		}
		list, rest = append(list, b), rest[used+int(n):]
	}
	return list, nil
}

// reader implements capture.StreamReader, with a consumer of its own that the
// broker forgets when nobody asks it any more.
type reader struct {
	stream    *Stream
	partition int
	subject   string
	consumer  jetstream.Consumer
	ctx       context.Context // until Close
	cancel    context.CancelFunc

	batch    jetstream.MessageBatch
	cancelOf context.CancelFunc // of batch
	expected uint64             // the consumer's next number: one that is missing was lost on the way
	parts    [][]byte           // of a message that is not complete
	partSeqs []uint64           // of these parts
	name     messageName        // of these parts
	orphans  []uint64           // parts that belong to nothing, to be removed

	done            capture.Place // recorded, but not yet removed
	purged          time.Time
	pending, inHand atomic.Uint64
	oldest          atomic.Int64
}

// Open implements capture.Stream.
func (s *Stream) Open(ctx context.Context, after capture.Place) (capture.StreamReader, error) {
	r := &reader{stream: s, partition: after.Partition, subject: s.config.Name + ".events." + strconv.Itoa(after.Partition), expected: 1}
	c := jetstream.ConsumerConfig{
		FilterSubject: r.subject, AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: time.Minute, DeliverPolicy: jetstream.DeliverAllPolicy,
	}
	there, err := s.holds(ctx, r.subject, after)
	if err != nil {
		return nil, err
	}
	if there {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverByStartSequencePolicy, after.Seq+1
	} else if after.Seq > 0 {
		s.config.Logger.Warn("the stream does not hold what was recorded last; all that it holds is read", "partition", after.Partition)
	}
	if r.consumer, err = s.events.CreateConsumer(ctx, c); err != nil {
		return nil, err
	}
	r.pending.Store(r.consumer.CachedInfo().NumPending)
	r.ctx, r.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.readers[r] = struct{}{}
	s.mu.Unlock()
	return r, nil
}

// holds reports whether the stream has the message of a place. A broker that has
// just become the leader may need a moment to know.
func (s *Stream) holds(ctx context.Context, subject string, p capture.Place) (bool, error) {
	if p.Seq == 0 {
		return false, nil
	}
	for try := 0; ; try++ {
		m, err := s.events.GetMsg(ctx, p.Seq)
		if err == nil {
			name, ok := parseName(m.Header.Get(nats.MsgIdHdr))
			return ok && m.Subject == subject && name.ID == p.ID, nil
		}
		if !errors.Is(err, jetstream.ErrMsgNotFound) || try == 3 {
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				err = nil
			}
			return false, err
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
		if msg == nil { // nothing more at the moment
			r.inHand.Store(uint64(len(list)))
			r.oldest.Store(list[0].At.UnixNano())
			return list, nil
		}
		m, err := r.complete(msg)
		if err != nil {
			return nil, err
		}
		if m != nil {
			if list = append(list, *m); len(list) == 1 {
				r.oldest.Store(m.At.UnixNano())
			}
		}
	}
}

// receive returns the next message of the broker. Unless wait it returns nil when
// none is there, or when as many as may be in memory were there.
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
		if wait {
			quiet := time.NewTimer(purgeAfter)
			select {
			case msg, open = <-r.batch.Messages():
			case <-ctx.Done():
				quiet.Stop()
				return nil, ctx.Err()
			case <-quiet.C:
				if err := r.purge(ctx); err != nil {
					return nil, err
				}
				select {
				case msg, open = <-r.batch.Messages():
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			quiet.Stop()
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
		err := r.batch.Error()
		r.cancelOf()
		r.batch = nil
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, nats.ErrTimeout) {
			return nil, fmt.Errorf("reading: %w", err)
		}
	}
}

func (r *reader) fetch() (err error) {
	ctx, cancel := context.WithTimeout(r.ctx, readWait)
	if r.batch, err = r.consumer.Fetch(readAhead, jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(readWait/6)); err != nil {
		cancel()
		return err
	}
	r.cancelOf = cancel
	return nil
}

// complete makes a message of what the broker sends, nil while parts are missing.
// Parts that are not continued are of a message that was never acknowledged.
func (r *reader) complete(msg jetstream.Msg) (*capture.Message, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, err
	}
	if meta.Sequence.Consumer != r.expected {
		return nil, fmt.Errorf("reading: message %d came where %d was expected", meta.Sequence.Consumer, r.expected)
	}
	r.expected++
	r.pending.Store(meta.NumPending)
	r.stream.seen(r.partition, meta.Sequence.Stream)
	m := &capture.Message{Place: capture.Place{Stream: r.stream.id, Partition: r.partition, Seq: meta.Sequence.Stream}, At: meta.Timestamp, Body: msg.Data()}
	name, ok := parseName(msg.Headers().Get(nats.MsgIdHdr))
	if m.ID = name.ID; !ok {
		m.Fault = errors.New("the message has no readable id")
		return m, nil
	}
	if name.Parts > 1 {
		if name.Part > 0 && (len(r.parts) != name.Part || r.name.ID != name.ID || r.name.Attempt != name.Attempt) {
			r.orphan()
			r.orphans = append(r.orphans, m.Seq)
			return nil, nil // the beginning of these was not acknowledged
		}
		if name.Part == 0 {
			r.orphan()
		}
		r.parts, r.partSeqs, r.name = append(r.parts, msg.Data()), append(r.partSeqs, m.Seq), name
		if len(r.parts) < name.Parts {
			return nil, nil
		}
		m.Body = nil
		for _, p := range r.parts {
			m.Body = append(m.Body, p...)
		}
		r.parts, r.partSeqs = nil, nil
	}
	r.orphan()
	m.Batches, m.Fault = parseBody(m.Body)
	return m, nil
}

// orphan gives up the parts that are there: what comes does not continue them.
func (r *reader) orphan() {
	r.orphans = append(r.orphans, r.partSeqs...)
	r.parts, r.partSeqs = nil, nil
}

// seen counts what is read again.
func (s *Stream) seen(partition int, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seq <= s.highest[partition] {
		s.redelivered.Add(1)
	}
	s.highest[partition] = max(s.highest[partition], seq)
}

// Done implements capture.StreamReader. It removes what is recorded now and then.
func (r *reader) Done(ctx context.Context, at capture.Place) error {
	r.done = at
	r.inHand.Store(0)
	r.oldest.Store(0)
	if time.Since(r.purged) < purgeEvery {
		return nil
	}
	return r.purge(ctx)
}

// purge removes what is recorded, but for the last: it says that the numbers of
// the stream are still the same.
func (r *reader) purge(ctx context.Context) error {
	for _, seq := range r.orphans { // else they take room until the next message is recorded
		_ = r.stream.events.DeleteMsg(ctx, seq) // it may be gone
	}
	r.orphans = nil
	if r.done.Seq == 0 {
		return nil
	}
	r.purged = time.Now()
	if err := r.stream.events.Purge(ctx, jetstream.WithPurgeSubject(r.subject), jetstream.WithPurgeSequence(r.done.Seq)); err != nil {
		return fmt.Errorf("removing what is recorded: %w", err)
	}
	r.done = capture.Place{}
	return nil
}

// Close implements capture.StreamReader.
func (r *reader) Close() {
	r.stream.mu.Lock()
	delete(r.stream.readers, r)
	r.stream.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.ctx, 2*time.Second)
	_ = r.purge(ctx) // else the next reader does
	_ = r.stream.events.DeleteConsumer(ctx, r.consumer.CachedInfo().Name)
	cancel()
	r.cancel()
	if r.batch != nil { // its goroutine ends with its context
		for range r.batch.Messages() {
		}
		r.cancelOf()
	}
}
