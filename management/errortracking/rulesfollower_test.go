package errortracking_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// faultyWorld returns a world with a store that can fail, and the function that RunFaulty needs.
func faultyWorld(t *testing.T) (*world, *memstore.Faulty, func(after int) bool) {
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	return worldOn(t, faulty), faulty, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	}
}

// If any call of the store fails, the request fails with that error and changes no data: repeating it
// has the same result as without the failure.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"records": recordRows, "assignees": assigneeRows[:5], "order": orderRows[:13], "places": placeRows, "log": logRows,
		"issues": changeIssueRows, "lists": issueListRows, "states": stateRows, "assigning": assigningRows, "failing rules": failingRows,
	} {
		t.Run(name, func(t *testing.T) {
			w, faulty, fail := faultyWorld(t)
			calls := w.calls(t)
			// TestFaults_Follow tests failures while exceptions are read.
			for _, name := range []string{"threw", "spoil"} {
				call := calls[name]
				calls[name] = func(scope *management.Scope, path, body string) (any, error) {
					faulty.After = -1
					return call(scope, path, body)
				}
			}
			w.RunFaulty(t, calls, rows, memstore.ErrDisk, fail)
		})
	}
}

// If any call of the store fails while exceptions are read, the next call of Follow reads the same
// exceptions. Each counts one time, a rule that fails is disabled, and the issues are assigned.
func TestFaults_Follow(t *testing.T) {
	for after := 0; ; after++ {
		w, _, fail := faultyWorld(t)
		calls := w.calls(t)
		w.Run(t, calls, []ruletest.Row{
			{"§4.2", "bob", "create => bad", `{"filters":` + always + `,"assignee":"user:1"}`, `{"assignee":"user:1"}`},
			{"§4.2", "bob", "create", `{"filters":` + when(error1) + `,"assignee":"user:2"}`, `{"assignee":"user:2"}`},
			{"§4.2", "bob", "spoil <bad>", spoiled, `null`},
		})
		for range 2 {
			w.addException(ruletest.Project, exceptionProperties("A", "m", `,"level":"error"`), "")
			w.addException(ruletest.TheirProject, exceptionProperties("B", "m", `,"level":"error"`), "")
		}
		fail(after)
		_, err := w.ErrorTracking.Follow(t.Context())
		failed := fail(-1)
		if failed && !errors.Is(err, memstore.ErrDisk) || !failed && err != nil {
			t.Errorf("call %d fails, failed: %v: %v", after, failed, err)
		}
		if err := w.follow(t); err != nil {
			t.Fatal(err)
		}
		w.Run(t, calls, []ruletest.Row{
			{fmt.Sprint("decision 24, call ", after), "bob", "issues", ``, `{"count":1,"results":[{"name":"A","count":2,"assignee":"user:2"}]}`},
			{fmt.Sprint("decision 24, call ", after), "dan", "issues", ``, `{"count":1,"results":[{"name":"B","count":2,"assignee":null}]}`},
			{fmt.Sprint("§4.2, call ", after), "bob", "list", ``, `{"count":2,"results":[{"assignee":"user:1","disabled_data":{"issue":{"name":"A"}}},{"disabled_data":null}]}`},
		})
		if !failed {
			if after < 10 { // reading four exceptions needs more calls than that
				t.Errorf("only %d calls", after)
			}
			return
		}
	}
}

// sharedLog is a log that a second server reads, too, whenever the first one has read it.
type sharedLog struct {
	errortracking.EventLog
	second func()
}

func (l *sharedLog) EventsAfter(ctx context.Context, name string, after int64, limit int) ([]errortracking.LoggedEvent, int64, error) {
	events, last, err := l.EventLog.EventsAfter(ctx, name, after, limit)
	if second := l.second; second != nil {
		l.second = nil
		second()
	}
	return events, last, err
}

// Two servers read the same exceptions before either of them has stored its position. Each exception
// counts one time.
func TestErrorTracking_TwoServers(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.addException(ruletest.Project, exceptionProperties("A", "m", ""), "")
	}
	log := &sharedLog{EventLog: w.log}
	log.second = func() {
		if _, err := w.ErrorTracking.Follow(t.Context()); err != nil {
			t.Error("the second server:", err)
		}
		w.addException(ruletest.Project, exceptionProperties("A", "m", ""), "") // that the first one has not read
	}
	w.ErrorTracking.Events = log
	if err := w.follow(t); err != nil {
		t.Fatal(err)
	}
	w.Run(t, w.calls(t), []ruletest.Row{{"decision 24", "bob", "issues", ``, `{"count":1,"results":[{"count":4}]}`}})
}

// A position that has no exceptions is stored, too, so that it is not searched a second time. A log
// without new events has no effect. There may be many more exceptions only if many events were new.
func TestErrorTracking_Positions(t *testing.T) {
	w := newWorld(t)
	log := &emptyLog{last: 7}
	w.ErrorTracking.Events = log
	for _, c := range []struct {
		last, wantAfter int64
		more            bool
	}{{7, 0, false}, {7, 7, false}, {1 << 20, 7, true}, {1<<20 + 2, 1 << 20, false}, {1<<20 + 1, 1<<20 + 2, false}} {
		log.last = c.last
		if more, err := w.ErrorTracking.Follow(t.Context()); more != c.more || err != nil || log.after != c.wantAfter {
			t.Errorf("up to %d: read after %d, want %d; more: %v, %v", c.last, log.after, c.wantAfter, more, err)
		}
	}
}

// emptyLog is a log without exceptions that was searched up to last. after is where the last search
// began.
type emptyLog struct{ last, after int64 }

func (l *emptyLog) EventsAfter(_ context.Context, _ string, after int64, _ int) ([]errortracking.LoggedEvent, int64, error) {
	l.after = after
	return nil, l.last, nil
}
