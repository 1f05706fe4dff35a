package dashboards_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// alertWorld is a World in which the test sets the results of queries.
type alertWorld struct {
	*ruletest.World
	rows      string          // the rows of the result
	err       error           // returned instead of rows
	lastQuery json.RawMessage // the query of the last call
	count     int
}

func newAlertWorld(t *testing.T) *alertWorld {
	return alertWorldOn(t, memstore.New(memstore.ExternalData{}))
}

func alertWorldOn(t *testing.T, store rooms.Store) *alertWorld {
	a := &alertWorld{rows: `[]`}
	a.World = ruletest.New(t, store, func(c *rooms.Config) {
		c.RunQuery = func(_ context.Context, _ *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
			a.lastQuery, a.count = query, a.count+1
			return json.RawMessage(a.rows), a.err
		}
	})
	return a
}

// calls returns the calls of tables. Rows refer to insights and alerts by letters, and to the short
// id of insight A by A.short_id.
func (a *alertWorld) calls(t *testing.T) ruletest.Calls {
	calls, r, ctx := dashboardCalls(t, a.World), a.Dashboards.Alerts, t.Context()
	ref := map[string]string{}
	fill := func(text string) string {
		for name, id := range ref {
			text = strings.ReplaceAll(text, "<"+name+">", id)
		}
		return text
	}
	keep := func(name, id string) {
		if name != "" {
			ref[name] = id
		}
	}
	calls["insight"] = func(scope *management.Scope, name, b string) (any, error) {
		i, err := a.Dashboards.Insights.Create(ctx, scope, ruletest.Body(t, b))
		if err == nil {
			keep(name, strconv.FormatInt(i.ID, 10))
			keep(name+".short_id", i.ShortID)
		}
		return i, err
	}
	calls["changeinsight"] = func(scope *management.Scope, name, b string) (any, error) {
		return a.Dashboards.Insights.Update(ctx, scope, ref[name], ruletest.Body(t, b))
	}
	calls["make"] = func(scope *management.Scope, name, b string) (any, error) {
		x, err := r.Create(ctx, scope, ruletest.Body(t, fill(b)))
		if err == nil {
			keep(name, x.ID)
		}
		return x, err
	}
	calls["get"] = func(scope *management.Scope, name, b string) (any, error) {
		var q dashboards.CheckQuery
		if b != "" {
			ruletest.Read(t, b, &q)
		}
		id := name
		if alertID := ref[name]; alertID != "" {
			id = alertID
		}
		return r.Get(ctx, scope, id, q)
	}
	calls["change"] = func(scope *management.Scope, name, b string) (any, error) {
		return r.Update(ctx, scope, ref[name], ruletest.Body(t, fill(b)), false)
	}
	calls["delete"] = func(scope *management.Scope, name, _ string) (any, error) {
		return nil, r.Delete(ctx, scope, ref[name])
	}
	calls["list"] = func(scope *management.Scope, insight, _ string) (any, error) {
		return ruletest.List(r.List(ctx, scope, fill(insight), management.Page{Limit: 100}))
	}
	calls["rows"] = func(_ *management.Scope, _, b string) (any, error) {
		a.rows, a.err = b, nil
		return nil, nil
	}
	calls["fails"] = func(_ *management.Scope, text, _ string) (any, error) {
		a.err = management.Fault("", "%s", text)
		return nil, nil
	}
	calls["at"] = func(_ *management.Scope, clock, _ string) (any, error) {
		when, err := time.Parse(time.RFC3339, clock)
		a.Clock = when
		return nil, err
	}
	calls["check"] = func(*management.Scope, string, string) (any, error) {
		before := a.count
		_, err := r.CheckDue(ctx)
		return a.count - before, err // the number of queries that were run
	}
	calls["asked"] = func(*management.Scope, string, string) (any, error) { return a.lastQuery, nil }
	return calls
}

func runAlertTables(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newAlertWorld(t)
			w.Run(t, w.calls(t), rows)
		})
	}
}

// trends returns the body of an insight with a trends query that has additional members.
func trends(more string) string {
	return `{"name":"Sales","query":{"kind":"InsightVizNode","source":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"},{"kind":"EventsNode","event":"b"}]` + more + `}}}`
}

// alertOn returns the body of an alert on insight A with members.
func alertOn(condition, threshold, config string) string {
	return `{"name":"N","insight":"<A>","subscribed_users":[2],"condition":{"type":"` + condition + `"},"threshold":{"configuration":` + threshold + `},"config":` + config + `}`
}

const firstSeries = `{"type":"TrendsAlertConfig","series_index":0}`

