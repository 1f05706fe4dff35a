package batchexports_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

var _ batchexports.Rows = (*ledger)(nil)

// ledger has the events and persons of a project in memory, and implements batchexports.Rows. The
// position of an event or of a change of a person is its number.
type ledger struct {
	events  []batchexports.Event
	persons []change
}

// change is a person after a change at a position.
type change struct {
	position int64
	batchexports.Person
}

// add adds an event that arrived at a time, which is also its own time. properties is JSON. The
// name is the part of uuid before a colon, or "seen".
func (l *ledger) add(uuid, arrived, properties string) {
	when := moment(arrived)
	name := "seen"
	if kind, _, ok := strings.Cut(uuid, ":"); ok {
		name = kind
	}
	l.events = append(l.events, batchexports.Event{
		ID: l.last() + 1, UUID: uuid, Name: name, DistinctID: "d-" + uuid, PersonID: "p-" + uuid, Properties: properties,
		PersonProperties: `{"plan":"pro"}`, Timestamp: when, CreatedAt: when,
	})
}

func (l *ledger) last() (position int64) {
	for _, e := range l.events {
		position = max(position, e.ID)
	}
	for _, p := range l.persons {
		position = max(position, p.position)
	}
	return position
}

func (l *ledger) Horizon(context.Context, int64) (int64, error) { return l.last(), nil }

func (l *ledger) Boundary(_ context.Context, when time.Time, horizon int64) (int64, error) {
	for _, e := range l.events {
		if !e.CreatedAt.Before(when) {
			return min(e.ID-1, horizon), nil
		}
	}
	return horizon, nil
}

func (l *ledger) Passed(_ context.Context, _, after, upTo int64, when time.Time) (int64, error) {
	for _, e := range l.events {
		if e.ID > after && e.ID <= upTo && !e.CreatedAt.Before(when) {
			return max(e.ID-1, after), nil
		}
	}
	return upTo, nil
}

func (l *ledger) FirstEvent(context.Context, int64) (first time.Time, found bool, err error) {
	for _, e := range l.events {
		if first.IsZero() || e.Timestamp.Before(first) {
			first = e.Timestamp
		}
	}
	return first, !first.IsZero(), nil
}

func (l *ledger) FirstPerson(context.Context, int64) (first time.Time, found bool, err error) {
	for _, p := range l.persons {
		if first.IsZero() || p.CreatedAt.Before(first) {
			first = p.CreatedAt
		}
	}
	return first, !first.IsZero(), nil
}

func (l *ledger) Events(_ context.Context, _ int64, span batchexports.Span, visit func(*batchexports.Event) error) error {
	for _, e := range l.events {
		if !span.Contains(&e) {
			continue
		}
		if err := visit(&e); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) Persons(_ context.Context, _ int64, span batchexports.Span, visit func(*batchexports.Person) error) error {
	for _, p := range l.persons {
		seen := !p.CreatedAt.Before(span.From) && p.CreatedAt.Before(span.To)
		if span.From.IsZero() && span.To.IsZero() {
			seen = p.position > span.After && p.position <= span.UpTo
		}
		if !seen {
			continue
		}
		if err := visit(&p.Person); err != nil {
			return err
		}
	}
	return nil
}

// destination is a batchexports.Runner in memory. The output of a run replaces that of a run with
// the same id.
type destination struct {
	written map[string][]string // the rows of each run, as JSON
	order   []string            // the ids of runs, in the order of their last attempts
	jobs    []batchexports.Job
	// fails are the errors of the next attempts, which occur after the rows were read. nil is a
	// success.
	fails []error
	// onRun is called in the middle of an attempt, with its context. It may be nil.
	onRun func(ctx context.Context, job *batchexports.Job) error
	// tests are the errors of the steps of a test, nil for steps that pass.
	tests map[int]error
}

func (s *destination) Run(ctx context.Context, job *batchexports.Job) (done batchexports.RunTotals, err error) {
	var rows []string
	err = job.Rows(ctx, func(row []any) error {
		text := string(storage.Encode(row))
		rows, done.Rows, done.Bytes = append(rows, text), done.Rows+1, done.Bytes+int64(len(text))
		return nil
	})
	if err == nil && s.onRun != nil {
		err = s.onRun(ctx, job)
	}
	if err == nil && len(s.fails) > 0 {
		err, s.fails = s.fails[0], s.fails[1:]
	}
	if err != nil {
		return batchexports.RunTotals{}, err
	}
	s.written[job.Run] = rows
	s.order = append(slices.DeleteFunc(s.order, func(id string) bool { return id == job.Run }), job.Run)
	s.jobs = append(s.jobs, *job)
	return done, nil
}

func (s *destination) Steps(kind string) []batchexports.TestStep {
	if kind == "Files" {
		return nil // so that one type has no test
	}
	return []batchexports.TestStep{{Name: "Check address", Description: "of " + kind}, {Name: "Check credentials", Description: "of " + kind}}
}

func (s *destination) Test(_ context.Context, _ batchexports.ExportDestination, step int) error {
	return s.tests[step]
}

// world is a World with exports that run.
type world struct {
	*ruletest.World
	ledger      *ledger
	destination *destination
	results     []management.JobDone
}

func newWorld(t *testing.T) *world { return worldOn(t, memstore.New(memstore.ExternalData{})) }

func worldOn(t *testing.T, store rooms.Store) *world {
	w := &world{ledger: &ledger{}, destination: &destination{written: map[string][]string{}, tests: map[int]error{}}}
	w.World = ruletest.New(t, store, func(c *rooms.Config) {
		c.ExportRows, c.ExportRunner, c.ExportWatch = w.ledger, w.destination, time.Millisecond
		c.JobDone = func(d management.JobDone) { w.results = append(w.results, d) }
	})
	return w
}

// moment parses a time of a table, such as 2026-01-02 13:04 in UTC.
func moment(text string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339} {
		if when, err := time.Parse(layout, text); err == nil {
			return when
		}
	}
	panic("no time: " + text)
}

