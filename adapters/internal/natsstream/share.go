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

	"github.com/bunting-flags/bunting/flags/wire"
)

// sharer is one process among those that share the partitions.
type sharer struct {
	stream *Stream
	id     string
	held   map[int]*held
	// leaving are partitions that were let go of, of which the reading may not have
	// ended yet.
	leaving map[int]<-chan struct{}
	read    func(ctx context.Context, partition int)
	wg      sync.WaitGroup
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
	h := &sharer{stream: s, id: wire.NewUUID7(time.Now()).String(), held: map[int]*held{}, leaving: map[int]<-chan struct{}{}, read: read}
	defer h.end(context.WithoutCancel(ctx))
	tick := time.NewTicker(s.config.Lease / 3)
	defer tick.Stop()
	failing := false
	for {
		err := h.turn(ctx)
		if err != nil && !failing && ctx.Err() == nil { // once, not while it lasts
			s.config.Logger.Warn("the partitions of the stream cannot be shared out; those that are read go on", "error", err)
		}
		failing = err != nil
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
			h.letGo(n, false)
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
	for n := range h.held {
		if len(h.held) <= share {
			break
		}
		h.letGo(n, true)
	}
	for n := range s.partitions {
		if len(h.held) >= share {
			break
		}
		if h.held[n] != nil || !h.left(n) || info.State.Subjects[h.subject("partition."+strconv.Itoa(n))] > 0 {
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
	untold := h.stream.hold(n)
	h.wg.Go(func() {
		defer close(p.ended)
		defer untold()
		h.read(ctx, n)
	})
}

// letGo ends the reading of a partition, and then its lease if that is ours. It does
// not wait: with a database that does not answer that takes longer than leases last.
func (h *sharer) letGo(n int, ours bool) {
	p := h.held[n]
	delete(h.held, n)
	h.leaving[n] = p.ended
	p.cancel()
	if !ours {
		return
	}
	h.wg.Go(func() {
		<-p.ended
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = h.stream.leases.DeleteMsg(ctx, p.seq) // else it ends by itself
	})
}

// left reports whether no reading of a partition is under way.
func (h *sharer) left(n int) bool {
	ended, is := h.leaving[n]
	if !is {
		return true
	}
	select {
	case <-ended:
		delete(h.leaving, n)
		return true
	default:
		return false
	}
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
