package dashboards_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// runQuery is the function that runs the queries of alerts.
type runQuery = func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error)

// checked is an alertWorld with one alert above 10 of the value of 4 January, on 5 January, 12:00.
type checked struct {
	*alertWorld
	id string
}

// newChecked returns a checked world, in which run runs the queries.
func newChecked(t *testing.T, store rooms.Store, run runQuery) *checked {
	t.Helper()
	w := &checked{alertWorldOn(t, store), ""}
	w.Clock = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	w.Dashboards.Alerts.Config.RunQuery = run
	bob := w.Scope(t, "bob")
	i, err := w.Dashboards.Insights.Create(t.Context(), bob, ruletest.Body(t, trends("")))
	if err != nil {
		t.Fatal(err)
	}
	body := strings.ReplaceAll(alertOn("absolute_value", anUpperBound, firstSeries), "<A>", i.ShortID)
	a, err := w.Dashboards.Alerts.Create(t.Context(), bob, ruletest.Body(t, body))
	if err != nil {
		t.Fatal(err)
	}
	w.id = a.ID
	return w
}

// value returns the rows of a result with the value n on 4 January.
func value(n string) json.RawMessage { return json.RawMessage("[" + daily("0", "0", n, "0") + "]") }

// found compares the alert and its checks with the expected JSON.
func (w *checked) found(t *testing.T, what, want string) {
	t.Helper()
	calls := ruletest.Calls{"get": func(scope *management.Scope, _, _ string) (any, error) {
		return w.Dashboards.Alerts.Get(t.Context(), scope, w.id, dashboards.CheckQuery{Limit: 2000})
	}}
	clock := w.Clock
	w.Run(t, calls, []ruletest.Row{{what, "bob", "get", ``, want}})
	w.Clock = clock
}

func (w *checked) change(t *testing.T, body string) {
	t.Helper()
	if _, err := w.Dashboards.Alerts.Update(t.Context(), w.Scope(t, "bob"), w.id, ruletest.Body(t, body), false); err != nil {
		t.Fatal(err)
	}
}

func (w *checked) check(t *testing.T) {
	t.Helper()
	if more, err := w.Dashboards.Alerts.CheckDue(t.Context()); more || err != nil {
		t.Fatal(more, err)
	}
}

// While a server checks an alert, no other server checks it for four minutes. After that time
// another one does, and the result of the first server is dropped.
func TestAlerts_LeaseExpires(t *testing.T) {
	var w *checked
	runs := 0
	w = newChecked(t, memstore.New(memstore.ExternalData{}), func(ctx context.Context, _ *management.ProjectRecord, _ json.RawMessage) (json.RawMessage, error) {
		if runs++; runs > 1 {
			return value("11"), nil
		}
		w.Clock = w.Clock.Add(4*time.Minute - time.Second)
		if more, err := w.Dashboards.Alerts.CheckDue(ctx); more || err != nil || runs != 1 {
			t.Errorf("before four minutes are over: %d runs, %v", runs, err)
		}
		w.Clock = w.Clock.Add(2 * time.Second)
		if more, err := w.Dashboards.Alerts.CheckDue(ctx); more || err != nil || runs != 2 {
			t.Errorf("after four minutes: %d runs, %v", runs, err)
		}
		return value("99"), nil
	})
	w.check(t)
	w.found(t, "the result of the second server", `{"state":"Firing","last_value":11,"checks":[{"calculated_value":11}]}`)
	w.check(t)
	if runs != 2 {
		t.Errorf("%d runs, want 2", runs)
	}
}

