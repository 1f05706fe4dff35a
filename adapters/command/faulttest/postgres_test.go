//go:build linux

package faulttest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// killsPerPostgresKill is the number of -kills for each kill of TestPostgres.
const killsPerPostgresKill = 6

// While PostgreSQL is down under load, events get 503 and flags are evaluated; afterwards the same
// process accepts events. Then the server itself is killed.
func TestPostgres(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	args := []string{"--database", db.url()}
	s := start(t, args...)
	l := newLoad(4)
	stop := l.run(s.url)
	l.awaitOK(t, 20)
	for range 2 {
		db.stop(t)
		before := l.busy.Load()
		eventually(t, "20 requests are answered 503", func() bool { return l.busy.Load() > before+20 })
		flagsWithoutDatabase(t, s)
		db.start(t)
		l.awaitOK(t, 20)
	}
	stop()
	if broken := l.broken.Load(); broken > 0 {
		t.Errorf("%d requests got no answer", broken)
	}
	a := newAudit(l.book)
	a.check(t, db.open(t), people)

	chance := random()
	for range max(1, *kills/killsPerPostgresKill) {
		stop := l.run(s.url)
		time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
		s.kill()
		stop()
		s = start(t, args...)
	}
	l.settle(t, s.url)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.check(t)
	full := newAudit(l.book)
	full.check(t, db.open(t), people)
	full.checkNoExtraEvents(t)
	t.Logf("%d events of %d persons", len(full.stored), len(full.model.persons()))
}

// A PostgreSQL server that hangs counts as unavailable: meanwhile flags that need no stored data
// are evaluated, and events get 503.
func TestPostgres_Hangs(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	s := start(t, "--database", db.url())
	l := newLoad(4)
	flag := func() (status int, err error) {
		r, err := s.client.Post(s.url+"/flags?v=2", "application/json",
			strings.NewReader(`{"api_key":"phc_demo","distinct_id":"u","flag_keys_to_evaluate":["new-onboarding"]}`))
		if err != nil {
			return 0, err
		}
		return r.StatusCode, r.Body.Close()
	}
	if status, err := flag(); status != http.StatusOK {
		t.Fatalf("/flags answers %d: %v", status, err)
	}
	stop := l.run(s.url)
	l.awaitOK(t, 20)
	thaw := db.freeze(t)
	eventually(t, "the server has found out that its database does not answer", func() bool {
		_, body := s.get(t, "/_readiness")
		return strings.Contains(body, "does not respond")
	})
	for range 2 {
		if status, err := flag(); status != http.StatusOK {
			t.Errorf("/flags answers %d: %v", status, err)
		}
	}
	late := newLoad(1)
	late.clients[0].step(s.url)
	if busy, broken := late.busy.Load(), late.broken.Load(); busy != 1 || broken != 0 {
		t.Error("events that come while the database hangs are not answered 503")
	}
	eventually(t, "those that came just before are answered 503", func() bool { return l.busy.Load() >= int64(len(l.clients)) })
	thaw()
	l.awaitOK(t, 20)
	stop()
	if broken := l.broken.Load(); broken > 0 {
		t.Errorf("%d requests were not answered", broken)
	}
	l.settle(t, s.url)
	late.settle(t, s.url)
	l.check(t)
	l.book.batches = append(l.book.batches, late.book.all()...)
	newAudit(l.book).check(t, db.open(t), people)
}

// flagsWithoutDatabase requires values of the flags that need no stored data, and an evaluation
// error for the rest (decision 29).
func flagsWithoutDatabase(t *testing.T, s *server) {
	t.Helper()
	status, body := s.flags(t, "somebody")
	var answer struct {
		Errors bool `json:"errorsWhileComputingFlags"`
		Flags  map[string]struct{ Enabled, Failed bool }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("/flags answers %d without the database: %s", status, body)
	}
	if !answer.Flags["new-onboarding"].Enabled {
		t.Errorf("new-onboarding is not on without the database: %s", body)
	}
	if beta := answer.Flags["beta-program"]; !answer.Errors || beta.Enabled || !beta.Failed {
		t.Errorf("beta-program needs what is stored and is not failed: %s", body)
	}
}
