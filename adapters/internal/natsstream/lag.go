package natsstream

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lag is how far a partition is behind. It stays while the partition is held, also
// when it cannot be read: then most of all somebody wants to know.
type lag struct {
	pending, inHand atomic.Uint64
	oldest          atomic.Int64
	received        atomic.Uint64 // by the reader, in the numbers of its consumer
	last            atomic.Uint64 // what was received last, in the numbers of the stream
	done            atomic.Uint64 // what was recorded last
	opened          atomic.Bool   // else nobody has asked yet what is recorded

	// Of the Stream's mu.
	partition int
	held      bool
	reader    *reader // nil while there is none
}

func (l *lag) setRecorded(seq uint64) {
	l.done.Store(seq)
	l.inHand.Store(0)
	l.oldest.Store(0)
}

// trackLag begins to tell of a partition, until the function is called.
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

// attachReader makes a reader the one that a partition's lag is told by.
func (s *Stream) attachReader(r *reader, from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range s.lags {
		if l.partition == r.partition && l.held && l.reader == nil {
			r.lag = l
		}
	}
	if r.lag == nil { // read without sharing
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
		l.setRecorded(l.done.Load()) // by another server
	} else {
		l.pending.Store(n)
	}
}

// detachReader ends it. What the reader had in hand waits again.
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

// refreshLag renews the figures of Stats that only the broker knows.
func (s *Stream) refreshLag(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	if info, err := s.dead.Info(ctx); err == nil {
		s.deadLetters.Store(info.State.NumSubjects)
	}
	type known struct {
		*lag
		reader *reader
	}
	s.mu.Lock()
	list := make([]known, 0, len(s.lags))
	for l := range s.lags {
		list = append(list, known{l, l.reader})
	}
	s.mu.Unlock()
	for _, l := range list {
		if l.reader != nil && l.inHand.Load() == 0 {
			continue // it is told with each message
		}
		if n, err := s.countWaiting(ctx, l.lag, l.reader); err == nil {
			l.pending.Store(n)
		}
	}
}

// countWaiting asks how many messages of a partition its reader has not received.
func (s *Stream) countWaiting(ctx context.Context, l *lag, r *reader) (uint64, error) {
	if r != nil {
		c, err := s.events.Consumer(ctx, r.consumer.CachedInfo().Name)
		if err == nil {
			info := c.CachedInfo() // what is on its way to the reader is not received yet
			return info.NumPending + max(info.Delivered.Consumer, l.received.Load()) - l.received.Load(), nil
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return 0, err
		}
		// It has forgotten a reader that waits for the database.
	}
	c, err := s.events.CreateConsumer(ctx, jetstream.ConsumerConfig{
		FilterSubject: s.config.Name + ".events." + strconv.Itoa(l.partition), AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, Replicas: 1,
		InactiveThreshold: 10 * time.Second, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: l.last.Load() + 1,
	})
	if err != nil {
		return 0, err
	}
	_ = s.events.DeleteConsumer(ctx, c.CachedInfo().Name) // else it ends soon
	n := c.CachedInfo().NumPending
	if !l.opened.Load() && n > 0 {
		n-- // the last one that is recorded always stays
	}
	return n, nil
}
