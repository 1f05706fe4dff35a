package litestreamtest

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "modernc.org/sqlite"
)

// The load: senders send events, each with an own distinct id, a member changes a flag, and another
// one erases persons, except every fourth.
const (
	senders         = 3
	eventsAtOnce    = 10
	erasedEvents    = 3
	remainingPerson = 4
)

// load is work for a server that continues until stop.
type load struct {
	server  *server
	stopped atomic.Bool
	running sync.WaitGroup

	mu       sync.Mutex
	sent     map[string]int // the last number by distinct id, whether it was accepted or not
	accepted map[string]int // the last number that was accepted
	errors   []error
}

// startLoad starts a load. The senders have the names of a round.
func startLoad(s *server, round string) *load {
	l := &load{server: s, sent: map[string]int{}, accepted: map[string]int{}}
	for i := range senders {
		l.repeat(func(n int) error {
			return l.capture(fmt.Sprintf("%s-sender-%d", round, i), n*eventsAtOnce, eventsAtOnce)
		})
	}
	var flag struct{ ID int }
	l.repeat(func(n int) error {
		if flag.ID == 0 {
			return s.send("POST", "/api/projects/1/feature_flags/", `{"key":"`+round+`","filters":{"groups":[{"properties":[],"rollout_percentage":0}]}}`, &flag)
		}
		return s.send("PATCH", fmt.Sprintf("/api/projects/1/feature_flags/%d/", flag.ID), fmt.Sprintf(`{"filters":{"groups":[{"properties":[],"rollout_percentage":%d}]}}`, n%101), nil)
	})
	l.repeat(func(n int) error {
		id := fmt.Sprintf("%s-person-%d", round, n)
		if err := l.capture(id, 0, erasedEvents); err != nil || n%remainingPerson == 0 {
			return err
		}
		return s.send("POST", "/api/projects/1/persons/bulk_delete/", fmt.Sprintf(`{"distinct_ids":[%q],"delete_events":true}`, id), nil)
	})
	return l
}

// repeat calls a function until the load is stopped or the function fails.
func (l *load) repeat(step func(n int) error) {
	l.running.Go(func() {
		for n := 0; !l.stopped.Load(); n++ {
			if err := step(n); err != nil {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.errors = append(l.errors, err)
				return
			}
		}
	})
}

// capture sends events with the numbers before+1, before+2 and so on.
func (l *load) capture(id string, before, events int) error {
	note := func(in map[string]int) {
		l.mu.Lock()
		defer l.mu.Unlock()
		in[id] = before + events
	}
	note(l.sent)
	err := l.server.capture(id, before+1, events)
	if err == nil {
		note(l.accepted)
	}
	return err
}

// stop stops the load. No request may have failed.
func (l *load) stop(t *testing.T) {
	t.Helper()
	for _, err := range l.end() {
		t.Error(err)
	}
}

// end stops the load and returns the errors of its requests.
func (l *load) end() []error {
	l.stopped.Store(true)
	l.running.Wait()
	return l.errors
}

// checkSteps requires that a restored server has of each sender a beginning of the events that it has
// sent, without gaps and duplicates, and either all or no events of each other person.
func (l *load) checkSteps(t *testing.T, restored *server) {
	t.Helper()
	stored := restored.steps(t)
	if len(stored) == 0 {
		t.Error("no events are restored")
	}
	for id, got := range stored {
		isSender := strings.Contains(id, "sender")
		if got.count != got.last || got.distinct != got.last || got.last > l.sent[id] || !isSender && got.last != erasedEvents {
			t.Errorf("%s: %d events, %d different ones, the last is number %d; %d were sent", id, got.count, got.distinct, got.last, l.sent[id])
		}
	}
}

// logStart returns the part of the header of SQLite's log that changes when the log restarts from its
// beginning: its salts (https://sqlite.org/fileformat2.html#walformat). It is 0 if the log is empty.
func logStart(data string) uint64 {
	f, err := os.Open(filepath.Join(data, "bunting.db-wal"))
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	var header [32]byte
	if _, err := f.ReadAt(header[:], 0); err != nil {
		return 0
	}
	return binary.BigEndian.Uint64(header[16:])
}

// awaitNewLogs waits until SQLite's log has started from its beginning several times, without which it
// would grow without bound.
func awaitNewLogs(t *testing.T, s *server, data string, times int) {
	t.Helper()
	last := logStart(data)
	s.await(t, fmt.Sprintf("the log starts again %d times", times), func() bool {
		if now := logStart(data); now != last && now != 0 {
			times, last = times-1, now
		}
		return times <= 0
	})
}

// requireEqual requires that two data folders have databases with the same tables and rows. Litestream's
// own tables are left out: Litestream writes to them after it has read the log for the last time.
func requireEqual(t *testing.T, want, got string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(want, "bunting.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	number := func(query string, args ...any) (n int) {
		t.Helper()
		if err := db.QueryRow(query, args...).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	if _, err := db.Exec(`ATTACH $1 AS restored`, filepath.Join(got, "bunting.db")); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE '\_litestream%' ESCAPE '\'`)
	if err != nil {
		t.Fatal(err)
	}
	tables := []string{"sqlite_schema"}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range tables {
		const except = `SELECT COUNT(*) FROM (SELECT * FROM %s."%s" EXCEPT SELECT * FROM %s."%s")`
		missing, extra := number(fmt.Sprintf(except, "main", name, "restored", name)), number(fmt.Sprintf(except, "restored", name, "main", name))
		all, restored := number(fmt.Sprintf(`SELECT COUNT(*) FROM main."%s"`, name)), number(fmt.Sprintf(`SELECT COUNT(*) FROM restored."%s"`, name))
		if missing > 0 || extra > 0 || all != restored {
			t.Errorf("%s: %d rows of %d are missing, and %d of %d are different", name, missing, all, extra, restored)
		}
	}
	if len(tables) < 20 || number(`SELECT COUNT(*) FROM main.event_chunks`) == 0 {
		t.Errorf("only %d tables are compared, or there are no events", len(tables))
	}
}
