package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// blockingLedger stores changes in maps. A test can make it fail and block.
type blockingLedger struct {
	mu        sync.Mutex
	keys      map[EventKey]bool
	people    map[string]*Person
	saved     []Changes
	commits   int
	requested []string // distinct ids passed to People

	gate  chan struct{}          // if not nil, each commit receives from it
	begun chan struct{}          // if not nil, each commit sends to it
	fail  func(c *Changes) error // may be nil
	down  error                  // if not nil, every commit fails
}

func (l *blockingLedger) HasSingleWriter() bool { return true }

func (l *blockingLedger) Commit(ctx context.Context, projects []int64, work func(Tx) error) error {
	if l.begun != nil {
		l.begun <- struct{}{}
	}
	if l.gate != nil {
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits++
	if l.down != nil {
		return l.down
	}
	tx := &blockingTx{ledger: l}
	if err := work(tx); err != nil {
		return err
	}
	for _, k := range tx.claimed {
		l.keys[k] = true
	}
	if tx.changes != nil {
		l.saved = append(l.saved, *tx.changes)
		persons := map[UUID]*Person{}
		for _, p := range tx.changes.Persons {
			persons[p.UUID] = p.Person
			for id, old := range l.people {
				if old.UUID == p.UUID {
					l.people[id] = p.Person
				}
			}
		}
		for _, m := range tx.changes.Merges {
			for id, p := range l.people {
				if p.UUID == m.From {
					l.people[id] = persons[m.Into]
				}
			}
		}
		for _, id := range tx.changes.IDs {
			p := persons[id.Person]
			for _, old := range l.people {
				if p == nil && old.UUID == id.Person {
					p = old
				}
			}
			l.people[id.DistinctID] = p
		}
	}
	return nil
}

type blockingTx struct {
	Tx      // for methods that are not used here
	ledger  *blockingLedger
	claimed []EventKey
	changes *Changes
}

func (tx *blockingTx) Claim(keys []EventKey) ([]bool, error) {
	fresh := make([]bool, len(keys))
	for i, k := range keys {
		if fresh[i] = !tx.ledger.keys[k] && !slices.Contains(tx.claimed, k); fresh[i] {
			tx.claimed = append(tx.claimed, k)
		}
	}
	return fresh, nil
}

func (tx *blockingTx) People(_ int64, ids []string) ([]Identity, error) {
	out := make([]Identity, len(ids))
	for i, id := range ids {
		tx.ledger.requested = append(tx.ledger.requested, id)
		out[i] = Identity{Person: tx.ledger.people[id]}
	}
	return out, nil
}

func (tx *blockingTx) GroupTypes(int64) ([]string, error) { return nil, nil }

func (tx *blockingTx) Groups(_ int64, keys []GroupID) ([]*Group, error) {
	return make([]*Group, len(keys)), nil
}

func (tx *blockingTx) Save(c *Changes) error {
	if tx.ledger.fail != nil {
		if err := tx.ledger.fail(c); err != nil {
			return err
		}
	}
	tx.changes = c
	return nil
}

func newBlockingLedger() *blockingLedger {
	return &blockingLedger{keys: map[EventKey]bool{}, people: map[string]*Person{}}
}

var eventCount atomic.Uint32

// someEvent returns an event with a unique uuid.
func someEvent(name, distinctID string) Event {
	n := eventCount.Add(1)
	return Event{UUID: UUID{1, byte(n >> 8), byte(n)}, Name: name, DistinctID: distinctID, Properties: "{}", Timestamp: time.Unix(1767225600, 0).UTC()}
}

func batchOf(events ...Event) *Batch { return &Batch{ProjectID: 1, Events: events} }

func startRecorder(t *testing.T, c RecorderConfig) *Recorder {
	t.Helper()
	r := NewRecorder(c)
	t.Cleanup(r.Close)
	return r
}

// Decision 13: all waiting requests share one transaction.
func TestRecorder_GroupCommit(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}), make(chan struct{}, 10)
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	var waits sync.WaitGroup
	send := func(id string) {
		b := batchOf(someEvent("e", id))
		waits.Go(func() {
			if err := r.Append(t.Context(), b); err != nil {
				t.Errorf("%s: %v", id, err)
			}
		})
	}
	send("first")
	<-ledger.begun // it is being written; the next nine accumulate
	for i := range 9 {
		send(fmt.Sprint("u", i))
	}
	for r.Stats().Waiting < 9 {
		time.Sleep(time.Millisecond)
	}
	ledger.gate <- struct{}{}
	ledger.gate <- struct{}{}
	waits.Wait()
	if ledger.commits != 2 {
		t.Errorf("%d commits, want 2: one for the first, one for the nine that waited", ledger.commits)
	}
	if s := r.Stats(); s.Events != 10 || s.Commits != 2 || s.Persons != 10 {
		t.Errorf("stats %+v", s)
	}
}

