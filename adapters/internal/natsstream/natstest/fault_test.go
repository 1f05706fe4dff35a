package natstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/capture"
)

// failingLedger is a ledger that fails at intervals, before and after its commit, and always for
// events with the name poison.
type failingLedger struct {
	capture.Ledger
	every atomic.Int64 // 0 means never
	n     atomic.Int64
	// down causes all commits to fail.
	down atomic.Bool
	// mended allows poison to succeed.
	mended atomic.Bool
	// mute causes warnings to fail as well, as they do for a deleted project.
	mute atomic.Bool
}

var errStore = errors.New("the store fails, as the test wants it")

func (f *failingLedger) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	if f.down.Load() {
		return errStore
	}
	n, every := f.n.Add(1), f.every.Load()
	if every > 0 && n%every == 1 {
		return errStore
	}
	err := f.Ledger.Commit(ctx, projects, func(tx capture.Tx) error { return work(failingTx{tx, f}) })
	if err == nil && every > 0 && n%every == 2 {
		return errStore // the caller does not learn that it was committed
	}
	return err
}

type failingTx struct {
	capture.Tx
	f *failingLedger
}

func (tx failingTx) Save(c *capture.Changes) error {
	for i := range c.Events {
		if c.Events[i].Name == "poison" && !tx.f.mended.Load() {
			return errStore
		}
	}
	if len(c.Warnings) > 0 && tx.f.mute.Load() {
		return errStore
	}
	return tx.Tx.Save(c)
}

func fails(f *failingLedger) func(capture.Ledger) capture.Ledger {
	return func(l capture.Ledger) capture.Ledger { f.Ledger = l; return f }
}

// "NATS node killed under load: nothing acknowledged is lost or doubled."
func TestStream_NodeKilledUnderLoad(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: c.url(), Replicas: 3, MaxBytes: 256 << 20})
	_, stopProcessing := w.process(t, s)
	const senders, each = 8, 120
	result := make(chan int)
	go func() { result <- load(t, w.intake(t, s), w.first.APIKey, senders, each, 20*time.Millisecond) }()
	for i := range c.servers { // each of them, which includes the leader
		waitUntil(t, "there is load", func() bool { return s.Stats().Appended > uint64(20*(i+1)) })
		stop(c.servers[i])
		time.Sleep(time.Second) // the load continues meanwhile
		c.start(i)
		waitUntil(t, "the broker is one of three again", func() bool {
			return c.servers[i].JetStreamEnabled() && c.servers[i].JetStreamIsCurrent() && c.servers[i].JetStreamIsStreamCurrent("$G", "bunting_events")
		})
	}
	again := <-result
	t.Logf("%d requests were sent again, %+v", again, s.Stats())
	w.audit(t, senders, each, again)
	stopProcessing()
}

// The only broker is unavailable for a while and keeps its files.
func TestStream_BrokerRestarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, dir, nil)
	at, url := port(t, b), b.ClientURL()
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: url, MaxBytes: 256 << 20})
	w.process(t, s)
	const senders, each = 8, 60
	result := make(chan int)
	go func() { result <- load(t, w.intake(t, s), w.first.APIKey, senders, each, 10*time.Millisecond) }()
	waitUntil(t, "there is load", func() bool { return s.Stats().Appended > 20 })
	stop(b)
	time.Sleep(500 * time.Millisecond)
	start(t, dir, onPort(at))
	w.audit(t, senders, each, <-result)
}

// The processor is killed at random times, and the store fails at intervals, also after it has
// committed: every event, every charge and every count is stored exactly once.
func TestProcessor_KilledAndStoreFailing(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	f := &failingLedger{}
	w := newWorld(t, fails(f))
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	const senders, each = 6, 60
	result := make(chan int)
	go func() { result <- load(t, w.intake(t, s), w.first.APIKey, senders, each, 5*time.Millisecond) }()
	f.every.Store(5)
	for range 8 {
		p, stop := w.process(t, s)
		waitUntil(t, "something is recorded", func() bool { return p.Stats().Messages > 0 || len(w.recorded(t)) == senders*each })
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		stop()
	}
	f.every.Store(0)
	w.process(t, s)
	again := <-result
	if again != 0 {
		t.Errorf("%d requests had to be sent again; the stream was there", again)
	}
	w.audit(t, senders, each, again)
}

// Two servers read the same partitions at the same time, which may happen for a short time: each
// message is recorded by one of them.
func TestProcessor_TwoReadTheSame(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	w.process(t, unsharedStream{s})
	w.process(t, unsharedStream{s})
	const senders, each = 6, 60
	again := load(t, w.intake(t, s), w.first.APIKey, senders, each, time.Millisecond)
	w.audit(t, senders, each, again)
}