// cursorPage returns a page of runs or backfills in the form of the API.
func cursorPage[T any](p batchexports.CursorPage[T], err error) (any, error) {
	return map[string]any{"results": p.Results, "next": p.Next, "previous": p.Previous}, err
}

// atOrganization runs a call in the scope of the organization, without a project.
func atOrganization(call func(*management.Scope, string, string) (any, error)) func(*management.Scope, string, string) (any, error) {
	return func(scope *management.Scope, path, body string) (any, error) {
		scope.Project = nil
		return call(scope, path, body)
	}
}

func (w *world) calls(t *testing.T) ruletest.Calls {
	s, ctx := w.BatchExports, t.Context()
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	type callScope = *management.Scope
	all := management.Page{Limit: ruletest.DefaultPage}
	calls := ruletest.Calls{
		"create": func(scope callScope, _, b string) (any, error) { return s.Create(ctx, scope, body(b)) },
		"failing": func(callScope, string, string) (any, error) {
			names, _, err := s.Failing(ctx)
			return names, err
		},
		"get": func(scope callScope, path, _ string) (any, error) { return s.Get(ctx, scope, path) },
		"list": func(scope callScope, _, b string) (any, error) {
			p := all
			ruletest.Read(t, b, &p)
			return ruletest.List(s.List(ctx, scope, p))
		},
		"change":  func(scope callScope, path, b string) (any, error) { return s.Update(ctx, scope, path, body(b), false) },
		"put":     func(scope callScope, path, b string) (any, error) { return s.Update(ctx, scope, path, body(b), true) },
		"delete":  func(scope callScope, path, _ string) (any, error) { return nil, s.Delete(ctx, scope, path) },
		"pause":   func(scope callScope, path, _ string) (any, error) { return s.Pause(ctx, scope, path) },
		"unpause": func(scope callScope, path, b string) (any, error) { return s.Unpause(ctx, scope, path, body(b)) },
		"backfill": func(scope callScope, path, b string) (any, error) {
			created, err := s.AddBackfill(ctx, scope, path, body(b))
			if err != nil {
				return nil, err
			}
			return map[string]string{"id": created.ID, "backfill_id": created.ID}, nil
		},
		"backfills": func(scope callScope, path, cursor string) (any, error) {
			return cursorPage(s.Backfills(ctx, scope, path, cursor))
		},
		"runs": func(scope callScope, path, b string) (any, error) {
			var q batchexports.RunQuery
			ruletest.Read(t, b, &q)
			return cursorPage(s.Runs(ctx, scope, path, q))
		},
		"newest": func(scope callScope, path, _ string) (any, error) {
			e, err := s.Get(ctx, scope, path)
			if err != nil || len(e.LatestRuns) == 0 {
				return nil, err
			}
			return e.LatestRuns[0], nil
		},
		"newproject": func(scope callScope, _, b string) (any, error) {
			return w.Organizations.Projects.Create(ctx, scope, body(b))
		},
		"dropproject": func(scope callScope, _, _ string) (any, error) {
			return nil, w.Organizations.Projects.Delete(ctx, scope, "")
		},
		"choose": func(scope callScope, _, b string) (any, error) {
			return w.Organizations.Account.Update(ctx, scope, "", body(b), false)
		},
		"steps": func(_ callScope, path, _ string) (any, error) { return s.Tests(path), nil },
		"try":   func(_ callScope, _, b string) (any, error) { return s.TestNew(ctx, body(b)) },
		"test":  func(scope callScope, path, b string) (any, error) { return s.Test(ctx, scope, path, body(b)) },
		// work runs everything that is due, and returns the output of the destination.
		"work": func(callScope, string, string) (any, error) { return w.work(t) },
		// came adds events that arrive now, by uuid.
		"came": func(_ callScope, path, properties string) (any, error) {
			for _, uuid := range strings.Fields(path) {
				w.ledger.add(uuid, w.Clock.Format(time.RFC3339), properties)
			}
			return nil, nil
		},
		"fail": func(callScope, string, string) (any, error) {
			w.destination.fails = append(w.destination.fails, errors.New("the disk is full"))
			return nil, nil
		},
		"refuse": func(callScope, string, string) (any, error) {
			w.destination.fails = append(w.destination.fails, &batchexports.PermanentError{Reason: "no"})
			return nil, nil
		},
		// late adds an event that arrived at a time and is committed now. old adds one that arrives
		// now, with an earlier time of its own.
		"late": func(_ callScope, path, _ string) (any, error) {
			uuid, when, _ := strings.Cut(path, " ")
			w.ledger.add(uuid, when, "{}")
			return nil, nil
		},
		"old": func(_ callScope, path, _ string) (any, error) {
			uuid, when, _ := strings.Cut(path, " ")
			w.ledger.add(uuid, w.Clock.Format(time.RFC3339), "{}")
			w.ledger.events[len(w.ledger.events)-1].Timestamp = moment(when)
			return nil, nil
		},
		// at sets the clock.
		"at": func(_ callScope, path, _ string) (any, error) {
			w.Clock = moment(path).Add(-time.Second) // each row advances the clock by a second
			return nil, nil
		},
	}
	for name, call := range map[string]func(callScope, string, string) (any, error){
		"run":    func(scope callScope, e, id string) (any, error) { return s.Run(ctx, scope, e, id) },
		"cancel": func(scope callScope, e, id string) (any, error) { return s.CancelRun(ctx, scope, e, id) },
		"retry":  func(scope callScope, e, id string) (any, error) { return s.RetryRun(ctx, scope, e, id) },
		"runlog": func(scope callScope, e, id string) (any, error) {
			return ruletest.List(s.RunLog(ctx, scope, e, id, all))
		},
		"getbackfill":    func(scope callScope, e, id string) (any, error) { return s.Backfill(ctx, scope, e, id) },
		"cancelbackfill": func(scope callScope, e, id string) (any, error) { return s.CancelBackfill(ctx, scope, e, id) },
	} {
		calls[name] = func(scope callScope, path, _ string) (any, error) {
			export, id, _ := strings.Cut(path, " ")
			return call(scope, export, id)
		}
	}
	for _, name := range []string{"create", "get", "list", "change", "pause", "delete"} {
		calls["outside"+name] = atOrganization(calls[name])
	}
	return calls
}

