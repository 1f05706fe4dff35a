package natsstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/capture"
)

// sharer is one process among those that share the partitions.
type sharer struct {
	stream *Stream
	id     string
	held   map[int]*held
	read   func(ctx context.Context, partition int)
	wg     sync.WaitGroup
}

// held is a partition with its lease.
type held struct {
	seq    uint64 // of the lease
	cancel context.CancelFunc
	ended  chan struct{}
}

// Share implements capture.Stream: this process's share is the partitions divided
// by those who share, rounded up.
func (s *Stream) Share(ctx context.Context, read func(ctx context.Context, partition int)) error {
	h := &sharer{stream: s, id: capture.NewUUID7(time.Now()).String(), held: map[int]*held{}, read: read}
	defer h.end(context.WithoutCancel(ctx))
	tick := time.NewTicker(s.config.Lease / 3)
	defer tick.Stop()
	for {
		if err := h.turn(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Warn("the partitions of the stream cannot be shared out; those that are read go on", "error", err)
		}
		s.look(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (h *sharer) subject(name string) string { return h.stream.config.Name + ".leases." + name }

// lease writes that something is ours; before is the number of the lease that it
// renews, 0 for a new one.
func (h *sharer) lease(ctx context.Context, name string, before uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	ack, err := h.stream.js.PublishMsg(ctx, &nats.Msg{Subject: h.subject(name), Data: []byte(h.id)}, jetstream.WithExpectLastSequencePerSubject(before))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// turn renews the leases, sees who else is there, then lets go of what is too much
// or takes what is free.
func (h *sharer) turn(ctx context.Context) error {
	s := h.stream
	if _, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: h.subject("server." + h.id)}); err != nil {
		return fmt.Errorf("renewing leases: %w", err)
	}
	for n, p := range h.held {
		seq, err := h.lease(ctx, "partition."+strconv.Itoa(n), p.seq)
		switch {
		case err == nil:
			p.seq = seq
		case wrongLast(err): // another one has it, or nobody
			h.letGo(n)
		default:
			return fmt.Errorf("renewing leases: %w", err)
		}
	}
	info, err := s.leases.Info(ctx, jetstream.WithSubjectFilter(h.subject(">")))
	if err != nil {
		return fmt.Errorf("reading leases: %w", err)
	}
	servers := 0
	for subject := range info.State.Subjects {
		if strings.HasPrefix(subject, h.subject("server.")) {
			servers++
		}
	}
	share := (s.partitions + max(servers, 1) - 1) / max(servers, 1)
	for n, p := range h.held {
		if len(h.held) <= share {
			break
		}
		h.letGo(n)
		_ = s.leases.DeleteMsg(ctx, p.seq) // else it ends by itself
	}
	for n := range s.partitions {
		if len(h.held) >= share {
			break
		}
		if h.held[n] != nil || info.State.Subjects[h.subject("partition."+strconv.Itoa(n))] > 0 {
			continue
		}
		seq, err := h.lease(ctx, "partition."+strconv.Itoa(n), 0)
		if err == nil {
			h.take(ctx, n, seq)
		} else if !wrongLast(err) {
			return fmt.Errorf("taking a lease: %w", err)
		}
	}
	return nil
}

func (h *sharer) take(ctx context.Context, n int, seq uint64) {
	ctx, cancel := context.WithCancel(ctx)
	p := &held{seq: seq, cancel: cancel, ended: make(chan struct{})}
	h.held[n] = p
	h.wg.Go(func() {
		defer close(p.ended)
		h.read(ctx, n)
	})
}

// letGo ends the reading of a partition.
func (h *sharer) letGo(n int) {
	p := h.held[n]
	delete(h.held, n)
	p.cancel()
	<-p.ended
}

// end lets go of everything, so that others need not wait.
func (h *sharer) end(ctx context.Context) {
	for _, p := range h.held {
		p.cancel()
	}
	h.wg.Wait()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, p := range h.held {
		if err := h.stream.leases.DeleteMsg(ctx, p.seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return // they end by themselves
		}
	}
	_ = h.stream.leases.Purge(ctx, jetstream.WithPurgeSubject(h.subject("server."+h.id)))
}

// look renews the figures of Stats that only the broker knows.
func (s *Stream) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	if info, err := s.dead.Info(ctx); err == nil {
		s.deadLetters.Store(info.State.NumSubjects)
	}
	s.mu.Lock()
	list := make([]*reader, 0, len(s.readers))
	for r := range s.readers {
		list = append(list, r)
	}
	s.mu.Unlock()
	for _, r := range list {
		if r.inHand.Load() == 0 {
			continue // it is told with each message
		}
		if info, err := s.events.Consumer(ctx, r.consumer.CachedInfo().Name); err == nil {
			r.pending.Store(info.CachedInfo().NumPending)
		}
	}
}
