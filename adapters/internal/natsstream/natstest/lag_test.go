package natstest

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// noPositions is a stream whose processor reads positions from a database that may be unavailable.
type noPositions struct {
	capture.Stream
	capture.PositionReader
	away *atomic.Bool
}

func (p noPositions) StreamPosition(ctx context.Context, stream string, partition int) (capture.StreamPosition, error) {
	if p.away.Load() {
		return capture.StreamPosition{}, errStore
	}
	return p.PositionReader.StreamPosition(ctx, stream, partition)
}

// Decision 28: the lag is correct while no events arrive, while the database accepts none, after
// the broker has deleted the consumer, while reading fails, and afterwards.
func TestStats_Lag(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	f := &failingLedger{}
	var away atomic.Bool
	w := newWorld(t, fails(f))
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20, Lease: time.Second})
	i := w.intake(t, s)
	_, stopProcessing := w.process(t, noPositions{s, w.store, &away})
	is := func(what string, waiting uint64) {
		t.Helper()
		waitUntil(t, what, func() bool {
			st := s.Stats()
			return st.Partitions == natsstream.Partitions && st.Waiting == waiting && (st.Oldest > 0) == (waiting > 0)
		})
	}
	is("idle from the start", 0)
	w.send(t, i, "a", "b", "c")
	waitUntil(t, "all is recorded", func() bool { return len(w.recorded(t)) == 3 })
	is("idle", 0)

	f.down.Store(true)
	for range 30 { // each is a message
		w.send(t, i, "d")
	}
	is("behind", 30)
	if a := s.Stats().Oldest; a > within {
		t.Errorf("the oldest message is %s old", a)
	}
	_, events := broker(t, b.ClientURL())
	for _, name := range consumers(t, events) {
		if err := events.DeleteConsumer(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	w.send(t, i, "e", "e")
	is("behind, and forgotten by the broker", 32)

	away.Store(true)
	f.down.Store(false)
	stopProcessing() // another server starts, and its database becomes unavailable
	f.down.Store(true)
	behind := 35 - len(w.recorded(t))
	_, stopProcessing = w.process(t, noPositions{s, w.store, &away})
	waitUntil(t, "nothing can be read", func() bool {
		st := s.Stats()
		return st.Partitions == natsstream.Partitions && st.Waiting == uint64(behind)
	})
	away.Store(false)
	f.down.Store(false)
	waitUntil(t, "all is recorded", func() bool { return len(w.recorded(t)) == 35 })
	is("idle again", 0)
	stopProcessing()
	if st := s.Stats(); st.Partitions != 0 || st.Waiting != 0 {
		t.Errorf("of partitions that others read it tells %+v", st)
	}

	garbage(t, b.ClientURL())
	w.process(t, s)
	waitUntil(t, "the dead letter is counted", func() bool { return s.Stats().DeadLetters == 1 })
	is("idle with a dead letter", 0)
	if err := s.Delete(t.Context(), deadLetters(t, s)[0]); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the dead letter is gone", func() bool { return s.Stats().DeadLetters == 0 })
}

func consumers(t testing.TB, events jetstream.Stream) (names []string) {
	t.Helper()
	list := events.ListConsumers(t.Context())
	for c := range list.Info() {
		names = append(names, c.Name)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}
