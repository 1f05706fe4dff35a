package dashboards_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// daily returns a row of series 0 by day until 5 January 2026. The last complete day is 4 January.
func daily(points ...string) string {
	days := []string{`"2026-01-02"`, `"2026-01-03"`, `"2026-01-04"`, `"2026-01-05"`}
	return `{"action":{"order":0},"label":"a","data":[` + strings.Join(points, ",") + `],"days":[` + strings.Join(days, ",") + `]}`
}

// found returns the rows for a check on Monday, 5 January 2026, of an alert whose query has the
// given result.
func found(condition, threshold, config, insight, answer, want string) []ruletest.Row {
	return []ruletest.Row{
		{"clients.md §9.3", "-", "at 2026-01-05T12:00:00Z", ``, `null`},
		{"clients.md §9.3", "bob", "insight A", insight, `{"tags":[]}`},
		{"clients.md §9.3", "bob", "make X", alertOn(condition, threshold, config), `{"state":"Not firing"}`},
		{"clients.md §9.3", "-", "rows", answer, `null`},
		{"clients.md §9.3", "-", "check", ``, `1`},
		{"clients.md §9.3 " + condition + " " + threshold + " of " + answer, "bob", "get X", ``, want},
	}
}

func absolute(bounds string) string { return `{"type":"absolute","bounds":` + bounds + `}` }
func fraction(bounds string) string { return `{"type":"percentage","bounds":` + bounds + `}` }

func firing(state, value string) string {
	return `{"state":"` + state + `","last_value":` + value + `,"checks":[{"state":"` + state + `","calculated_value":` + value + `,"targets_notified":false,"error":null}]}`
}

// A check compares the value of the last complete day, or its change, with the bounds. The expected
// values follow from the numbers in the rows: 4 January, and 3 January for changes.
func TestAlerts_Conditions(t *testing.T) {
	const ongoing = `{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true}`
	const second = `{"type":"TrendsAlertConfig","series_index":1}`
	pie := trends(`,"trendsFilter":{"display":"ActionsPie"}`)
	line := "[" + daily("1", "10", "12", "99") + "]"
	down := "[" + daily("1", "10", "4", "0") + "]"
	fromZero := "[" + daily("0", "0", "3", "0") + "]"
	zeros := "[" + daily("0", "0", "0", "0") + "]"
	other := `[{"action":{"order":0},"label":"a","data":[0,0,0,0],"days":["2026-01-02","2026-01-03","2026-01-04","2026-01-05"]},{"action":{"order":1},"label":"b","data":[0,0,7,0],"days":["2026-01-02","2026-01-03","2026-01-04","2026-01-05"]}]`
	values := `[` + daily("0", "0", "5", "0") + `,` + daily("0", "0", "11", "0") + `,` + daily("0", "0", "50", "0") + `]`
	tables := map[string][]ruletest.Row{}
	for i, c := range [][6]string{
		{"absolute_value", absolute(`{"upper":11}`), firstSeries, trends(""), line, firing("Firing", "12")},
		{"absolute_value", absolute(`{"upper":12}`), firstSeries, trends(""), line, firing("Not firing", "12")},
		{"absolute_value", absolute(`{"lower":12.5}`), firstSeries, trends(""), line, firing("Firing", "12")},
		{"absolute_value", absolute(`{}`), firstSeries, trends(""), line, firing("Not firing", "12")},
		{"absolute_value", absolute(`{"upper":98}`), ongoing, trends(""), line, firing("Firing", "99")},
		{"absolute_value", absolute(`{"upper":6}`), second, trends(""), other, firing("Firing", "7")},
		{"absolute_value", absolute(`{"upper":10}`), firstSeries, trends(""), values, firing("Firing", "11")},
		{"absolute_value", absolute(`{"lower":1}`), firstSeries, trends(""), `[]`, firing("Firing", "0")},
		{"absolute_value", absolute(`{"upper":10}`), firstSeries, pie, `[{"action":{"order":0},"label":"a","data":[],"days":[],"aggregated_value":11}]`, firing("Firing", "11")},
		{"absolute_value", absolute(`{"upper":10}`), firstSeries, trends(""), "[" + daily("1", "1", "null", "1") + "]", `{"state":"Errored","last_value":null,"checks":[{"state":"Errored","calculated_value":null,"error":"The value of the insight is not a number."}]}`},
		{"relative_increase", absolute(`{"upper":1}`), firstSeries, trends(""), line, firing("Firing", "2")},
		{"relative_increase", absolute(`{"upper":2}`), firstSeries, trends(""), line, firing("Not firing", "2")},
		{"relative_increase", absolute(`{"upper":86}`), ongoing, trends(""), line, firing("Firing", "87")},
		{"relative_increase", fraction(`{"upper":0.19}`), firstSeries, trends(""), line, firing("Firing", "0.2")},
		{"relative_increase", fraction(`{"upper":0.19}`), firstSeries, trends(""), fromZero, firing("Firing", "null")},
		{"relative_increase", fraction(`{"upper":0.19}`), firstSeries, trends(""), zeros, firing("Not firing", "0")},
		{"relative_decrease", absolute(`{"upper":5}`), firstSeries, trends(""), down, firing("Firing", "6")},
		{"relative_decrease", fraction(`{"upper":0.5}`), firstSeries, trends(""), down, firing("Firing", "0.6")},
		{"relative_decrease", fraction(`{"upper":0.5}`), firstSeries, trends(""), fromZero, firing("Not firing", "null")},
	} {
		tables[fmt.Sprint(i, " ", c[0])] = found(c[0], c[1], c[2], c[3], c[4], c[5])
	}
	runAlertTables(t, tables)
}

