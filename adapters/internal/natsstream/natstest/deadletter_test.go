package natstest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// deadLetters returns all dead letters.
func deadLetters(t testing.TB, s *natsstream.Stream) (list []*natsstream.DeadLetter) {
	t.Helper()
	if err := s.DeadLetters(t.Context(), func(d *natsstream.DeadLetter) error { list = append(list, d); return nil }); err != nil {
		t.Fatal(err)
	}
	return list
}

func (w *world) names(t testing.TB) (names []string) {
	t.Helper()
	for _, r := range w.recorded(t) {
		names = append(names, r.Name)
	}
	return names
}

func (w *world) send(t testing.TB, i *capture.Intake, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := accept(t.Context(), i, fmt.Sprintf(`{"api_key":%q,"event":%q,"distinct_id":"ann"}`, w.first.APIKey, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// A dead letter that is requeued too early becomes a new dead letter: the broker must not discard
// it as a duplicate.
func TestDeadLetter_RequeuedTooEarly(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	f := &failingLedger{}
	w := newWorld(t, fails(f))
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	w.send(t, w.intake(t, s), "poison")
	p, _ := w.process(t, s)
	for n := range uint64(3) {
		waitUntil(t, "it is a dead letter", func() bool { return p.Stats().DeadLetters == n+1 })
		list := deadLetters(t, s)
		if len(list) != 1 || list[0].Fault != nil || list[0].Batches[0].Events[0].Name != "poison" {
			t.Fatalf("after it was buried %d times: %+v", n+1, list)
		}
		f.mended.Store(n == 2)
		if err := s.Requeue(t.Context(), list[0]); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, "it is recorded", func() bool { return len(w.recorded(t)) == 1 })
	if list := deadLetters(t, s); len(list) != 0 {
		t.Errorf("%d dead letters are left", len(list))
	}
}

// A message that cannot be parsed becomes one dead letter, even if several readers start before it.
func TestDeadLetter_UnreadableOnce(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	i := w.intake(t, s)
	w.send(t, i, "before")
	garbage(t, b.ClientURL())
	p, stopProcessing := w.process(t, s)
	waitUntil(t, "it is a dead letter", func() bool { return p.Stats().DeadLetters == 1 })
	stopProcessing()
	p, _ = w.process(t, s)
	w.send(t, i, "after")
	waitUntil(t, "what comes behind it is recorded", func() bool { return len(w.recorded(t)) == 2 })
	if n := len(deadLetters(t, s)); n != 1 || p.Stats().DeadLetters != 0 {
		t.Errorf("%d dead letters, %d of them from the second reader", n, p.Stats().DeadLetters)
	}
}

// If the warning cannot be stored either, for example because the project was deleted, the
// following events are recorded.
func TestDeadLetter_WithoutWarning(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	f := &failingLedger{}
	f.mute.Store(true)
	w := newWorld(t, fails(f))
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	w.send(t, w.intake(t, s), "poison", "after")
	w.process(t, s)
	waitUntil(t, "the next one is recorded", func() bool { return len(w.recorded(t)) == 1 })
	if n := len(deadLetters(t, s)); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}

// The parts of two large dead letters may be mixed in the stream.
func TestDeadLetters_PartsMixed(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	w.send(t, w.intake(t, s), "one", "two")
	js, events := broker(t, b.ClientURL())
	for part := range 2 {
		for seq := range uint64(2) {
			m, err := events.GetMsg(t.Context(), seq+1)
			if err != nil {
				t.Fatal(err)
			}
			id, half := capture.PersonID(1, fmt.Sprint(seq)), len(m.Data)/2
			piece := [][]byte{m.Data[:half], m.Data[half:]}[part]
			if _, err := js.Publish(t.Context(), fmt.Sprintf("bunting.dead.%d.%s", seq, id), piece, jetstream.WithMsgID(fmt.Sprintf("%s.%d.2.dead1-0", id, part))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var names []string
	for _, d := range deadLetters(t, s) {
		if d.Fault != nil {
			t.Fatal(d.Fault)
		}
		names = append(names, d.Batches[0].Events[0].Name)
	}
	if diff := cmp.Diff([]string{"one", "two"}, names); diff != "" {
		t.Error(diff)
	}
}
