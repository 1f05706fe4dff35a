package queries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// memoryRuns is a RunStore in memory. All its methods return err if it is set.
type memoryRuns struct {
	mu      sync.Mutex
	runs    map[runName]StoredRun
	deleted time.Time // the bound of the latest DeleteRuns
	bounds  RunBounds
	updates int
	err     error
}

func (m *memoryRuns) BeginRun(_ context.Context, r *StoredRun, unseen time.Time, b RunBounds) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bounds = b
	old, exists := m.runs[runName{r.Project, r.ID}]
	if m.err != nil || exists && !old.Ended && !old.Seen.Before(unseen) {
		return false, m.err
	}
	m.runs[runName{r.Project, r.ID}] = *r
	return true, nil
}

func (m *memoryRuns) UpdateRun(_ context.Context, r *StoredRun) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.updates++
	old, exists := m.runs[runName{r.Project, r.ID}]
	if m.err != nil || !exists || old.Ended || old.Server != r.Server {
		return false, m.err
	}
	m.runs[runName{r.Project, r.ID}] = *r
	return true, nil
}

func (m *memoryRuns) Run(_ context.Context, project int64, id string) (*StoredRun, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, exists := m.runs[runName{project, id}]
	if m.err != nil || !exists {
		return nil, m.err
	}
	return &r, nil
}

func (m *memoryRuns) DeleteRuns(_ context.Context, before time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deleted = before
	return m.err
}

// change modifies the stored run x of project 1.
func (m *memoryRuns) change(change func(*StoredRun)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.runs[runName{1, "x"}]
	change(&r)
	m.runs[runName{1, "x"}] = r
}

// fail sets the error of all methods.
func (m *memoryRuns) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// withServers runs a test with two servers of one database, on which queries take a minute.
func withServers(t *testing.T, work func(t *testing.T, m *memoryRuns, a, b *Service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, h, n := &memoryRuns{runs: map[runName]StoredRun{}}, &fakeSource{takes: time.Minute}, 0
		var servers []*Service
		for range 2 {
			d, err := New(Config{Source: h, States: h, RunStore: m, NewID: func() string { n++; return fmt.Sprint("id ", n) }})
			if err != nil {
				t.Fatal(err)
			}
			servers = append(servers, d)
		}
		work(t, m, servers[0], servers[1])
		servers[0].Close()
		servers[1].Close()
	})
}

