package natsstream

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spaolacci/murmur3"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// messageBytes is the approximate maximum of one message, before compression. A larger event is
	// a message of its own.
	messageBytes = 256 << 10
	// overhead is the part of the broker's maximum payload that is reserved for headers.
	overhead = 1024
)

// lane is the queue of one partition. One of its messages is published at a time; the next one has
// all batches that have arrived since.
type lane struct {
	mu   sync.Mutex
	list []*pending
	busy bool
}

// pending is a queued batch, as pieces that each fit into a message.
type pending struct {
	pieces    [][]byte
	done      chan error // has capacity one
	abandoned atomic.Bool
}

// partition returns the partition of a project's events.
func (s *Stream) partition(projectID int64) int {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uint64(projectID))
	return int(murmur3.Sum64(key[:]) % uint64(s.partitions))
}

// Append implements capture.Appender: it returns after the broker has acknowledged the batch.
func (s *Stream) Append(ctx context.Context, b *capture.Batch) error {
	p := &pending{pieces: pieces(b), done: make(chan error, 1)}
	if err := s.enqueue(s.partition(b.ProjectID), p); err != nil {
		s.rejected.Add(1)
		return err
	}
	defer s.waiting.Add(-1)
	patience := time.NewTimer(s.config.Patience)
	defer patience.Stop()
	var err error
	select {
	case err = <-p.done:
	case <-ctx.Done():
		err = fmt.Errorf("%w: %w", capture.ErrUnavailable, ctx.Err())
	case <-patience.C:
		err = fmt.Errorf("%w: the stream takes more than %s", capture.ErrUnavailable, s.config.Patience)
	}
	if err != nil {
		p.abandoned.Store(true) // a message in transit may still succeed
		s.rejected.Add(1)
	}
	return err
}

// enqueue adds a batch to the lane of a partition, and starts run if it is not running.
func (s *Stream) enqueue(partition int, p *pending) error {
	if s.waiting.Add(1) > int64(s.config.Waiting) {
		s.waiting.Add(-1)
		return fmt.Errorf("%w: %d requests are already waiting", capture.ErrUnavailable, s.config.Waiting)
	}
	s.mu.Lock()
	reject := s.closing.Load() || !s.isReachable()
	if !reject {
		s.running.Add(1) // until the batch is in the lane below
	}
	s.mu.Unlock()
	if reject {
		s.waiting.Add(-1)
		return fmt.Errorf("%w: there is no connection to the stream", capture.ErrUnavailable)
	}
	defer s.running.Done()
	l := &s.lanes[partition]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, p)
	if !l.busy {
		l.busy = true
		s.running.Go(func() { s.run(partition, l) })
	}
	return nil
}

// pieces encodes a batch, and splits a large one.
func pieces(b *capture.Batch) (list [][]byte) {
	piece := *b
	for first, size := 0, 0; ; {
		n := first
		for size = 0; n < len(b.Events) && (n == first || size < messageBytes); n++ {
			e := &b.Events[n]
			size += len(e.Properties) + len(e.ElementsChain)
			for _, o := range [...]capture.Object{e.Set, e.SetOnce} {
				for i := range o {
					size += len(o[i].Key) + len(o[i].Value)
				}
			}
		}
		piece.Events = b.Events[first:n]
		list = append(list, capture.AppendBatch(make([]byte, 0, size+128*(n-first)+256), &piece))
		if n == len(b.Events) {
			return list
		}
		first = n
		piece = capture.Batch{ProjectID: b.ProjectID} // data other than events is in the first piece
	}
}

// run publishes until the lane is empty.
func (s *Stream) run(partition int, l *lane) {
	for {
		group := l.nextGroup()
		if len(group) == 0 {
			return
		}
		var err error
		if len(group) == 1 && len(group[0].pieces) > 1 {
			for _, piece := range group[0].pieces {
				if err = s.publish(partition, [][]byte{piece}); err != nil {
					break
				}
			}
		} else {
			bodies := make([][]byte, len(group))
			for i, p := range group {
				bodies[i] = p.pieces[0]
			}
			err = s.publish(partition, bodies)
		}
		for _, p := range group {
			p.done <- err
		}
	}
}