func TestAlerts_Fields(t *testing.T) {
	const over10 = `{"type":"absolute","bounds":{"upper":10}}`
	runAlertTables(t, map[string][]ruletest.Row{"record": rows(
		[]ruletest.Row{
			{"clients.md §9.1", "bob", "insight A", trends(""), `{"name":"Sales"}`},
			{"clients.md §9.1", "bob", "make X", `{"name":"N","insight":"<A>","subscribed_users":[],"threshold":{"configuration":{"type":"absolute","bounds":{}}}}`,
				`{"name":"N","insight":{"name":"Sales"},"subscribed_users":[],"threshold":{"configuration":{"type":"absolute"},"name":"","created_at":"(like) ^2026"},"condition":{"type":"absolute_value"},"config":{"type":"TrendsAlertConfig","series_index":0},"calculation_interval":"daily","enabled":true,"skip_weekend":false,"detector_config":null,"snoozed_until":null,"state":"Not firing","last_notified_at":null,"last_checked_at":null,"next_check_at":null,"last_value":null,"checks":"(absent)","created_by":{"first_name":"bob"}}`},
			{"clients.md §9.1 checks stand in one that is asked for", "bob", "get X", ``, `{"name":"N","checks":[]}`},
			{"clients.md §9.1 what is not there", "bob", "get 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Not found.`},
			{"clients.md §1.1 no id", "bob", "get abc", ``, `404 not_found - Not found.`},
			{"clients.md §9.1 another organization's", "dan", "get X", ``, `404 not_found - Not found.`},
			{"clients.md §9.1 required", "bob", "make", `{"insight":"<A>","subscribed_users":[],"threshold":{}}`, `400 required name`},
			{"clients.md §9.1 required", "bob", "make", `{"name":"N","subscribed_users":[],"threshold":{}}`, `400 required insight`},
			{"clients.md §9.1 required", "bob", "make", `{"name":"N","insight":"<A>","threshold":{}}`, `400 required subscribed_users`},
			{"clients.md §9.1 required", "bob", "make", `{"name":"N","insight":"<A>","subscribed_users":[]}`, `400 required threshold`},
			{"clients.md §9.1 required", "bob", "make", `{"name":"N","insight":"<A>","subscribed_users":[],"threshold":{}}`, `400 required threshold__configuration`},
		},
		each("clients.md §9.1", "bob", "change X",
			[2]string{`{"name":` + text(255) + `}`, `{"name":` + text(255) + `}`},
			[2]string{`{"name":` + text(256) + `}`, `400 max_length name`},
			[2]string{`{"threshold":{"id":"x","configuration":{"type":"absolute","bounds":{"lower":1.5,"upper":null}}}}`, `{"threshold":{"configuration":{"type":"absolute","bounds":{"lower":1.5,"upper":null}}}}`},
			[2]string{`{"threshold":{"configuration":{"type":"relative"}}}`, `400 invalid_choice threshold__configuration__type`},
			[2]string{`{"threshold":{"configuration":{"type":"absolute","bounds":{"upper":"9"}}}}`, `400 * threshold__configuration__bounds`},
			[2]string{`{"threshold":null}`, `400 null threshold`},
			[2]string{`{"threshold":{"configuration":{"type":"absolute","x":` + text(4096) + `}}}`, `400 max_length threshold`},
			[2]string{`{"condition":{"type":"relative"}}`, `400 invalid_choice condition__type`},
			[2]string{`{"config":{"type":"FunnelsAlertConfig","series_index":0}}`, `400 invalid_choice config__type`},
			[2]string{`{"config":{"type":"TrendsAlertConfig"}}`, `400 required config__series_index`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":1,"check_ongoing_interval":false}}`, `{"config":{"type":"TrendsAlertConfig","series_index":1,"check_ongoing_interval":false}}`},
			[2]string{`{"calculation_interval":"monthly"}`, `{"calculation_interval":"monthly"}`},
			[2]string{`{"calculation_interval":"yearly"}`, `400 invalid_choice calculation_interval`},
			[2]string{`{"skip_weekend":null}`, `{"skip_weekend":null}`},
			[2]string{`{"detector_config":{}}`, `400 * detector_config`},
			[2]string{`{"detector_config":null}`, `{"detector_config":null}`},
			[2]string{`{"insight":null}`, `400 null insight`},
			[2]string{`{"subscribed_users":[3,2,3]}`, `{"subscribed_users":[{"first_name":"cyd"},{"first_name":"bob"}]}`},
			[2]string{`{"name":"N"}`, `{"subscribed_users":[{"first_name":"cyd"},{"first_name":"bob"}]}`},
			[2]string{`{"subscribed_users":[]}`, `{"subscribed_users":[]}`},
			[2]string{`{"subscribed_users":` + list(101, func(int) string { return "2" }) + `}`, `400 max_length subscribed_users`},
		),
		[]ruletest.Row{
			{"clients.md §9.1", "bob", "make Y", alertOn("absolute_value", over10, firstSeries), `{"name":"N"}`},
			{"clients.md §9.1 newest first", "bob", "list", ``, `{"count":2,"results":[{"subscribed_users":[{"first_name":"bob"}],"checks":"(absent)"},{"subscribed_users":[]}]}`},
			{"clients.md §2.2 of an insight", "bob", "list <A>", ``, `{"count":2}`},
			{"clients.md §2.2 of an insight that is not there", "bob", "list 99", ``, `{"count":0}`},
			{"clients.md §9.1 another organization's", "dan", "list", ``, `{"count":0}`},
			{"clients.md §9.1 deleted", "bob", "delete Y", ``, `null`},
			{"clients.md §9.1 gone", "bob", "get Y", ``, `404 not_found - Not found.`},
			{"clients.md §9.1 gone", "bob", "delete Y", ``, `404 not_found - Not found.`},
		},
	), "refused": rows(
		[]ruletest.Row{
			{"clients.md §9.2", "bob", "insight A", trends(""), `{"tags":[]}`},
			{"clients.md §9.2", "bob", "insight F", `{"query":{"kind":"InsightVizNode","source":{"kind":"FunnelsQuery","series":[]}}}`, `{"tags":[]}`},
			{"clients.md §9.2", "bob", "insight L", `{"filters":{"insight":"TRENDS","events":[{"id":"a"}]}}`, `{"tags":[]}`},
			{"clients.md §9.2", "bob", "insight P", `{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}],"trendsFilter":{"display":"ActionsPie"}}}`, `{"tags":[]}`},
			{"clients.md §9.2", "bob", "insight M", trends(`,"trendsFilter":{"formula":"A+B"}`), `{"tags":[]}`},
			{"clients.md §9.2", "bob", "insight G", trends(``), `{"tags":[]}`},
			{"clients.md §9.2", "bob", "changeinsight G", `{"deleted":true}`, `{"tags":[]}`},
			{"clients.md §9.2", "dan", "insight D", trends(""), `{"tags":[]}`},
			{"clients.md §9.2", "bob", "make X", alertOn("absolute_value", over10, firstSeries), `{"name":"N"}`},
		},
		each("clients.md §9.2", "bob", "change X",
			[2]string{`{"insight":"<D>"}`, `400 invalid_input insight This insight does not belong to your team.`},
			[2]string{`{"insight":4711}`, `400 invalid_input insight This insight does not belong to your team.`},
			[2]string{`{"insight":"<G>"}`, `400 invalid_input insight This insight does not belong to your team.`},
			[2]string{`{"insight":"<F>"}`, `400 invalid_input insight Alert's insight query kind 'FunnelsQuery' is not supported (only TrendsQuery)`},
			[2]string{`{"insight":"<L>"}`, `400 invalid_input insight Alerts are not supported for this insight.`},
			[2]string{`{"subscribed_users":[4]}`, `400 invalid_input subscribed_users User does not belong to the same organization as the alert's team.`},
			[2]string{`{"subscribed_users":[2,99]}`, `400 invalid_input subscribed_users User does not belong to the same organization as the alert's team.`},
			[2]string{`{"threshold":{"configuration":{"type":"absolute","bounds":{"lower":10,"upper":10}}}}`, `400 invalid_input threshold Lower threshold must be less than upper threshold`},
			[2]string{`{"threshold":{"configuration":{"type":"percentage","bounds":{"upper":0.2}}}}`, `400 invalid_input threshold Absolute value alerts require an absolute threshold, but a percentage threshold was configured`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":2}}`, `400 invalid_input config series_index 2 is out of range (query has 2 series)`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":-1}}`, `400 invalid_input config series_index -1 is out of range (query has 2 series)`},
			[2]string{`{"insight":"<M>","config":{"type":"TrendsAlertConfig","series_index":1}}`, `400 invalid_input config series_index 1 is out of range (query has 1 series)`},
			[2]string{`{"insight":"<P>","condition":{"type":"relative_increase"}}`, `400 invalid_input condition Relative alert condition 'relative_increase' is not compatible with non time series trends`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true},"condition":{"type":"relative_decrease"}}`, `400 invalid_input config`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true},"threshold":{"configuration":{"type":"absolute","bounds":{"lower":1}}}}`, `400 invalid_input config`},
			[2]string{`{"config":{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true}}`, `{"config":{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true}}`},
			[2]string{`{"snoozed_until":"soon"}`, `400 * snoozed_until`},
			[2]string{`{"insight":"<P>"}`, `{"insight":{"name":null}}`},
		),
	)})
}
