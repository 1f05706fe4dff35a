package natstest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
)

// world is a real store and its recorder.
type world struct {
	store    *sqlstore.Store
	first    *sqlstore.BootstrapResult
	recorder *capture.Recorder
}

func newWorld(t testing.TB, ledger func(capture.Ledger) capture.Ledger) *world {
	t.Helper()
	return openWorld(t, "sqlite:"+filepath.Join(t.TempDir(), "audit.db"), ledger)
}

// openWorld opens a world on a database. others are the worlds that already use the same database,
// the first of which has created the project.
func openWorld(t testing.TB, address string, ledger func(capture.Ledger) capture.Ledger, others ...*world) *world {
	t.Helper()
	s, err := sqlstore.Open(context.Background(), pgtest.SQLiteMigrated(t, address, sqlstore.Open), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: s}
	if w.first, err = s.Bootstrap(context.Background(), sqlstore.BootstrapConfig{OwnerEmail: "owner@localhost"}); err != nil {
		t.Fatal(err)
	}
	for _, o := range others {
		w.first = o.first
	}
	var l capture.Ledger = s
	if ledger != nil {
		l = ledger(s)
	}
	w.recorder = capture.NewRecorder(capture.RecorderConfig{Ledger: l, Timeout: 2 * time.Second})
	t.Cleanup(func() {
		w.recorder.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) intake(t testing.TB, into capture.Appender) *capture.Intake {
	t.Helper()
	i, err := capture.NewIntake(capture.IntakeConfig{Keys: w.store.CaptureKeys(), Appender: into, Usage: w.store})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// process records the messages of the stream until stop is called.
func (w *world) process(t testing.TB, s capture.Stream) (p *capture.Processor, stop func()) {
	t.Helper()
	var places capture.PositionReader = w.store
	if own, ok := s.(capture.PositionReader); ok { // set by a test
		places = own
	}
	p, err := capture.NewProcessor(capture.ProcessorConfig{Stream: s, Recorder: w.recorder, Positions: places, Pause: 10 * time.Millisecond, Tries: 3})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-ended }) }
	t.Cleanup(stop)
	return p, stop
}

// eventBody is the n-th event of a sender: an anonymous visitor who is identified halfway, has
// properties that record the last event, and reads a flag.
func eventBody(key string, sender, n, total int) string {
	uuid := capture.PersonID(int64(sender+1), fmt.Sprint(n)).String()
	anon, user := fmt.Sprintf("anon-%d", sender), fmt.Sprintf("user-%d", sender)
	head := fmt.Sprintf(`"api_key":%q,"uuid":%q,"timestamp":"2026-01-01T00:00:00Z"`, key, uuid)
	switch {
	case n == total/2:
		return fmt.Sprintf(`{%s,"event":"$identify","distinct_id":%q,"properties":{"$anon_distinct_id":%q,"$set":{"identified":%d}}}`, head, user, anon, n)
	case n%5 == 4:
		return fmt.Sprintf(`{%s,"event":"$feature_flag_called","distinct_id":%q,"properties":{"$feature_flag":"f","$feature_flag_response":true}}`, head, anon)
	}
	return fmt.Sprintf(`{%s,"event":"step","distinct_id":%q,"properties":{"n":%d,"$set":{"last":%d},"$set_once":{"first":%d}}}`, head, anon, n, n, n)
}

func accept(ctx context.Context, i *capture.Intake, text string) error {
	sub, err := capture.Decode(text, capture.DecodeOptions{})
	if err != nil {
		return err
	}
	receipt, err := i.Accept(ctx, sub, capture.Origin{})
	if err == nil && receipt.Accepted != 1 {
		return fmt.Errorf("accepted %d of %s", receipt.Accepted, text)
	}
	return err
}

// load sends events from several senders, each in order and each until it is accepted, and returns
// how many retries were necessary.
func load(t testing.TB, i *capture.Intake, key string, senders, each int, pause time.Duration) (again int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for n := range each {
				for end := time.Now().Add(2 * within); ; {
					err := accept(context.Background(), i, eventBody(key, s, n, each))
					if err == nil {
						break
					}
					if !errors.Is(err, capture.ErrUnavailable) || time.Now().After(end) {
						t.Errorf("sender %d: %v", s, err)
						return
					}
					mu.Lock()
					again++
					mu.Unlock()
					time.Sleep(50 * time.Millisecond)
				}
				time.Sleep(pause)
			}
		})
	}
	wg.Wait()
	return again
}

// recorded returns all events in the order of the ledger.
func (w *world) recorded(t testing.TB) (all []capture.Record) {
	t.Helper()
	for after := int64(0); ; {
		page, err := w.store.Ledger(context.Background(), w.first.ProjectID, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		after = page[len(page)-1].ID
	}
}

// audit compares the recorded events to the acknowledged events, and people and counts to a run of
// the same events without a stream.
func (w *world) audit(t *testing.T, senders, each int, again int) {
	t.Helper()
	waitUntil(t, "all that was acknowledged is recorded", func() bool { return len(w.recorded(t)) >= senders*each })
	want := map[string]int{}
	direct := newWorld(t, nil)
	load(t, direct.intake(t, direct.recorder), direct.first.APIKey, senders, each, 0)
	for _, r := range direct.recorded(t) {
		want[r.UUID.String()]++
	}
	got := map[string]int{}
	orders := map[string][]capture.UUID{}
	for _, r := range w.recorded(t) {
		got[r.UUID.String()]++
		orders[r.DistinctID] = append(orders[r.DistinctID], r.UUID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lost (-) or doubled (+): %s", diff)
	}
	for s := range senders {
		var in []capture.UUID
		for n := range each {
			if n != each/2 {
				in = append(in, capture.PersonID(int64(s+1), fmt.Sprint(n)))
			}
		}
		if !slices.Equal(in, orders[fmt.Sprintf("anon-%d", s)]) {
			t.Errorf("the events of sender %d are in another order", s)
		}
	}
	people := func(w *world) map[string]string {
		out := map[string]string{}
		for s := range senders {
			for _, id := range []string{fmt.Sprintf("anon-%d", s), fmt.Sprintf("user-%d", s)} {
				p, err := w.store.PersonForDistinctID(context.Background(), w.first.ProjectID, id)
				if err != nil || p == nil {
					t.Fatalf("person %s: %v, %v", id, p, err)
				}
				out[id] = fmt.Sprint(p.UUID, p.Properties, p.DistinctIDs, p.Identified)
			}
		}
		return out
	}
	if diff := cmp.Diff(people(direct), people(w)); diff != "" {
		t.Errorf("people (-without a stream): %s", diff)
	}
	calls := func(w *world) (n int64) {
		list, err := w.store.FlagCalls(context.Background(), w.first.ProjectID, "f", 10)
		if err != nil || len(list) != 1 {
			t.Fatalf("flag calls %v, %v", list, err)
		}
		return list[0].Calls
	}
	if d, s := calls(direct), calls(w); d != s {
		t.Errorf("%d calls of the flag are counted, want %d", s, d)
	}
	used := func(w *world) int64 {
		n, err := w.store.Used(context.Background(), w.first.OrganizationID, capture.ResourceEvents, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	// A retried request is charged twice if its first response was lost.
	if d, s := used(direct), used(w); s < d || s > d+int64(again) {
		t.Errorf("%d events are charged, want %d, and at most %d more", s, d, again)
	}
}