// A change during a check drops its result if the check depends on the changed fields.
func TestAlerts_ChangedDuringCheck(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{"name":"M","subscribed_users":[]}`, `{"name":"M","subscribed_users":[],"state":"Firing","last_value":11,"next_check_at":"2026-01-06T01:00:00Z","checks":[{"state":"Firing"}]}`},
		{`{"condition":{"type":"relative_increase"}}`, `{"state":"Not firing","last_value":null,"next_check_at":null,"checks":[]}`},
		{configured(`"series_index":1`), `{"state":"Not firing","last_value":null,"next_check_at":null,"checks":[]}`},
		{`{"snoozed_until":"1d"}`, `{"state":"Snoozed","last_value":null,"checks":[{"state":"Snoozed"}]}`},
		{`{"enabled":false}`, `{"state":"Not firing","enabled":false,"last_value":null,"checks":[]}`},
		{`{"calculation_interval":"hourly"}`, `{"calculation_interval":"hourly","last_value":11,"next_check_at":"2026-01-05T13:00:00Z","checks":[{"state":"Firing"}]}`},
	} {
		t.Run(c.body, func(t *testing.T) {
			var w *checked
			runs := 0
			w = newChecked(t, memstore.New(memstore.ExternalData{}), func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
				// The first result is that of the query before the change. An alert that is due
				// after the change has no second result.
				if runs++; runs == 1 {
					w.change(t, c.body)
					return value("11"), nil
				}
				return nil, &management.Error{Kind: management.Unavailable, Message: "Busy."}
			})
			_, err := w.Dashboards.Alerts.CheckDue(t.Context())
			if apiErr := new(management.Error); err != nil && !errors.As(err, &apiErr) {
				t.Fatal(err)
			}
			w.found(t, c.body, c.want)
		})
	}
}

// An alert, a project or an insight that is deleted during a check is not brought back by its result.
func TestAlerts_DeletedDuringCheck(t *testing.T) {
	for name, remove := range map[string]func(w *checked, bob *management.Scope) error{
		"the alert": func(w *checked, bob *management.Scope) error {
			return w.Dashboards.Alerts.Delete(t.Context(), bob, w.id)
		},
		"its project": func(w *checked, _ *management.Scope) error {
			return w.Organizations.Projects.Delete(t.Context(), w.Scope(t, "gus"), "")
		},
		"the trend": func(w *checked, bob *management.Scope) error {
			_, err := w.Dashboards.Insights.Update(t.Context(), bob, "1", ruletest.Body(t, `{"query":{"kind":"FunnelsQuery"}}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var w *checked
			w = newChecked(t, memstore.New(memstore.ExternalData{}), func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
				return value("11"), remove(w, w.Scope(t, "bob"))
			})
			w.check(t)
			w.Clock = w.Clock.Add(48 * time.Hour)
			w.check(t)
			err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
				for kind, parent := range map[string]string{"alert": management.ProjectParent(ruletest.Project), "alert_check": w.id, "alert_task": ""} {
					_, n, err := tx.List(management.Query{Kind: kind, Parent: parent})
					if err != nil {
						return err
					}
					if n != 0 && (kind != "alert" || name != "its project") { // erasing a project deletes the alert later
						t.Errorf("%d records of kind %s", n, kind)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A query that could not be run is repeated every minute. After five attempts the check is an error
// without the details, which are for the operator.
func TestAlerts_InternalErrors(t *testing.T) {
	errDial := errors.New("dial tcp 10.0.0.1:5432: connection refused")
	fails := 4
	w := newChecked(t, memstore.New(memstore.ExternalData{}), func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
		if fails--; fails >= 0 {
			return nil, errDial
		}
		return value("11"), nil
	})
	attempt := func(what string, wantErr bool) {
		t.Helper()
		if _, err := w.Dashboards.Alerts.CheckDue(t.Context()); errors.Is(err, errDial) != wantErr || !wantErr && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := range 4 {
		attempt(fmt.Sprint("failure ", n+1), true)
		attempt("at once", false) // the alert is due a minute later
		w.Clock = w.Clock.Add(time.Minute)
	}
	w.found(t, "four failures are no result", `{"state":"Not firing","last_checked_at":null,"checks":[]}`)
	attempt("the fifth attempt", false)
	w.found(t, "the fifth attempt", `{"state":"Firing","checks":[{"state":"Firing"}]}`)
	// The attempts of the next check are counted from 1.
	w.Clock, fails = w.Clock.Add(24*time.Hour), 5
	for n := range 4 {
		attempt(fmt.Sprint("failure ", n+1), true)
		w.Clock = w.Clock.Add(time.Minute)
	}
	w.found(t, "four failures", `{"state":"Firing","checks":[{"state":"Firing"}]}`)
	attempt("the fifth failure", true)
	w.found(t, "five failures", `{"state":"Errored","last_value":11,"checks":[{"state":"Errored","calculated_value":null,"error":"The query could not be run."},{"state":"Firing"}]}`)
}

// A server that shuts down during a query leaves the alert to another server, which checks it
// immediately. This does not count as a failed attempt.
func TestAlerts_ShutDown(t *testing.T) {
	var stop context.CancelFunc
	stops, failures := 6, 1
	w := newChecked(t, memstore.New(memstore.ExternalData{}), func(ctx context.Context, _ *management.ProjectRecord, _ json.RawMessage) (json.RawMessage, error) {
		if stops--; stops >= 0 {
			stop()
			return value("11"), ctx.Err()
		}
		if failures--; failures >= 0 {
			return nil, errors.New("connection refused")
		}
		return value("11"), nil
	})
	for range 6 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop = cancel
		if more, err := w.Dashboards.Alerts.CheckDue(ctx); more || err != nil {
			t.Fatal(more, err)
		}
		w.found(t, "no result", `{"state":"Not firing","last_checked_at":null,"checks":[]}`)
	}
	// The first failure is the first attempt, after which the check is repeated.
	if _, err := w.Dashboards.Alerts.CheckDue(t.Context()); err == nil {
		t.Error("a failed query is not reported")
	}
	w.found(t, "a failed attempt", `{"state":"Not firing","last_checked_at":null,"checks":[]}`)
	w.Clock = w.Clock.Add(time.Minute)
	w.check(t)
	w.found(t, "the next attempt", `{"state":"Firing","checks":[{"error":null}]}`)
}

// A query has a minute.
func TestAlerts_SlowQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newChecked(t, memstore.New(memstore.ExternalData{}), func(ctx context.Context, _ *management.ProjectRecord, _ json.RawMessage) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		begun := time.Now()
		w.check(t)
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it was given %s, want a minute", took)
		}
		w.found(t, "a slow query", `{"state":"Errored","checks":[{"state":"Errored","error":"The query took longer than 60 s."}]}`)
	})
}