// §13.3: a second delivery changes no state, within one commit and in another one.
func TestRecorder_Duplicates(t *testing.T) {
	ledger := newBlockingLedger()
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	e := someEvent("e", "u")
	for range 2 {
		if err := r.Append(t.Context(), batchOf(e, e)); err != nil {
			t.Fatal(err)
		}
	}
	stored := 0
	for _, c := range ledger.saved {
		stored += len(c.Events)
	}
	if s := r.Stats(); stored != 1 || s.Duplicates != 3 || s.Events != 1 || s.Persons != 1 {
		t.Errorf("%d stored, stats %+v", stored, s)
	}
}

// A batch that the store rejects does not fail other batches.
func TestRecorder_OneBadBatch(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}, 100), make(chan struct{}, 100)
	ledger.fail = func(c *Changes) error {
		for _, e := range c.Events {
			if e.Name == "poison" {
				return errors.New("cannot be stored")
			}
		}
		return nil
	}
	var failures int
	r := startRecorder(t, RecorderConfig{Ledger: ledger, OnFailure: func(error) { failures++ }})
	results := make(chan error, 5)
	send := func(name string) {
		b := batchOf(someEvent(name, name))
		go func() { results <- r.Append(t.Context(), b) }()
	}
	send("hold")
	<-ledger.begun
	for _, name := range []string{"a", "b", "poison", "c"} {
		send(name)
	}
	for r.Stats().Waiting < 4 {
		time.Sleep(time.Millisecond)
	}
	for range 10 {
		ledger.gate <- struct{}{}
	}
	rejected := 0
	for range 5 {
		if err := <-results; errors.Is(err, ErrUnavailable) {
			rejected++
		} else if err != nil {
			t.Error(err)
		}
	}
	r.Close()
	if rejected != 1 || failures != 2 {
		t.Errorf("%d batches were refused, want 1; %d commits failed, want 2: that of all and that of the bad one", rejected, failures)
	}
}

// §13.6: if the store fails, all batches are ErrUnavailable, and not every one of many is
// retried. After the failure the recorder works normally.
func TestRecorder_StoreDown(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}, 1000), make(chan struct{}, 1000)
	ledger.down = errors.New("disk full")
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	results := make(chan error, 101)
	send := func() {
		b := batchOf(someEvent("e", "u"))
		go func() { results <- r.Append(context.Background(), b) }()
	}
	send()
	<-ledger.begun
	for range 100 {
		send()
	}
	for r.Stats().Waiting < 100 {
		time.Sleep(time.Millisecond)
	}
	for range 200 {
		ledger.gate <- struct{}{}
	}
	for range 101 {
		if err := <-results; !errors.Is(err, ErrUnavailable) || !errors.Is(err, ledger.down) {
			t.Fatalf("%v, want ErrUnavailable and the cause", err)
		}
	}
	if ledger.commits > 6 {
		t.Errorf("%d attempts for 101 batches", ledger.commits)
	}
	ledger.mu.Lock()
	ledger.down = nil
	ledger.mu.Unlock()
	if err := r.Append(t.Context(), batchOf(someEvent("e", "u"))); err != nil {
		t.Errorf("after the store is back: %v", err)
	}
}

