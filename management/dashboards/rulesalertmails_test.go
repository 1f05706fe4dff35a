package dashboards_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/notices"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// mailCalls are the calls of an alertWorld that sends mails. "mails" returns the mails of the last
// checks, and with "full" the outbox refuses further mails.
func mailCalls(t *testing.T, a *alertWorld) ruletest.Calls {
	calls, r := a.calls(t), a.Dashboards.Alerts
	mails, full, queued := []notices.Notice{}, false, 0
	r.Config.Notify = func(_ management.Tx, n notices.Notice) (bool, error) {
		if full {
			return false, nil
		}
		mails = append(mails, n)
		return len(n.Users) > 0, nil
	}
	r.Config.MailQueued = func() { queued++ }
	calls["mails"] = func(*management.Scope, string, string) (any, error) {
		out := map[string]any{"mails": mails, "queued": queued}
		mails, queued = []notices.Notice{}, 0
		return out, nil
	}
	calls["full"] = func(*management.Scope, string, string) (any, error) { full = true; return nil, nil }
	return calls
}

// hours, weeks and months return a row of series 0. Its last point is the interval of Monday, 5
// January 2026, 12:00 UTC.
func hours(points string) string {
	return `[{"action":{"order":0},"label":"a","data":[` + points + `],"days":["2026-01-05 10:00:00","2026-01-05 11:00:00","2026-01-05 12:00:00"]}]`
}

func weeks(points string) string {
	return `[{"action":{"order":0},"label":"a","data":[` + points + `],"days":["2025-12-22","2025-12-29","2026-01-05"]}]`
}

func months(points string) string {
	return `[{"action":{"order":0},"label":"a","data":[` + points + `],"days":["2025-11-01","2025-12-01","2026-01-01"]}]`
}