// The query of a check has no more intervals than the check evaluates.
func TestAlerts_Question(t *testing.T) {
	rowsFor := func(insight, want string) []ruletest.Row {
		rows := found("absolute_value", absolute(`{}`), firstSeries, insight, `[]`, `{"state":"Not firing"}`)
		return append(rows, ruletest.Row{"clients.md §9.3", "-", "asked", ``, want})
	}
	runAlertTables(t, map[string][]ruletest.Row{
		"days":       rowsFor(trends(`,"dateRange":{"date_from":"2020-01-01","date_to":"2020-02-01"},"compareFilter":{"compare":true}`), `{"kind":"TrendsQuery","dateRange":{"date_from":"-3d","date_to":"(absent)"},"compareFilter":"(absent)"}`),
		"hours":      rowsFor(trends(`,"interval":"hour"`), `{"dateRange":{"date_from":"-3h"},"interval":"hour"}`),
		"months":     rowsFor(trends(`,"interval":"month"`), `{"dateRange":{"date_from":"-3m"}}`),
		"smoothed":   rowsFor(trends(`,"trendsFilter":{"smoothingIntervals":7}`), `{"dateRange":{"date_from":"-10d"}}`),
		"cumulative": rowsFor(trends(`,"dateRange":{"date_from":"-30d","date_to":"-1d"},"trendsFilter":{"display":"ActionsLineGraphCumulative"}`), `{"dateRange":{"date_from":"-30d","date_to":"(absent)"}}`),
		"no time":    rowsFor(trends(`,"dateRange":{"date_from":"2020-01-01"},"trendsFilter":{"display":"BoldNumber"}`), `{"dateRange":{"date_from":"2020-01-01"}}`),
		"formula":    rowsFor(trends(`,"trendsFilter":{"formulas":["A/B","B"]}`), `{"trendsFilter":{"formulas":"(absent)","formulaNodes":[{"formula":"A/B"}]}}`),
	})
}