// nextGroup returns the batches of the next message, or one batch with several pieces.
func (l *lane) nextGroup() (group []*pending) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := 0
	for len(l.list) > 0 {
		p := l.list[0]
		if size > 0 && (size >= messageBytes || len(p.pieces) > 1) {
			break
		}
		l.list[0] = nil
		l.list = l.list[1:]
		if p.abandoned.Load() {
			continue
		}
		group = append(group, p)
		if len(p.pieces) > 1 {
			break
		}
		size += len(p.pieces[0])
	}
	if len(group) == 0 {
		l.busy, l.list = false, nil
	}
	return group
}

// publish returns after the broker has acknowledged a message.
func (s *Stream) publish(partition int, batches [][]byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.Patience)
	defer cancel()
	err := s.publishParts(ctx, s.config.Name+".events."+strconv.Itoa(partition), wire.NewUUID7(time.Now()), "", body(batches))
	if err == nil {
		s.appended.Add(1)
		return nil
	}
	if isFull(err) {
		err = fmt.Errorf("the stream is full, the database does not keep up: %w", err)
	}
	return fmt.Errorf("%w: %w", capture.ErrUnavailable, err)
}

// isFull reports whether err means that the stream is full.
func isFull(err error) bool {
	const storeFailed, resources, memoryResources = 10077, 10023, 10028
	return hasCode(err, storeFailed, resources, memoryResources)
}

// hasCode reports whether the broker responded with one of the error codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode)
}

// maxAttempts is the maximum number of attempts for a message in parts.
const maxAttempts = 12

// publishParts stores a body under a subject, in several parts if it is larger than the broker's
// payload. A part is accepted only after the one before it, so parts of two messages never mix; if
// the message of another server is between them, the message starts again, each time after a longer
// wait. (With the broker's default max_payload of 1 MiB that affects only events that do not
// compress; a larger one avoids it.)
func (s *Stream) publishParts(ctx context.Context, subject string, id capture.UUID, origin string, data []byte) error {
	part := int(s.conn.MaxPayload()) - overhead
	if part <= 0 {
		return fmt.Errorf("the broker accepts messages of at most %d bytes: set max_payload to 1MB", s.conn.MaxPayload())
	}
	parts := max(1, (len(data)+part-1)/part)
	for attempt := 0; ; attempt++ {
		var before uint64
		var err error
		for n := range parts {
			msg := nats.NewMsg(subject)
			msg.Data = data[n*part : min((n+1)*part, len(data))]
			name := messageName{ID: id, Part: n, Parts: parts, Attempt: origin + strconv.Itoa(attempt)}
			options := []jetstream.PublishOpt{jetstream.WithMsgID(name.String())}
			if n > 0 {
				options = append(options, jetstream.WithExpectLastSequencePerSubject(before))
			}
			var ack *jetstream.PubAck
			if ack, err = s.send(ctx, msg, options); err != nil {
				break
			}
			before = ack.Sequence
		}
		if !isWrongLast(err) || attempt == maxAttempts-1 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(20 * time.Millisecond << min(attempt, 5))):
		}
	}
}

func isWrongLast(err error) bool {
	return hasCode(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// isInProcess reports whether the broker is still processing an earlier attempt of the same
// message.
func isInProcess(err error) bool {
	const duplicateInProcess = 10158
	return hasCode(err, duplicateInProcess)
}

// send publishes one message, and retries while there is no response: the broker detects duplicates
// by the message id.
func (s *Stream) send(ctx context.Context, msg *nats.Msg, options []jetstream.PublishOpt) (*jetstream.PubAck, error) {
	options = append(options, jetstream.WithRetryAttempts(0))
	for {
		once, cancel := context.WithTimeout(ctx, request)
		ack, err := s.js.PublishMsg(once, msg, options...)
		cancel()
		if err == nil || isFinal(err) && !isInProcess(err) || isFull(err) || isWrongLast(err) || errors.Is(err, nats.ErrConnectionClosed) || !s.isReachable() {
			return ack, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
