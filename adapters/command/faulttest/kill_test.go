//go:build linux

package faulttest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// After SIGKILL at any moment, under load and during the start, the server recovers by itself,
// accepted events are stored exactly once, and persons and groups equal the result of a replay of
// the events (decision 13, §13.2, §13.3).
func TestKill_SQLite(t *testing.T) {
	t.Parallel()
	const inOneFolder = 200
	for remaining := *kills; remaining > 0; remaining -= inOneFolder {
		killFolder(t, min(remaining, inOneFolder))
	}
}

func killFolder(t *testing.T, times int) {
	dir := t.TempDir()
	chance := random()
	l := newLoad(4)
	a := newAudit(l.book)
	for n := range times {
		if n%8 == 7 { // a server that is killed before it listens
			early, _ := launch(t, nil, onSQLite(dir)...)
			time.Sleep(time.Duration(chance.IntN(25_000)) * time.Microsecond)
			early.kill()
		}
		s := start(t, onSQLite(dir)...)
		how := events
		if n%10 == 9 {
			how = people
		}
		a.check(t, openFolder(t, dir), how) // the state that the last server left
		stop := l.run(s.url)
		time.Sleep(time.Duration(chance.IntN(200_000)) * time.Microsecond)
		s.kill()
		stop()
	}
	s := start(t, onSQLite(dir)...)
	l.settle(t, s.url)
	if code := s.stop(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
	l.check(t)
	full := newAudit(l.book)
	full.check(t, openFolder(t, dir), people)
	full.checkNoExtraEvents(t)
	isIntact(t, dir)
	t.Logf("%d events of %d persons, %d groups", len(full.stored), len(full.model.persons()), len(full.model.groups))
	if minEvents := 5 * times; len(full.stored) < minEvents {
		t.Errorf("only %d events were stored: that is no load", len(full.stored))
	}
}

// A first start that is killed leaves a folder that the next start can use.
func TestKill_FirstStart(t *testing.T) {
	t.Parallel()
	chance := random()
	for range 12 {
		dir := t.TempDir()
		first, _ := launch(t, nil, onSQLite(dir)...)
		time.Sleep(time.Duration(5_000+chance.IntN(45_000)) * time.Microsecond)
		first.kill()
		s := start(t, onSQLite(dir)...)
		l := newLoad(1)
		if !l.clients[0].step(s.url) {
			t.Error("the first batch is not accepted")
		}
		newAudit(l.book).check(t, openFolder(t, dir), people)
		s.kill()
	}
}

// After SIGTERM under load, requests under way are completed and the exit code is 0.
func TestTerminate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	l := newLoad(8)
	stop := l.run(s.url)
	l.awaitOK(t, 50)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	stop()
	l.check(t)
	a := newAudit(l.book)
	a.check(t, openFolder(t, dir), people)
}

// A second server on the same folder ends with an error that states the reason, and the folder is
// free at once when the first server is killed.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, onSQLite(dir)...)
	second, _ := launch(t, nil, onSQLite(dir)...)
	if code := second.exitCode(t); code != 1 {
		t.Errorf("the second server: exit code %d, want 1", code)
	}
	for _, part := range []string{"in use by another server", "stop that one", "PostgreSQL"} {
		if !strings.Contains(second.log.String(), part) {
			t.Errorf("the second server does not say %q: %s", part, second.log)
		}
	}
	if status, _ := first.get(t, "/_readiness"); status != http.StatusOK {
		t.Errorf("the first server is not ready any more: %d", status)
	}
	first.kill()
	start(t, onSQLite(dir)...) // fails if the folder is not free
}