// begin begins the run x of project 1.
func begin(t *testing.T, d *Service) {
	t.Helper()
	r := request(1, trend, ForceAsync)
	r.ID = "x"
	if _, err := d.Execute(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// kindOf returns the kind of an *Error, and false for other errors.
func kindOf(err error) (Kind, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Kind, true
}

// §1.5: every server of the database answers for a run, with the same status and result.
func TestBoard_OtherServer(t *testing.T) {
	withServers(t, func(t *testing.T, m *memoryRuns, a, b *Service) {
		begin(t, a)
		time.Sleep(2 * time.Second)
		s, err := b.Status(t.Context(), 1, "x", true)
		if err != nil || s.Complete || s.Failed || s.Pickup == nil || s.Results != nil || s.Progress == nil || s.Progress.EstimatedRows != 7 {
			t.Errorf("while it runs: %+v, %v", s, err)
		}
		if s, err = b.Status(t.Context(), 1, "x", false); err != nil || s.Progress != nil {
			t.Errorf("without progress: %+v, %v", s, err)
		}
		if _, err = b.Status(t.Context(), 2, "x", false); err == nil {
			t.Error("another project reads the run")
		}
		r := request(1, trend, ForceAsync)
		r.ID = "x"
		if kind, ok := kindOf(func() error { _, err := b.Execute(t.Context(), r); return err }()); !ok || kind != Conflict {
			t.Errorf("the same name on the other server: %v", kind)
		}
		time.Sleep(time.Minute)
		ours, err := a.Status(t.Context(), 1, "x", false)
		if err != nil || !ours.Complete {
			t.Fatalf("%+v, %v", ours, err)
		}
		theirs, err := b.Status(t.Context(), 1, "x", false)
		if err != nil {
			t.Fatal(err)
		}
		sameJSON(t, "the status on both servers", string(wire.MustEncode(ours)), wire.MustEncode(theirs))
		if text, err := b.Cancel(t.Context(), 1, "x"); text != "Query already completed" || err != nil {
			t.Errorf("after the end: %q, %v", text, err)
		}
		time.Sleep(runTTL + time.Second)
		if kind, ok := kindOf(func() error { _, err := b.Status(t.Context(), 1, "x", false); return err }()); !ok || kind != NotFound {
			t.Errorf("after 20 minutes: %v", kind)
		}
		if text, err := b.Cancel(t.Context(), 1, "x"); text != "Query not found" || err != nil {
			t.Errorf("after 20 minutes: %q, %v", text, err)
		}
	})
}

// §1.5: a run may be canceled on any server; the one that computes notices it with its next update,
// and its result is not stored.
func TestBoard_CancelOnOtherServer(t *testing.T) {
	withServers(t, func(t *testing.T, m *memoryRuns, a, b *Service) {
		begin(t, a)
		time.Sleep(time.Second)
		if text, err := b.Cancel(t.Context(), 1, "x"); text != "Query cancelled" || err != nil {
			t.Fatalf("%q, %v", text, err)
		}
		if text, err := b.Cancel(t.Context(), 1, "x"); text != "Query already completed" || err != nil {
			t.Errorf("a second time: %q, %v", text, err)
		}
		time.Sleep(publishInterval)
		synctest.Wait()
		for name, d := range map[string]*Service{"the server of the run": a, "the other server": b} {
			s, err := d.Status(t.Context(), 1, "x", false)
			if err != nil || !s.Complete || !s.Failed || !s.ClientError || *s.ErrorMessage != "Query was cancelled" || s.Results != nil || s.End == nil || s.Expiration == nil {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
		}
		begin(t, b) // its name is free again, on any server
	})
}

// A server whose runs were not updated for more than a minute has stopped. Its runs have failed by no
// fault of the query, and their names are free.
func TestBoard_LostServer(t *testing.T) {
	withServers(t, func(t *testing.T, m *memoryRuns, a, b *Service) {
		begin(t, a)
		a.Close()
		stopped := time.Now()
		for after, lost := range map[time.Duration]bool{lostAfter: false, lostAfter + 1: true} {
			m.change(func(r *StoredRun) {
				r.Seen, r.Ended, r.Result = stopped.Add(-after), false, nil
				r.Status = wire.MustEncode(map[string]any{"id": "x", "complete": false})
			})
			s, err := b.Status(t.Context(), 1, "x", false)
			if err != nil || s.Complete != lost || s.Failed != lost || s.ClientError {
				t.Errorf("%v after the latest update: %+v, %v", after, s, err)
			}
			if lost && (!strings.Contains(*s.ErrorMessage, "has stopped: run the query again") || *s.End != stamp(stopped.Add(-after))) {
				t.Errorf("%s at %s", *s.ErrorMessage, *s.End)
			}
		}
		m.change(func(r *StoredRun) { r.Seen = stopped.Add(-lostAfter - 1) })
		if text, err := b.Cancel(t.Context(), 1, "x"); text != "Query already completed" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		begin(t, b)
	})
}

// What a store contains decides the answer of the other servers: a result that is too large is known to
// the server of the run only (§1.5), and content that is not valid is an error of the server.
func TestBoard_StoredStatus(t *testing.T) {
	now := time.Date(2020, 1, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ of, status, result, want string }{
		{"in progress", `{"complete": false}`, "", `"complete":false`},
		{"with a result", `{"complete": true}`, `{"results": [1], "hasMore": false}`, `"results":{"hasMore":false,"results":[1]}`},
		{"without a result", `{"complete": true, "error": true, "error_message": "no"}`, "", `"error_message":"no"`},
		{"a result that is too large", `{"complete": true, "large": true}`, "", "null"},
		{"a status that is no JSON", `{`, "", "error"},
		{"a result that is no object", `{"complete": true}`, `[]`, "error"},
	} {
		stored := &StoredRun{Seen: now, Ended: strings.Contains(c.status, `"complete": true`), Status: json.RawMessage(c.status)}
		if c.result != "" {
			stored.Result = json.RawMessage(c.result)
		}
		s, err := stored.status(now, true)
		got := string(wire.MustEncode(s))
		if err != nil {
			got = "error"
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.of, got, c.want)
		}
	}
	for size, stored := range map[int]bool{maxStoredResult - len(`{"is_cached":false,"x":""}`): true, maxStoredResult - len(`{"is_cached":false,"x":""}`) + 1: false} {
		picked := make(chan struct{})
		r := &run{service: &Service{Config: Config{Now: func() time.Time { return now }}}, computation: &computation{picked: picked}, ended: now,
			entry: &entry{members: map[string]any{"x": strings.Repeat("a", size)}}}
		got := r.toStored(now)
		if (got.Result != nil) != stored || strings.Contains(string(got.Status), `"large":true`) == stored || !got.Ended || strings.Contains(string(got.Status), "aaa") {
			t.Errorf("a result of %d bytes: %d bytes are stored, status %s", size, len(got.Result), got.Status)
		}
	}
}

// Errors of the store: a run that cannot be announced does not start, and one whose state cannot be
// stored continues.
func TestBoard_StoreErrors(t *testing.T) {
	withServers(t, func(t *testing.T, m *memoryRuns, a, b *Service) {
		down := errors.New("down")
		m.fail(down)
		r := request(1, trend, ForceAsync)
		r.ID = "x"
		if _, err := a.Execute(t.Context(), r); !errors.Is(err, down) {
			t.Errorf("a new run: %v", err)
		}
		if len(a.activeRuns()) != 0 || len(a.runs.byName) != 0 {
			t.Error("the run has started")
		}
		for _, work := range []func() error{
			func() error { _, err := b.Status(t.Context(), 1, "x", false); return err },
			func() error { _, err := b.Cancel(t.Context(), 1, "x"); return err },
		} {
			if err := work(); !errors.Is(err, down) {
				t.Errorf("got %v, want the error of the store", err)
			}
		}
		m.fail(nil)
		begin(t, a)
		m.fail(down)
		time.Sleep(10 * time.Second)
		m.fail(nil)
		time.Sleep(time.Minute)
		if s, err := b.Status(t.Context(), 1, "x", false); err != nil || !s.Complete || s.Failed {
			t.Errorf("after a failure of the store: %+v, %v", s, err)
		}
		// Runs are deleted 20 minutes after they were last seen.
		if want := (RunBounds{Before: m.bounds.Before, Count: 1000, Bytes: 64 << 20}); m.bounds != want {
			t.Errorf("the bounds of runs: %+v", m.bounds)
		}
		if age := time.Since(m.deleted); age < runTTL || age > runTTL+sweepInterval {
			t.Errorf("runs from before %v are deleted", age)
		}
	})
}