// work runs everything that is due, and returns the output of the destination: each run with its
// interval and the first column of its rows.
func (w *world) work(t *testing.T) (any, error) {
	for n := 0; ; n++ {
		more, err := w.BatchExports.Work(t.Context())
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if n > 1000 {
			t.Fatal("the work does not end")
		}
	}
	out := []string{}
	for _, id := range w.destination.order {
		out = append(out, w.written(id))
	}
	return out, nil
}

// written returns the output of a run.
func (w *world) written(run string) string {
	var job batchexports.Job
	for _, j := range w.destination.jobs {
		if j.Run == run {
			job = j
		}
	}
	text := "-"
	if !job.From.IsZero() {
		text = job.From.Format("01-02T15:04")
	}
	text += " " + job.To.Format("01-02T15:04") + ":"
	for _, row := range w.destination.written[run] {
		var columns []any
		_ = json.Unmarshal([]byte(row), &columns) // written by Run
		text += fmt.Sprint(" ", columns[0])
	}
	return text
}

// changedPerson changes a person who was first seen at a time. The change happens now, by an event.
func changedPerson(w *world) func(*management.Scope, string, string) (any, error) {
	return func(_ *management.Scope, path, properties string) (any, error) {
		user, seen, _ := strings.Cut(path, " ")
		w.ledger.add("by-"+user, w.Clock.Format(time.RFC3339), "{}")
		w.ledger.persons = append(w.ledger.persons, change{w.ledger.last(), batchexports.Person{
			DistinctID: "d-" + user, UUID: user, Properties: properties, Version: 3, Identified: true, CreatedAt: moment(seen),
		}})
		return nil, nil
	}
}

// writtenRows returns the output of the last run, with its columns and its key.
func writtenRows(w *world) func(*management.Scope, string, string) (any, error) {
	return func(*management.Scope, string, string) (any, error) {
		job := w.destination.jobs[len(w.destination.jobs)-1]
		names := make([]string, len(job.Columns))
		for i, c := range job.Columns {
			names[i] = c.Name
		}
		rows := []json.RawMessage{}
		for _, row := range w.destination.written[job.Run] {
			rows = append(rows, json.RawMessage(row))
		}
		return map[string]any{"columns": strings.Join(names, " "), "key": strings.Join(job.Key, " "), "rows": rows,
			"newer": strings.Join(job.Newer, " "), "appended": job.Appended}, nil
	}
}
