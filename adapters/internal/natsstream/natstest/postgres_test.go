package natstest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/adapters/internal/natsstream"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
)

// stallingLedger is the ledger of a server that stalls during a commit, before its transaction or
// at its end.
type stallingLedger struct {
	capture.Ledger
	inside  bool
	armed   atomic.Bool
	stalled chan struct{} // closed when it has stalled
	goOn    chan struct{}
	once    sync.Once
}

func (l *stallingLedger) stall() {
	if l.armed.Load() {
		l.once.Do(func() {
			close(l.stalled)
			<-l.goOn
		})
	}
}

func (l *stallingLedger) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	if !l.inside {
		l.stall()
	}
	return l.Ledger.Commit(context.WithoutCancel(ctx), projects, func(tx capture.Tx) error {
		err := work(tx)
		if l.inside && len(projects) > 0 {
			l.stall()
		}
		return err
	})
}

// Two servers share the partitions on one PostgreSQL. One stalls during a commit and loses its
// broker; the other continues with its partitions; then the first one commits. Every event, charge
// and count is stored exactly once.
func TestPostgres_StaleCommit(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]bool{"before its transaction": false, "at the end of its transaction": true} {
		t.Run(name, func(t *testing.T) {
			b := start(t, t.TempDir(), nil)
			address := pgtest.PostgresMigrated(t, sqlstore.Open)
			l := &stallingLedger{inside: inside, stalled: make(chan struct{}), goOn: make(chan struct{})}
			one := openWorld(t, address, func(inner capture.Ledger) capture.Ledger { l.Ledger = inner; return l })
			two := openWorld(t, address, nil, one)
			c := natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20, Lease: 2 * time.Second}
			first, err := natsstream.Connect(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			closeFirst := sync.OnceFunc(first.Close)
			t.Cleanup(closeFirst)
			second := connect(t, c)
			_, stopOne := one.process(t, first)
			waitUntil(t, "the first one reads", func() bool { return first.Stats().Partitions == natsstream.Partitions })
			l.armed.Store(true)
			const senders, each = 4, 40
			result := make(chan int)
			go func() {
				result <- load(t, two.intake(t, second), two.first.APIKey, senders, each, 5*time.Millisecond)
			}()
			<-l.stalled
			closeFirst() // its leases are not deleted
			p, _ := two.process(t, second)
			if again := <-result; again != 0 {
				t.Errorf("%d requests had to be sent again", again)
			}
			if inside { // the first one has the project locked until it continues
				waitUntil(t, "the second one tries", func() bool { return p.Stats().Failures > 0 })
			} else {
				waitUntil(t, "the second one has recorded all", func() bool { return len(two.recorded(t)) == senders*each })
			}
			close(l.goOn)
			two.audit(t, senders, each, 0)
			stopOne()
			two.audit(t, senders, each, 0)
		})
	}
}

// Both servers read every partition all the time, and one is stopped.
func TestPostgres_TwoReadTheSame(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	address := pgtest.PostgresMigrated(t, sqlstore.Open)
	one := openWorld(t, address, nil)
	two := openWorld(t, address, nil, one)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	_, stopOne := one.process(t, unsharedStream{s})
	two.process(t, unsharedStream{s})
	const senders, each = 6, 40
	result := make(chan int)
	go func() {
		result <- load(t, two.intake(t, s), two.first.APIKey, senders, each, time.Millisecond)
	}()
	waitUntil(t, "half is recorded", func() bool { return len(two.recorded(t)) >= senders*each/2 })
	stopOne()
	two.audit(t, senders, each, <-result)
}

// A database that stores the position and not the events, because of a failure of its own, causes
// no dead letters, however long it lasts.
func TestPostgres_FailsForReasonsOfItsOwn(t *testing.T) {
	t.Parallel()
	b := start(t, t.TempDir(), nil)
	address := pgtest.PostgresMigrated(t, sqlstore.Open)
	w := openWorld(t, address, nil)
	s := connect(t, natsstream.Config{URL: b.ClientURL(), MaxBytes: 256 << 20})
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	exec := func(text string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	// Like a full disk on which small writes succeed.
	exec(`CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE disk_full; END $$ LANGUAGE plpgsql`)
	exec(`CREATE TRIGGER full_disk BEFORE INSERT ON event_chunks EXECUTE FUNCTION full_disk()`)
	w.send(t, w.intake(t, s), "a", "b")
	p, _ := w.process(t, s) // three attempts, at least 10 ms apart
	waitUntil(t, "it is tried often", func() bool { return p.Stats().Failures > 7 })
	if n := len(deadLetters(t, s)); n != 0 || p.Stats().DeadLetters != 0 {
		t.Errorf("%d dead letters", n)
	}
	exec(`DROP TRIGGER full_disk ON event_chunks`)
	waitUntil(t, "they are recorded", func() bool { return len(w.recorded(t)) == 2 })
}