// One call checks at most 100 alerts, in the order in which they became due.
func TestAlerts_Batches(t *testing.T) {
	var queries []string
	w := newChecked(t, memstore.New(memstore.ExternalData{}), func(_ context.Context, _ *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
		queries = append(queries, string(query))
		return value("0"), nil
	})
	bob := w.Scope(t, "bob")
	for n := range 100 {
		w.Clock = w.Clock.Add(time.Second)
		body := strings.ReplaceAll(alertOn("absolute_value", anUpperBound, firstSeries), "<A>", "1")
		if n == 99 { // the last one has a query of its own
			i, err := w.Dashboards.Insights.Create(t.Context(), bob, ruletest.Body(t, strings.ReplaceAll(trends(""), `"a"`, `"last"`)))
			if err != nil {
				t.Fatal(err)
			}
			body = strings.ReplaceAll(alertOn("absolute_value", anUpperBound, firstSeries), "<A>", i.ShortID)
		}
		if _, err := w.Dashboards.Alerts.Create(t.Context(), bob, ruletest.Body(t, body)); err != nil {
			t.Fatal(err)
		}
	}
	if more, err := w.Dashboards.Alerts.CheckDue(t.Context()); !more || err != nil || len(queries) != 100 {
		t.Errorf("%d checks, more: %v, %v", len(queries), more, err)
	}
	if strings.Contains(strings.Join(queries, ""), "last") {
		t.Error("the one that is due last is checked before others")
	}
	if more, err := w.Dashboards.Alerts.CheckDue(t.Context()); more || err != nil || len(queries) != 101 || !strings.Contains(queries[len(queries)-1], "last") {
		t.Errorf("%d checks, more: %v, %v", len(queries), more, err)
	}
}

// Checks are stored for 14 days (clients.md §9.3), and at most 1000 of them.
func TestAlerts_CheckLimits(t *testing.T) {
	w := newChecked(t, memstore.New(memstore.ExternalData{}), func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
		return value("0"), nil
	})
	begin := w.Clock
	again := func(after time.Duration) {
		t.Helper()
		w.Clock = begin.Add(after)
		w.change(t, `{"enabled":false}`)
		w.change(t, `{"enabled":true}`) // it is due
		w.check(t)
	}
	const days = 24 * time.Hour
	again(0)
	again(14 * days)
	w.found(t, "14 days later", `{"checks":[{"created_at":"2026-01-19T12:00:00Z"},{"created_at":"2026-01-05T12:00:00Z"}]}`)
	again(14*days + time.Second)
	w.found(t, "a second later", `{"checks":[{"created_at":"2026-01-19T12:00:01Z"},{"created_at":"2026-01-19T12:00:00Z"}]}`)

	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for n := range 998 { // with the two above 1000
			at := w.Clock.Add(-time.Hour - time.Duration(n)*time.Second)
			r := management.Record{Kind: "alert_check", Parent: w.id, ID: fmt.Sprint("old ", n), Sort: storage.SortTime(at), Data: storage.Encode(map[string]any{"id": fmt.Sprint(n), "created_at": management.NewStamp(at)})}
			if err := tx.Put(&r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	again(14*days + time.Minute)
	a, err := w.Dashboards.Alerts.Get(t.Context(), w.Scope(t, "bob"), w.id, dashboards.CheckQuery{Limit: 2000})
	if err != nil || len(a.Checks) != 1000 || a.Checks[999].ID != "996" {
		t.Errorf("%d checks, the oldest is %s, want 996; %v", len(a.Checks), a.Checks[len(a.Checks)-1].ID, err)
	}
	five, err := w.Dashboards.Alerts.Get(t.Context(), w.Scope(t, "bob"), w.id, dashboards.CheckQuery{})
	if err != nil || len(five.Checks) != 5 || five.Checks[0].ID != a.Checks[0].ID { // clients.md §9.1: newest 5
		t.Errorf("%d checks by default, %v", len(five.Checks), err)
	}
}