func TestAlerts_States(t *testing.T) {
	begin := rows(
		[]ruletest.Row{
			{"clients.md §9.3", "-", "at 2026-01-05T12:20:00Z", ``, `null`},
			{"clients.md §9.3", "bob", "insight A", trends(""), `{"tags":[]}`},
			{"clients.md §9.3", "bob", "make X", alertOn("absolute_value", absolute(`{"upper":10}`), firstSeries), `{"state":"Not firing"}`},
			{"clients.md §9.3", "-", "rows", "[" + daily("0", "0", "11", "0") + "]", `null`},
			{"clients.md §9.3 without a time it is due", "-", "check", ``, `1`},
			{"clients.md §9.3 daily, tomorrow at 1, at the minute of its making", "bob", "get X", ``, `{"state":"Firing","last_checked_at":"(like) ^2026-01-05T12:20","next_check_at":"2026-01-06T01:20:00Z","last_notified_at":null}`},
			{"clients.md §9.3 not before", "-", "check", ``, `0`},
		},
	)
	with := func(more ...ruletest.Row) []ruletest.Row { return rows(begin, more) }
	runAlertTables(t, map[string][]ruletest.Row{
		"again": with(
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T01:20:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "rows", `[]`, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3", "bob", "get X", ``, `{"state":"Not firing","checks":[{"state":"Not firing","calculated_value":0},{"state":"Firing","calculated_value":11}]}`},
			ruletest.Row{"clients.md §9.1 checks_limit", "bob", "get X", `{"Limit":1}`, `{"checks":[{"state":"Not firing"}]}`},
			ruletest.Row{"clients.md §9.1 checks_date_to", "bob", "get X", `{"To":"2026-01-06T00:00:00Z"}`, `{"checks":[{"state":"Firing"}]}`},
		),
		"errored": with(
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "fails Too many rows.", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 the check keeps the error", "bob", "get X", ``, `{"state":"Errored","last_value":11,"next_check_at":"2026-01-07T01:20:00Z","checks":[{"state":"Errored","error":"Too many rows.","calculated_value":null},{"state":"Firing"}]}`},
		),
		"changed": with(
			ruletest.Row{"clients.md §9.3 a name does not matter", "bob", "change X", `{"name":"M"}`, `{"state":"Firing","next_check_at":"2026-01-06T01:20:00Z"}`},
			ruletest.Row{"clients.md §9.3 nor what is the same", "bob", "change X", alertOn("absolute_value", ` {"type": "absolute", "bounds": {"upper": 10}}`, firstSeries), `{"state":"Firing"}`},
			ruletest.Row{"clients.md §9.3 threshold", "bob", "change X", `{"threshold":{"configuration":{"type":"absolute","bounds":{"upper":12}}}}`, `{"state":"Not firing","next_check_at":null}`},
			ruletest.Row{"clients.md §9.3 threshold", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 interval: checked anew", "bob", "change X", `{"calculation_interval":"hourly"}`, `{"next_check_at":null}`},
			ruletest.Row{"clients.md §9.3 interval: checked anew", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 hourly", "bob", "get X", ``, `{"next_check_at":"2026-01-05T13:20:00Z"}`},
		),
		"disabled": with(
			ruletest.Row{"clients.md §9.3", "bob", "change X", `{"enabled":false}`, `{"state":"Not firing","enabled":false}`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-09T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `0`},
			ruletest.Row{"clients.md §9.3", "bob", "change X", `{"enabled":true}`, `{"state":"Not firing"}`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
		),
		"snoozed": with(
			ruletest.Row{"clients.md §9.1", "bob", "change X", `{"snoozed_until":"1w"}`, `{"state":"Snoozed","snoozed_until":"(like) ^2026-01-12T12:20"}`},
			ruletest.Row{"clients.md §9.3 and a check row", "bob", "get X", ``, `{"checks":[{"state":"Snoozed"},{"state":"Firing"}]}`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `0`},
			ruletest.Row{"clients.md §9.3 awake again", "bob", "change X", `{"snoozed_until":null}`, `{"state":"Not firing","snoozed_until":null}`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 null where it was null changes nothing", "bob", "change X", `{"snoozed_until":null}`, `{"state":"Firing"}`},
			ruletest.Row{"clients.md §9.1", "bob", "change X", `{"snoozed_until":"2026-01-08T00:00:00Z"}`, `{"state":"Snoozed"}`},
			ruletest.Row{"clients.md §9.3 it ends by itself", "-", "at 2026-01-10T00:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3 it ends by itself", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 it ends by itself, and what is found counts", "bob", "get X", ``, `{"state":"Firing","snoozed_until":null}`},
		),
		"no longer valid": with(
			ruletest.Row{"clients.md §9.3", "bob", "changeinsight A", `{"query":{"kind":"TrendsQuery","series":[]}}`, `{"alerts":[{"name":"N"}]}`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `0`},
			ruletest.Row{"clients.md §9.3 it is disabled and says why", "bob", "get X", ``, `{"enabled":false,"state":"Not firing","checks":[{"state":"Errored","error":"(like) series_index 0 is out of range \\(query has 0 series\\)"},{"state":"Firing"}]}`},
		),
		"no longer about trends": with(
			ruletest.Row{"clients.md §3.2 such a query takes the alerts away", "bob", "changeinsight A", `{"query":{"kind":"FunnelsQuery","series":[]}}`, `{"alerts":[]}`},
			ruletest.Row{"clients.md §3.2", "bob", "get X", ``, `404 not_found - Not found.`},
			ruletest.Row{"clients.md §3.2", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §3.2", "-", "check", ``, `0`},
		),
		"deleted insight": with(
			ruletest.Row{"clients.md §9.3", "bob", "changeinsight A", `{"deleted":true}`, `{"deleted":true}`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `0`},
			ruletest.Row{"clients.md §9.3", "bob", "changeinsight A", `{"deleted":false}`, `{"deleted":false}`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T03:30:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
		),
		"deleted": with(
			ruletest.Row{"clients.md §9.1", "bob", "delete X", ``, `null`},
			ruletest.Row{"clients.md §9.1", "-", "at 2026-01-06T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.1", "-", "check", ``, `0`},
		),
		"a clock that was wrong": with(
			ruletest.Row{"clients.md §9.3", "-", "at 2036-01-06T01:20:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3", "-", "at 2026-01-06T01:20:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3 it is checked although ten years are left", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3", "bob", "get X", ``, `{"next_check_at":"2026-01-07T01:20:00Z"}`},
		),
		"weekend": with(
			ruletest.Row{"clients.md §9.3", "bob", "change X", `{"skip_weekend":true}`, `{"skip_weekend":true}`},
			ruletest.Row{"clients.md §9.3 a Friday", "-", "at 2026-01-09T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `1`},
			ruletest.Row{"clients.md §9.3 waits for Monday", "bob", "get X", ``, `{"next_check_at":"2026-01-12T01:20:00Z"}`},
			ruletest.Row{"clients.md §9.3 a Saturday", "-", "at 2026-01-10T02:00:00Z", ``, `null`},
			ruletest.Row{"clients.md §9.3 also one that was changed then", "bob", "change X", `{"calculation_interval":"hourly"}`, `{"next_check_at":null}`},
			ruletest.Row{"clients.md §9.3", "-", "check", ``, `0`},
			ruletest.Row{"clients.md §9.3", "bob", "get X", ``, `{"next_check_at":"2026-01-12T00:00:00Z"}`},
		),
	})
}

// A check has no result if its alert is changed meanwhile, and the next check does.
func TestAlerts_ChangedMeanwhile(t *testing.T) {
	w := newAlertWorld(t)
	calls := w.calls(t)
	w.Run(t, calls, found("absolute_value", absolute(`{"upper":10}`), firstSeries, trends(""), `[]`, `{"state":"Not firing"}`))
	w.Run(t, calls, []ruletest.Row{{"clients.md §9.3", "-", "at 2026-01-06T12:00:00Z", ``, `null`}})
	r := w.Dashboards.Alerts
	list, err := r.List(t.Context(), w.Scope(t, "bob"), "", management.Page{Limit: 1})
	if err != nil || list.Count != 1 {
		t.Fatal(list, err)
	}
	id := list.Results[0].ID
	w.rows = "[" + strings.ReplaceAll(daily("99", "99", "99", "99"), "2026-01-05", "2026-01-06") + "]"
	r.Config.RunQuery = func(ctx context.Context, _ *management.ProjectRecord, _ json.RawMessage) (json.RawMessage, error) {
		_, err := r.Update(ctx, w.Scope(t, "bob"), id, ruletest.Body(t, `{"threshold":{"configuration":{"type":"absolute","bounds":{"upper":100}}}}`), false)
		r.Config.RunQuery = func(context.Context, *management.ProjectRecord, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(w.rows), nil
		}
		return json.RawMessage(w.rows), err
	}
	if _, err := r.CheckDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Run(t, calls, []ruletest.Row{{"clients.md §9.3", "bob", "get " + id, ``, `{"state":"Not firing","last_value":99}`}})
}

// An unavailable store or queue counts as an error of the alert only at the fifth attempt.
func TestAlerts_Unavailable(t *testing.T) {
	w := newAlertWorld(t)
	calls := w.calls(t)
	w.Run(t, calls, found("absolute_value", absolute(`{"upper":10}`), firstSeries, trends(""), `[]`, `{"state":"Not firing"}`))
	w.Clock = time.Date(2026, 1, 6, 12, 0, 0, 0, time.UTC)
	for try := 1; try <= 5; try++ {
		w.err = &management.Error{Kind: management.Unavailable, Message: "Busy."}
		_, err := w.Dashboards.Alerts.CheckDue(t.Context())
		want, wantErr := "Not firing", true
		if try == 5 {
			want, wantErr = "Errored", false
		}
		if (err != nil) != wantErr {
			t.Errorf("try %d: %v", try, err)
		}
		list, err := w.Dashboards.Alerts.List(t.Context(), w.Scope(t, "bob"), "", management.Page{Limit: 1})
		if err != nil || list.Results[0].State != want {
			t.Errorf("try %d: %v %v, want %s", try, list.Results, err, want)
		}
		w.Clock = w.Clock.Add(time.Minute)
	}
}
