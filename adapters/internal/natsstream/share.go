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

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/flags/wire"
)

// sharer is the part of a process in sharing the partitions.
type sharer struct {
	stream *Stream
	id     string
	held   map[int]*heldPartition
	// leaving are partitions with a released lease, for which the read function may still be
	// running.
	leaving map[int]<-chan struct{}
	read    func(ctx context.Context, partition int)
	wg      sync.WaitGroup
}

// heldPartition is a partition with its lease.
type heldPartition struct {
	seq    uint64 // of the lease
	cancel context.CancelFunc
	ended  chan struct{}
}

// RunPartitions implements capture.Stream: this process reads the number of partitions divided by
// the number of processes, rounded up.
func (s *Stream) RunPartitions(ctx context.Context, read func(ctx context.Context, partition int)) error {
	h := &sharer{stream: s, id: wire.NewUUID7(time.Now()).String(), held: map[int]*heldPartition{}, leaving: map[int]<-chan struct{}{}, read: read}
	defer h.end(context.WithoutCancel(ctx))
	tick := time.NewTicker(s.config.Lease / 3)
	defer tick.Stop()
	var failures throttle.Streak
	for {
		if err := h.rebalance(ctx); failures.Begins(err) && ctx.Err() == nil {
			s.config.Logger.Warn("the partitions of the stream cannot be assigned; reading of the current ones continues", "error", err)
		}
		s.refreshLag(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (h *sharer) subject(name string) string { return h.stream.config.Name + ".leases." + name }

// lease writes a lease of this process. before is the number of the lease that it renews, 0 for a
// new one.
func (h *sharer) lease(ctx context.Context, name string, before uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, request)
	defer cancel()
	ack, err := h.stream.js.PublishMsg(ctx, &nats.Msg{Subject: h.subject(name), Data: []byte(h.id)}, jetstream.WithExpectLastSequencePerSubject(before))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// rebalance renews the leases, counts the servers, and then releases partitions above this server's
// share or acquires free partitions.
func (h *sharer) rebalance(ctx context.Context) error {
	s := h.stream
	if _, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: h.subject("server." + h.id)}); err != nil {
		return fmt.Errorf("renewing leases: %w", err)
	}
	for n, p := range h.held {
		seq, err := h.lease(ctx, "partition."+strconv.Itoa(n), p.seq)
		switch {
		case err == nil:
			p.seq = seq
		case isWrongLast(err): // another server has it, or it has expired
			h.release(n, false)
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
		h.release(n, true)
	}
	for n := range s.partitions {
		if len(h.held) >= share {
			break
		}
		if h.held[n] != nil || !h.isFree(n) || info.State.Subjects[h.subject("partition."+strconv.Itoa(n))] > 0 {
			continue
		}
		seq, err := h.lease(ctx, "partition."+strconv.Itoa(n), 0)
		if err == nil {
			h.start(ctx, n, seq)
		} else if !isWrongLast(err) {
			return fmt.Errorf("taking a lease: %w", err)
		}
	}
	return nil
}

// start reads a partition until release or end.
func (h *sharer) start(ctx context.Context, n int, seq uint64) {
	ctx, cancel := context.WithCancel(ctx)
	p := &heldPartition{seq: seq, cancel: cancel, ended: make(chan struct{})}
	h.held[n] = p
	untrack := h.stream.trackLag(n)
	h.wg.Go(func() {
		defer close(p.ended)
		defer untrack()
		h.read(ctx, n)
	})
}

// release stops reading a partition, and then deletes its lease if owned is set. It does not wait,
// because with a database that does not respond that may take longer than leases last.
func (h *sharer) release(n int, owned bool) {
	p := h.held[n]
	delete(h.held, n)
	h.leaving[n] = p.ended
	p.cancel()
	if !owned {
		return
	}
	h.wg.Go(func() {
		<-p.ended
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_ = h.stream.leases.DeleteMsg(ctx, p.seq) // otherwise it expires
	})
}

// isFree reports whether the read function of a partition has ended.
func (h *sharer) isFree(n int) bool {
	ended, ok := h.leaving[n]
	if !ok {
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

// end releases all leases, so that other servers can continue immediately.
func (h *sharer) end(ctx context.Context) {
	for _, p := range h.held {
		p.cancel()
	}
	h.wg.Wait()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for _, p := range h.held {
		if err := h.stream.leases.DeleteMsg(ctx, p.seq); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return // they expire
		}
	}
	_ = h.stream.leases.Purge(ctx, jetstream.WithPurgeSubject(h.subject("server."+h.id)))
}
