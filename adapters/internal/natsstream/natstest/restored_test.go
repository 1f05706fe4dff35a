package natstest

import (
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// saveBroker copies a broker's folder; restore replaces the folder by the copy and starts the
// broker.
func saveBroker(t testing.TB, dir string, port int) (restore func()) {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		start(t, copied, onPort(port))
	}
}

// A broker that is restored to an earlier state reuses numbers: new messages with these numbers are
// recorded, and recorded messages are not recorded a second time.
func TestStream_BrokerRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir, nil)
	at := port(t, b)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	i := w.intake(t, s)
	w.process(t, s)
	var want []string
	send := func(n int, what string) {
		t.Helper()
		for k := range n {
			name := fmt.Sprint(what, k)
			waitUntil(t, "it is accepted", func() bool {
				return accept(t.Context(), i, fmt.Sprintf(`{"api_key":%q,"event":%q,"distinct_id":"ann"}`, w.first.APIKey, name)) == nil
			})
			want = append(want, name)
		}
	}
	send(5, "kept")
	waitUntil(t, "all is recorded", func() bool { return len(w.recorded(t)) == len(want) })
	stop(b)
	restore := saveBroker(t, dir, at)
	b = start(t, dir, onPort(at))
	send(20, "lost")
	waitUntil(t, "all is recorded", func() bool { return len(w.recorded(t)) == len(want) })
	stop(b)
	restore()
	send(10, "new")
	waitUntil(t, "all is recorded", func() bool { return len(w.recorded(t)) >= len(want) })
	if diff := cmp.Diff(want, w.names(t)); diff != "" {
		t.Errorf("lost (-) or doubled (+): %s", diff)
	}
}

// A reader that has not yet removed its recorded messages removes no messages if their numbers were
// reused.
func TestStream_RestoredBehindAReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir, nil)
	at := port(t, b)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	i := w.intake(t, s)
	stop(b)
	restore := saveBroker(t, dir, at)
	b = start(t, dir, onPort(at))
	waitUntil(t, "the stream is back", func() bool {
		return accept(t.Context(), i, fmt.Sprintf(`{"api_key":%q,"event":"old","distinct_id":"ann"}`, w.first.APIKey)) == nil
	})
	w.send(t, i, "old", "old")
	partition := partitionOf(t, b.ClientURL())
	r, err := s.Open(t.Context(), capture.StreamPosition{Stream: s.ID(), Partition: partition})
	if err != nil {
		t.Fatal(err)
	}
	var last capture.StreamPosition
	for n := 0; n < 3; {
		list, err := r.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(list)
		last = list[len(list)-1].StreamPosition
	}
	stop(b)
	restore()
	waitUntil(t, "the stream is back", func() bool {
		return accept(t.Context(), i, fmt.Sprintf(`{"api_key":%q,"event":"new","distinct_id":"ann"}`, w.first.APIKey)) == nil
	})
	w.send(t, i, "new", "new", "new")
	if err := r.Acknowledge(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.process(t, s)
	waitUntil(t, "the new ones are recorded", func() bool { return len(w.recorded(t)) == 4 })
}