// An event that the store rejects becomes a dead letter, with a warning; the other events are
// recorded. The dead letter can be requeued.
func TestProcessor_DeadLetter(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	f := &failingLedger{}
	w := newWorld(t, fails(f))
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	i := w.intake(t, s)
	send := func(name string) {
		t.Helper()
		if err := accept(t.Context(), i, fmt.Sprintf(`{"api_key":%q,"event":%q,"distinct_id":"ann"}`, w.first.APIKey, name)); err != nil {
			t.Fatal(err)
		}
	}
	send("before")
	send("poison")
	send("after")
	// A message that cannot be parsed.
	garbage(t, b.ClientURL())
	p, stopProcessing := w.process(t, s)
	waitUntil(t, "two are dead letters", func() bool { return p.Stats().DeadLetters == 2 })
	stopProcessing()
	if all := w.recorded(t); len(all) != 2 || all[0].Name != "before" || all[1].Name != "after" {
		t.Errorf("%d events are recorded: %+v", len(all), all)
	}
	warnings, err := w.store.Warnings(t.Context(), w.first.ProjectID, 10, 0)
	if err != nil || len(warnings) != 1 || warnings[0].Type != capture.WarnDeadLetter || warnings[0].Count != 1 {
		t.Errorf("warnings %+v, %v", warnings, err)
	}
	var letters []*natsstream.DeadLetter
	list := func() {
		t.Helper()
		letters = nil
		if err := s.DeadLetters(t.Context(), func(d *natsstream.DeadLetter) error { letters = append(letters, d); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if list(); len(letters) != 2 || letters[0].Batches[0].Events[0].Name != "poison" || letters[1].Fault == nil {
		t.Fatalf("dead letters %+v", letters)
	}
	if err := s.Delete(t.Context(), letters[1]); err != nil {
		t.Error(err)
	}
	if err := s.Requeue(t.Context(), letters[0]); err != nil {
		t.Error(err)
	}
	if list(); len(letters) != 0 {
		t.Errorf("dead letters %+v are left", letters)
	}
	f.mended.Store(true)
	w.process(t, s)
	waitUntil(t, "it is recorded", func() bool { return len(w.recorded(t)) == 3 })
	if n, err := w.store.Used(t.Context(), w.first.OrganizationID, capture.ResourceEvents, time.Now()); err != nil || n != 3 {
		t.Errorf("%d events are charged (%v), want 3", n, err)
	}
}

// Events above the broker's maximum payload are sent in parts.
func TestStream_LargerThanMaxPayload(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), smallPayload)
	w := newWorld(t, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	other := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	w.process(t, s)
	big := random(900_000)
	done := make(chan error)
	for _, x := range []*natsstream.Stream{s, other} { // their parts must not mix
		i := w.intake(t, x)
		go func() {
			var err error
			for n := range 10 {
				err = errors.Join(err, accept(context.Background(), i, fmt.Sprintf(`{"api_key":%q,"event":"%d","distinct_id":"ann","properties":{"x":%q}}`, w.first.APIKey, n, big)))
			}
			done <- err
		}()
	}
	if err := errors.Join(<-done, <-done); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "all are recorded", func() bool { return len(w.recorded(t)) == 20 })
	for _, r := range w.recorded(t) {
		if !strings.Contains(r.Properties, big) {
			t.Fatalf("event %s is damaged", r.Name)
		}
	}
}

func TestConnect_Errors(t *testing.T) {
	t.Parallel()
	plain := start(t, t.TempDir(), withoutJetStream)
	locked := start(t, t.TempDir(), withPassword)
	full := start(t, t.TempDir(), nil)
	for name, tt := range map[string]struct {
		c    natsstream.Config
		want string
	}{
		"nobody there":  {natsstream.Config{URL: fmt.Sprintf("nats://me:secret@127.0.0.1:%d", freePort(t)), Patience: time.Second}, "check that the broker is running"},
		"no JetStream":  {natsstream.Config{URL: plain.ClientURL(), Patience: 5 * time.Second}, "nats-server -js -sd DIR"},
		"no password":   {natsstream.Config{URL: locked.ClientURL()}, "user and password"},
		"no room":       {natsstream.Config{URL: full.ClientURL(), MaxBytes: 1 << 40}, "choose a smaller stream"},
		"too few of it": {natsstream.Config{URL: full.ClientURL(), Replicas: 3, MaxBytes: 1 << 20, Patience: 5 * time.Second}, "replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := natsstream.Connect(t.Context(), tt.c)
			if err == nil {
				s.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, want something of %q", err, tt.want)
			}
		})
	}
}