// The line of a mail is that of clients.md §9.4, with the numbers of the row: the value of 4
// January is 12 or 4, that of the day before is 10, and that of the running day is 99.
func TestAlerts_MailLines(t *testing.T) {
	const ongoing = `{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":true}`
	rising, falling := "["+daily("1", "10", "12", "99")+"]", "["+daily("1", "10", "4", "99")+"]"
	labelled := func(label string) string { return strings.Replace(rising, `"label":"a"`, `"label":"`+label+`"`, 1) }
	for _, c := range []struct{ condition, threshold, config, insight, result, want string }{
		{"absolute_value", absolute(`{"upper":11}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (12) is more than upper threshold (11)"},
		{"absolute_value", absolute(`{"lower":12.5}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (12) is less than lower threshold (12.5)"},
		{"absolute_value", absolute(`{"lower":-5,"upper":11.25}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (12) is more than upper threshold (11.25)"},
		{"absolute_value", absolute(`{"upper":98}`), ongoing, trends(""), rising, "The insight value (a) for current day (99) is more than upper threshold (98)"},
		{"relative_increase", absolute(`{"upper":1}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (2) increased more than upper threshold (1)"},
		{"relative_increase", absolute(`{"lower":5}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (2) increased less than lower threshold (5)"},
		{"relative_increase", fraction(`{"upper":0.195}`), firstSeries, trends(""), rising, "The insight value (a) for previous day (20.00%) increased more than upper threshold (19.50%)"},
		{"relative_increase", fraction(`{"lower":0}`), firstSeries, trends(""), falling, "The insight value (a) for previous day (-60.00%) increased less than lower threshold (0.00%)"},
		{"relative_decrease", absolute(`{"upper":5}`), firstSeries, trends(""), falling, "The insight value (a) for previous day (6) decreased more than upper threshold (5)"},
		{"relative_decrease", fraction(`{"upper":0.5}`), firstSeries, trends(""), falling, "The insight value (a) for previous day (60.00%) decreased more than upper threshold (50.00%)"},
		{"absolute_value", absolute(`{"upper":6}`), firstSeries, trends(`,"interval":"hour"`), hours("5,7,0"), "The insight value (a) for previous hour (7) is more than upper threshold (6)"},
		{"absolute_value", absolute(`{"upper":6}`), firstSeries, trends(`,"interval":"week"`), weeks("5,7,0"), "The insight value (a) for previous week (7) is more than upper threshold (6)"},
		{"absolute_value", absolute(`{"upper":6}`), firstSeries, trends(`,"interval":"month"`), months("5,7,0"), "The insight value (a) for previous month (7) is more than upper threshold (6)"},
		{"absolute_value", absolute(`{"upper":10}`), firstSeries, trends(`,"trendsFilter":{"display":"BoldNumber"}`), `[{"action":{"order":0},"label":"a","data":[],"days":[],"aggregated_value":11.5}]`, "The insight value (a) (11.5) is more than upper threshold (10)"},
		{"absolute_value", absolute(`{"lower":1}`), firstSeries, trends(""), `[]`, "The insight value (no data) for previous day (0) is less than lower threshold (1)"},
		{"absolute_value", absolute(`{"upper":11}`), firstSeries, trends(""), labelled(`two\nlines  \t here`), "The insight value (two lines here) for previous day (12) is more than upper threshold (11)"},
		{"absolute_value", absolute(`{"upper":11}`), firstSeries, trends(""), labelled(strings.Repeat("ä", 200)), "The insight value (" + strings.Repeat("ä", 200) + ") for previous day (12) is more than upper threshold (11)"},
		{"absolute_value", absolute(`{"upper":11}`), firstSeries, trends(""), labelled(strings.Repeat("ä", 201)), "The insight value (" + strings.Repeat("ä", 200) + "…) for previous day (12) is more than upper threshold (11)"},
		{"absolute_value", absolute(`{"upper":50}`), firstSeries, trends(""), "[" + daily("1", "10", "12", "99") + "," + strings.Replace(daily("0", "0", "51", "0"), `"label":"a"`, `"label":"b::Chrome"`, 1) + "," + daily("0", "0", "60", "0") + "]", "The insight value (b::Chrome) for previous day (51) is more than upper threshold (50)"},
	} {
		t.Run(c.want, func(t *testing.T) {
			w := newAlertWorld(t)
			w.Run(t, mailCalls(t, w), append(found(c.condition, c.threshold, c.config, c.insight, c.result, `{"state":"Firing","last_notified_at":"2026-01-05T12:00:04Z","checks":[{"targets_notified":true}]}`),
				ruletest.Row{"clients.md §9.4", "-", "mails", ``, fmt.Sprintf(`{"queued":1,"mails":[{"Project":1,"Users":[2],"Subject":"Alert N is firing","Lines":[%s]}]}`, storage.Encode(c.want))}))
		})
	}
}

func TestAlerts_Mails(t *testing.T) {
	quiet := "[" + strings.ReplaceAll(daily("0", "0", "1", "0"), "2026-01-05", "2026-01-06") + "]"
	begin := []ruletest.Row{
		{"clients.md §9.4", "-", "at 2026-01-05T12:20:00Z", ``, `null`},
		{"clients.md §9.4", "bob", "insight A => i", trends(""), `{"tags":[]}`},
		{"clients.md §9.4", "bob", "make X => x", alertOn("absolute_value", anUpperBound, firstSeries), `{"last_notified_at":null}`},
		{"clients.md §9.4", "-", "rows", "[" + daily("11", "11", "11", "11") + "]", `null`},
	}
	const none = `{"queued":0,"mails":[]}`
	tables := map[string][]ruletest.Row{
		"at every check": {
			{"clients.md §9.4 subject, line and links", "-", "check", ``, `1`},
			{"clients.md §9.4 subject, line and links", "-", "mails", ``, `{"queued":1,"mails":[{"Users":[2],"Subject":"Alert N is firing","Lines":["(like) ^The insight value"],
				"Links":[{"label":"(like) .","path":"/project/1/insights/<i.short_id>"},{"label":"(like) .","path":"/project/1/insights/<i.short_id>?alert_id=<x>"}]}]}`},
			{"clients.md §9.3 nothing is due", "-", "check", ``, `0`},
			{"clients.md §9.3 nothing is due", "-", "mails", ``, none},
			{"clients.md §9.3 mail at every due check", "-", "at 2026-01-06T01:20:00Z", ``, `null`},
			{"clients.md §9.3 mail at every due check", "-", "check", ``, `1`},
			{"clients.md §9.3 mail at every due check", "-", "mails", ``, `{"queued":1,"mails":[{"Users":[2]}]}`},
			{"clients.md §9.3 no breach, no mail", "-", "at 2026-01-07T01:20:00Z", ``, `null`},
			{"clients.md §9.3 no breach, no mail", "-", "rows", quiet, `null`},
			{"clients.md §9.3 no breach, no mail", "-", "check", ``, `1`},
			{"clients.md §9.3 no breach, no mail", "-", "mails", ``, none},
			{"clients.md §9.1 the last time stays", "bob", "get X", ``, `{"state":"Not firing","last_notified_at":"2026-01-06T01:20:01Z","checks":[{"targets_notified":false},{"targets_notified":true},{"targets_notified":true}]}`},
		},
		"an error": {
			{"clients.md §9.3 query failed: no mail", "-", "fails Too many rows.", ``, `null`},
			{"clients.md §9.3 query failed: no mail", "-", "check", ``, `1`},
			{"clients.md §9.3 query failed: no mail", "-", "mails", ``, none},
			{"clients.md §9.3 query failed: no mail", "bob", "get X", ``, `{"state":"Errored","last_notified_at":null,"checks":[{"targets_notified":false}]}`},
		},
		"subscribers": {
			{"clients.md §9.4 each of them", "bob", "change X", `{"subscribed_users":[3,2,7,3]}`, `{"subscribed_users":[{"first_name":"cyd"},{"first_name":"bob"},{"first_name":"gus"}]}`},
			{"clients.md §9.4 each of them", "-", "check", ``, `1`},
			{"clients.md §9.4 one message to each", "-", "mails", ``, `{"mails":[{"Users":[3,2,7]}]}`},
			{"clients.md §9.4 to active members with access to the project", "bob", "change X", `{"calculation_interval":"hourly","subscribed_users":[5,6,2]}`, `{"subscribed_users":[{"first_name":"eve"},{"first_name":"fay"},{"first_name":"bob"}]}`},
			{"clients.md §9.4 to active members with access to the project", "-", "check", ``, `1`},
			{"clients.md §9.4 eve has no access, fay is inactive", "-", "mails", ``, `{"mails":[{"Users":[2]}]}`},
			{"clients.md §9.4 nobody", "bob", "change X", `{"calculation_interval":"daily","subscribed_users":[]}`, `{"subscribed_users":[]}`},
			{"clients.md §9.4 nobody", "-", "check", ``, `1`},
			{"clients.md §9.4 nobody", "-", "mails", ``, none},
			{"clients.md §9.4 nobody", "bob", "get X", `{"Limit":1}`, `{"state":"Firing","checks":[{"targets_notified":false}]}`},
		},
		"an outbox that is full": {
			{"clients.md §9.4", "-", "full", ``, `null`},
			{"clients.md §9.4", "-", "check", ``, `1`},
			{"clients.md §9.4 it fires, and nobody was told", "bob", "get X", ``, `{"state":"Firing","last_notified_at":null,"checks":[{"targets_notified":false}]}`},
			{"clients.md §9.4", "-", "mails", ``, `{"queued":0}`},
		},
		"names of the time of the mail": {
			{"clients.md §9.4 its new name", "bob", "change X", `{"name":"Renamed"}`, `{"name":"Renamed"}`},
			{"clients.md §9.4 its new name", "-", "check", ``, `1`},
			{"clients.md §9.4 its new name", "-", "mails", ``, `{"mails":[{"Subject":"Alert Renamed is firing"}]}`},
		},
	}
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			w := newAlertWorld(t)
			w.Run(t, mailCalls(t, w), append(begin[:len(begin):len(begin)], rows...))
		})
	}
}

// Intervals and checks follow the clock of the project's time zone (clients.md §9.3). With the clock of
// UTC the same rows would give other values.
func TestAlerts_Zones(t *testing.T) {
	for _, c := range []struct{ zone, insight, result, next string }{
		// 13:00 in Berlin, so the last complete hour is that of 12:00.
		{"Europe/Berlin", trends(`,"interval":"hour"`), `[{"action":{"order":0},"label":"a","data":[1,2,3],"days":["2026-01-05 11:00:00","2026-01-05 12:00:00","2026-01-05 13:00:00"]}]`, "2026-01-06T00:00:00Z"},
		// 1:00 on 6 January in Auckland, which is 13 hours ahead of UTC.
		{"Pacific/Auckland", trends(""), `[{"action":{"order":0},"label":"a","data":[1,2,3],"days":["2026-01-04","2026-01-05","2026-01-06"]}]`, "2026-01-06T12:00:00Z"},
		// 17:30 in Kolkata, and the alert was created at half past.
		{"Asia/Kolkata", trends(`,"interval":"hour"`), `[{"action":{"order":0},"label":"a","data":[1,2,3],"days":["2026-01-05 15:00:00","2026-01-05 16:00:00","2026-01-05 17:00:00"]}]`, "2026-01-05T20:00:00Z"},
	} {
		t.Run(c.zone, func(t *testing.T) {
			w := newAlertWorld(t)
			w.InZone(t, c.zone)
			w.Run(t, w.calls(t), found("absolute_value", absolute(`{"upper":1}`), firstSeries, c.insight, c.result, `{"state":"Firing","last_value":2,"next_check_at":"`+c.next+`"}`))
		})
	}
}

// With formulas the query has only the one of the alert, and each row of the result is compared.
// Narrow queries cover the running interval and the two before it, in the unit of the interval.
func TestAlerts_Queries(t *testing.T) {
	queryRows := func(config, insight, want string) []ruletest.Row {
		return append(found("absolute_value", absolute(`{"upper":1}`), config, insight, `[]`, `{"state":"Not firing"}`), ruletest.Row{"clients.md §9.3", "-", "asked", ``, want})
	}
	second := `{"type":"TrendsAlertConfig","series_index":1}`
	runAlertTables(t, map[string][]ruletest.Row{
		"minutes":                             queryRows(firstSeries, trends(`,"interval":"minute"`), `{"dateRange":{"date_from":"-3M"}}`),
		"weeks":                               queryRows(firstSeries, trends(`,"interval":"week"`), `{"dateRange":{"date_from":"-3w"}}`),
		"no interval":                         queryRows(firstSeries, trends(``), `{"dateRange":{"date_from":"-3d"},"interval":"(absent)"}`),
		"an unknown one":                      queryRows(firstSeries, trends(`,"interval":"decade"`), `{"dateRange":{"date_from":"-3d"}}`),
		"no smoothing":                        queryRows(firstSeries, trends(`,"trendsFilter":{"smoothingIntervals":1}`), `{"dateRange":{"date_from":"-3d"}}`),
		"other members":                       queryRows(firstSeries, trends(`,"breakdownFilter":{"breakdown":"$browser"},"samplingFactor":0.5,"filterTestAccounts":true`), `{"breakdownFilter":{"breakdown":"$browser"},"samplingFactor":0.5,"filterTestAccounts":true,"series":[{"event":"a"},{"event":"b"}]}`),
		"the second":                          queryRows(second, trends(`,"trendsFilter":{"formulas":["A/B","B"],"showLegend":true}`), `{"trendsFilter":{"formula":"(absent)","formulas":"(absent)","formulaNodes":[{"formula":"B"}],"showLegend":true}}`),
		"the second node":                     queryRows(second, trends(`,"trendsFilter":{"formula":"A","formulaNodes":[{"formula":"A"},{"formula":"B","custom_name":"x"}]}`), `{"trendsFilter":{"formula":"(absent)","formulaNodes":[{"formula":"B","custom_name":"x"}]}}`),
		"a result of a formula has no series": found("absolute_value", absolute(`{"upper":1}`), second, trends(`,"trendsFilter":{"formulas":["A","B"]}`), `[{"label":"Formula","data":[0,0,5,0],"days":["2026-01-02","2026-01-03","2026-01-04","2026-01-05"]}]`, `{"state":"Firing","last_value":5}`),
		// The sum begins where that of the insight does: 7 days ago without date_from (insights.md §3.1.2).
		"cumulative without dates": queryRows(firstSeries, trends(`,"trendsFilter":{"display":"ActionsLineGraphCumulative"}`), `{"dateRange":{"date_from":"-7d"}}`),
		"without time":             queryRows(firstSeries, trends(`,"dateRange":{"date_from":"-30d","date_to":"-1d"},"compareFilter":{"compare":true},"trendsFilter":{"display":"ActionsTable"}`), `{"dateRange":{"date_from":"-30d","date_to":"-1d"},"compareFilter":"(absent)"}`),
	})
}

// A result with rows that end earlier than the clock, or with fewer points than days, counts as 0
// there: "no rows: value 0" (clients.md §9.3).
func TestAlerts_ShortResults(t *testing.T) {
	tables := map[string][]ruletest.Row{}
	for result, want := range map[string]string{
		`[{"action":{"order":0},"label":"a","data":[5],"days":["2026-01-05"]}]`:                               `{"last_value":0}`,
		`[{"action":{"order":0},"label":"a","data":[5],"days":["2026-01-04","2026-01-05"]}]`:                  `{"last_value":5}`,
		`[{"action":{"order":0},"label":"a","data":[],"days":["2026-01-04","2026-01-05"]}]`:                   `{"last_value":0}`,
		`[{"action":{"order":0},"label":"a","data":[5,6,7],"days":["2026-01-04","2026-01-05","2026-01-06"]}]`: `{"last_value":5}`,
		`[{"action":{"order":1},"label":"b","data":[5,6],"days":["2026-01-04","2026-01-05"]}]`:                `{"last_value":0}`,
		`{"results":[]}`: `{"state":"Errored","last_value":null}`,
	} {
		tables[result] = found("absolute_value", absolute(`{}`), firstSeries, trends(""), result, want)
	}
	runAlertTables(t, tables)
}
