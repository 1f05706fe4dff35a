package natsstream

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lag is the number of messages of a partition that are not yet recorded. It exists while this
// server has the partition, also if the partition cannot be read, because it is then most
// important.
type lag struct {
	pending, inHand atomic.Uint64
	oldest          atomic.Int64
	received        atomic.Uint64 // received by the reader, as a number of its consumer
	last            atomic.Uint64 // last received message, as a number of the stream
	done            atomic.Uint64 // last recorded message
	opened          atomic.Bool   // the recorded position has been read

	// The fields below are guarded by the Stream's mu.
	partition int
	held      bool
	reader    *reader // nil without a reader
}

// setRecorded records that all received messages up to seq are recorded.
func (l *lag) setRecorded(seq uint64) {
	l.done.Store(seq)
	l.inHand.Store(0)
	l.oldest.Store(0)
}

// trackLag adds a partition to the statistics, until the returned function is called.
func (s *Stream) trackLag(partition int) (end func()) {
	l := &lag{partition: partition, held: true}
	s.mu.Lock()
	s.lags[l] = struct{}{}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.lags, l)
		s.mu.Unlock()
	}
}

// attachReader sets the reader as the source of its partition's lag.
func (s *Stream) attachReader(r *reader, from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.lags {
		if l.partition == r.partition && l.held && l.reader == nil {
			r.lag = l
		}
	}
	if r.lag == nil { // read without RunPartitions
		r.lag = &lag{partition: r.partition}
		s.lags[r.lag] = struct{}{}
	}
	l := r.lag
	l.reader = r
	l.received.Store(0)
	l.last.Store(max(from, 1) - 1)
	l.done.Store(max(from, 1) - 1)
	l.opened.Store(true)
	if n := r.consumer.CachedInfo().NumPending; n == 0 {
		l.setRecorded(l.done.Load()) // recorded by another server
	} else {
		l.pending.Store(n)
	}
}

// detachReader ends that. Messages that the reader has received but not recorded count as pending.
func (s *Stream) detachReader(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := r.lag
	l.reader = nil
	l.pending.Add(l.inHand.Swap(0))
	l.last.Store(l.done.Load())
	if !l.held {
		delete(s.lags, l)
	}
}

// refreshLag updates the numbers of Stats that must be requested from the broker.
func (s *Stream) refreshLag(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	if info, err := s.dead.Info(ctx); err == nil {
		s.deadLetters.Store(info.State.NumSubjects)
	}
	type position struct {
		*lag
		reader *reader
	}
	s.mu.Lock()
	list := make([]position, 0, len(s.lags))
	for l := range s.lags {
		list = append(list, position{l, l.reader})
	}
	s.mu.Unlock()
	for _, l := range list {
		if l.reader != nil && l.inHand.Load() == 0 {
			continue // updated with each message
		}
		if n, err := s.countWaiting(ctx, l.lag, l.reader); err == nil {
			l.pending.Store(n)
		}
	}
}

// countWaiting requests the number of messages of a partition that its reader has not received.
func (s *Stream) countWaiting(ctx context.Context, l *lag, r *reader) (uint64, error) {
	if r != nil {
		c, err := s.events.Consumer(ctx, r.consumer.CachedInfo().Name)
		if err == nil {
			info := c.CachedInfo() // messages in transit to the reader are not received yet
			return info.NumPending + max(info.Delivered.Consumer, l.received.Load()) - l.received.Load(), nil
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return 0, err
		}
		// The broker has deleted the consumer of a reader that waits for the database.
	}
	c, err := s.events.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: s.config.Name + ".events." + strconv.Itoa(l.partition), AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: 10 * time.Second, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: l.last.Load() + 1,
	})
	if err != nil {
		return 0, err
	}
	_ = s.events.DeleteConsumer(ctx, c.CachedInfo().Name) // otherwise it expires soon
	n := c.CachedInfo().NumPending
	if !l.opened.Load() && n > 0 {
		n-- // the last recorded message always stays in the stream
	}
	return n, nil
}