// Backpressure is bounded: one batch too many is rejected immediately, and a slow store does
// not block its callers forever.
func TestRecorder_Bounds(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}), make(chan struct{}, 10)
	r := NewRecorder(RecorderConfig{Ledger: ledger, MaxWaiting: 1, Timeout: 50 * time.Millisecond})
	late := make(chan error, 2)
	go func() { late <- r.Append(context.Background(), batchOf(someEvent("e", "u"))) }()
	<-ledger.begun
	go func() { late <- r.Append(context.Background(), batchOf(someEvent("e", "u"))) }()
	for r.Stats().Waiting < 1 {
		time.Sleep(time.Millisecond)
	}
	if err := r.Append(t.Context(), batchOf(someEvent("e", "u"))); !errors.Is(err, ErrUnavailable) {
		t.Errorf("one too many: %v", err)
	}
	for range 2 {
		if err := <-late; !errors.Is(err, ErrUnavailable) {
			t.Errorf("a slow store: %v", err)
		}
	}
	close(ledger.gate)
	r.Close()
	if s := r.Stats(); s.Rejected != 1 || s.TimedOut != 2 || s.Events != 1 {
		t.Errorf("stats %+v: the second batch was given up before its commit began", s)
	}
	if err := r.Append(t.Context(), batchOf(someEvent("e", "u"))); !errors.Is(err, ErrUnavailable) {
		t.Errorf("after Close: %v", err)
	}
}

// If a caller's context is canceled before its commit begins, its events are not recorded.
func TestRecorder_CallerCanceled(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}, 10), make(chan struct{}, 10)
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	first := make(chan error, 1)
	go func() { first <- r.Append(context.Background(), batchOf(someEvent("first", "u"))) }()
	<-ledger.begun
	ctx, cancel := context.WithCancel(context.Background())
	canceled := make(chan error, 1)
	go func() { canceled <- r.Append(ctx, batchOf(someEvent("gone", "u"))) }()
	for r.Stats().Waiting < 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-canceled; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the caller has gone", err)
	}
	ledger.gate <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
	ledger.gate <- struct{}{}
	if err := r.Append(t.Context(), batchOf(someEvent("last", "u"))); err != nil {
		t.Error(err)
	}
	var names []string
	for _, c := range ledger.saved {
		for _, e := range c.Events {
			names = append(names, e.Name)
		}
	}
	if diff := cmp.Diff([]string{"first", "last"}, names); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// Close records the waiting batches.
func TestRecorder_CloseDrains(t *testing.T) {
	ledger := newBlockingLedger()
	ledger.gate, ledger.begun = make(chan struct{}, 10), make(chan struct{}, 10)
	r := NewRecorder(RecorderConfig{Ledger: ledger})
	results := make(chan error, 2)
	go func() { results <- r.Append(context.Background(), batchOf(someEvent("a", "u"))) }()
	<-ledger.begun
	go func() { results <- r.Append(context.Background(), batchOf(someEvent("b", "u"))) }()
	for r.Stats().Waiting < 1 {
		time.Sleep(time.Millisecond)
	}
	ledger.gate <- struct{}{}
	ledger.gate <- struct{}{}
	r.Close()
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// Known persons are read once, and a second time after Transact.
func TestRecorder_CachesPeople(t *testing.T) {
	ledger := newBlockingLedger()
	r := startRecorder(t, RecorderConfig{Ledger: ledger})
	send := func(id string) {
		t.Helper()
		if err := r.Append(t.Context(), batchOf(someEvent("e", id))); err != nil {
			t.Fatal(err)
		}
	}
	send("u")
	send("u")
	if err := r.Transact(t.Context(), 1, func(Tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	send("u")
	if diff := cmp.Diff([]string{"u", "u"}, ledger.requested); diff != "" {
		t.Errorf("looked up (-want +got):\n%s", diff)
	}
}
