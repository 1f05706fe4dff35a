package dashboards_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestAlerts_Edits(t *testing.T) {
	runAlertTables(t, map[string][]ruletest.Row{
		"settings": alertSettingRows, "snoozing": snoozeRows(), "queries": alertQueryRows, "displays": displayRows(), "formulas": formulaRows,
		"another insight": alertMoveRows, "the log": alertLogRows, "states": alertStateRows,
	})
}

const anUpperBound = `{"type":"absolute","bounds":{"upper":10}}`

// configured returns the body of a change of config with members.
func configured(members string) string {
	return `{"config":{"type":"TrendsAlertConfig",` + members + `}}`
}

// bounded returns the body of a change of the threshold.
func bounded(configuration string) string {
	return `{"threshold":{"configuration":` + configuration + `}}`
}

var alertSettingRows = rows(
	[]ruletest.Row{
		{"clients.md §9.1", "bob", "insight A", trends(""), `{"name":"Sales"}`},
		{"clients.md §9.1", "bob", "make X", alertOn("absolute_value", anUpperBound, firstSeries), `{"name":"N"}`},
	},
	each("clients.md §9.1 fields", "bob", "change X",
		[2]string{`{"name":null}`, `400 null name This field may not be null.`},
		[2]string{`{"enabled":null}`, `400 null enabled This field may not be null.`},
		[2]string{`{"enabled":"perhaps"}`, `400 invalid_input enabled Must be a valid boolean.`},
		[2]string{`{"calculation_interval":null}`, `400 null calculation_interval This field may not be null.`},
		[2]string{`{"subscribed_users":null}`, `400 null subscribed_users This field may not be null.`},
		[2]string{`{"subscribed_users":2}`, `400 not_a_list subscribed_users Expected a list of items but got type "int".`},
		[2]string{`{"subscribed_users":[2,"bob"]}`, `400 invalid_input subscribed_users__1 A valid integer is required.`},
		[2]string{`{"detector_config":"zscore"}`, `400 invalid_input detector_config`},
		[2]string{`{"skip_weekend":"perhaps"}`, `400 invalid_input skip_weekend Must be a valid boolean.`},
		[2]string{`{"skip_weekend":true}`, `{"skip_weekend":true}`},
		[2]string{`{"state":"Firing","last_value":7,"last_checked_at":"2026-01-01T00:00:00Z","id":"x","created_by":null}`, `{"state":"Not firing","last_value":null,"last_checked_at":null,"created_by":{"first_name":"bob"}}`},
	),
	each("clients.md §9.1 condition", "bob", "change X",
		[2]string{`{"condition":{}}`, `400 invalid_choice condition__type`},
		[2]string{`{"condition":{"type":null}}`, `400 invalid_choice condition__type`},
		[2]string{`{"condition":[]}`, `400 not_a_dict condition Expected a dictionary of items but got type "list".`},
		[2]string{`{"condition":{"type":"relative_decrease"}}`, `{"condition":{"type":"relative_decrease"}}`},
		[2]string{`{"condition":{"type":"absolute_value"}}`, `{"condition":{"type":"absolute_value"}}`},
	),
	each("clients.md §9.1 config", "bob", "change X",
		[2]string{configured(`"series_index":"0"`), `400 invalid_input config`},
		[2]string{configured(`"series_index":0.5`), `400 invalid_input config`},
		[2]string{configured(`"series_index":null`), `400 required config__series_index This field is required.`},
		[2]string{`{"config":{"series_index":0}}`, `400 invalid_choice config__type`},
		[2]string{`{"config":"TrendsAlertConfig"}`, `400 not_a_dict config Expected a dictionary of items but got type "str".`},
		[2]string{configured(`"series_index":0,"check_ongoing_interval":"yes"`), `400 invalid_input config`},
		[2]string{configured(`"series_index":0,"check_ongoing_interval":null`), `{"config":{"type":"TrendsAlertConfig","series_index":0,"check_ongoing_interval":null}}`},
		[2]string{configured(`"series_index":1`), `{"config":{"series_index":1,"check_ongoing_interval":"(absent)"}}`},
	),
	each("clients.md §9.2 bounds", "bob", "change X",
		[2]string{bounded(`{"type":"absolute","bounds":{"lower":2,"upper":1}}`), `400 invalid_input threshold Lower threshold must be less than upper threshold`},
		[2]string{bounded(`{"type":"absolute","bounds":{"lower":-1,"upper":-0.5}}`), `{"threshold":{"configuration":{"type":"absolute","bounds":{"lower":-1,"upper":-0.5}}}}`},
		[2]string{bounded(`{"type":"absolute","bounds":{"lower":0}}`), `{"threshold":{"configuration":{"bounds":{"lower":0,"upper":"(absent)"}}}}`},
		[2]string{bounded(`{"type":"absolute","bounds":null}`), `{"threshold":{"configuration":{"type":"absolute","bounds":null}}}`},
		[2]string{bounded(`[]`), `400 * *`},
		[2]string{bounded(`null`), `400 * *`},
		[2]string{`{"threshold":{"bounds":{"upper":1}}}`, `400 required threshold__configuration This field is required.`},
	),
	[]ruletest.Row{
		{"clients.md §9.2 a percentage of a change", "bob", "change X", `{"condition":{"type":"relative_increase"},"threshold":{"configuration":{"type":"percentage","bounds":{"upper":0.2}}}}`, `{"condition":{"type":"relative_increase"}}`},
		{"clients.md §9.2 the condition alone", "bob", "change X", `{"condition":{"type":"absolute_value"}}`, `400 invalid_input threshold Absolute value alerts require an absolute threshold, but a percentage threshold was configured`},
		{"clients.md §9.2 check_ongoing_interval of a rise", "bob", "change X", configured(`"series_index":0,"check_ongoing_interval":true`), `{"config":{"check_ongoing_interval":true}}`},
		{"clients.md §9.2 the upper bound alone", "bob", "change X", bounded(`{"type":"percentage","bounds":{"lower":0.2}}`), `400 invalid_input config`},
		{"clients.md §9.2 a refusal changes nothing", "bob", "get X", ``, `{"threshold":{"configuration":{"type":"percentage","bounds":{"upper":0.2}}},"condition":{"type":"relative_increase"}}`},
		{"clients.md §9.1 another member", "cyd", "change X", `{"name":"M"}`, `{"name":"M","created_by":{"first_name":"bob"}}`},
		{"§1.5 another project's", "dan", "change X", `{"name":"M"}`, `404 not_found - Not found.`},
		{"§1.5 another project's", "dan", "delete X", ``, `404 not_found - Not found.`},
	},
)

// snoozeRows are about snoozed_until: each body is sent at 12:00:01 on 5 January 2026.
func snoozeRows() []ruletest.Row {
	out := []ruletest.Row{
		{"clients.md §9.1", "bob", "insight A", trends(""), `{"name":"Sales"}`},
		{"clients.md §9.1", "bob", "make X", alertOn("absolute_value", anUpperBound, firstSeries), `{"name":"N"}`},
	}
	for _, c := range [][2]string{
		{`"2h"`, `{"state":"Snoozed","snoozed_until":"2026-01-05T14:00:01Z"}`},
		{`"1d"`, `{"state":"Snoozed","snoozed_until":"2026-01-06T12:00:01Z"}`},
		{`"1w"`, `{"state":"Snoozed","snoozed_until":"2026-01-12T12:00:01Z"}`},
		{`"2026-01-05T20:00:00+02:00"`, `{"state":"Snoozed","snoozed_until":"2026-01-05T18:00:00Z"}`},
		{`"2026-01-05T12:00:01Z"`, `{"state":"Not firing","snoozed_until":"2026-01-05T12:00:01Z"}`}, // it is over
		{`"2026-01-05T12:00:02Z"`, `{"state":"Snoozed","snoozed_until":"2026-01-05T12:00:02Z"}`},
		{`"2m"`, `400 invalid_input snoozed_until`}, {`"h"`, `400 invalid_input snoozed_until`}, {`"-2h"`, `400 invalid_input snoozed_until`}, {`"2 h"`, `400 invalid_input snoozed_until`},
		{`"1000h"`, `400 invalid_input snoozed_until`}, {`[]`, `400 invalid_input snoozed_until Not a valid string.`},
		{`null`, `{"state":"Not firing","snoozed_until":null}`},
	} {
		out = append(out, ruletest.Row{"", "-", "at 2026-01-05T12:00:00Z", ``, `null`}, ruletest.Row{"clients.md §9.1 snoozed_until", "bob", "change X", `{"snoozed_until":` + c[0] + `}`, c[1]})
	}
	// A check row for each time at which it was snoozed: five of them, newest first.
	return append(out, ruletest.Row{"clients.md §9.3 and a check row", "bob", "get X", `{"Limit":9}`, `{"checks":[{"state":"Snoozed","calculated_value":null,"targets_notified":false,"error":null},{"state":"Snoozed"},{"state":"Snoozed"},{"state":"Snoozed"},{"state":"Snoozed"}]}`})
}

// on returns the rows that create insight A with the query q, and an alert on it.
func on(q, want string) []ruletest.Row {
	return []ruletest.Row{
		{"clients.md §9.2", "bob", "insight A", `{"query":` + q + `}`, `{"tags":[]}`},
		{"clients.md §9.2 the query " + q, "bob", "make", alertOn("absolute_value", anUpperBound, firstSeries), want},
	}
}

const (
	oneSeries    = `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}]}`
	noAlertsHere = `400 invalid_input insight Alerts are not supported for this insight.`
)

// otherKind is the refusal of a query of another kind.
func otherKind(kind string) string {
	return `400 invalid_input insight Alert's insight query kind '` + kind + `' is not supported (only TrendsQuery)`
}

var alertQueryRows = rows(
	on(oneSeries, `{"name":"N"}`),
	on(`{"kind":"InsightVizNode","source":`+oneSeries+`}`, `{"name":"N"}`),
	on(`{"kind":"DataVisualizationNode","source":`+oneSeries+`}`, `{"name":"N"}`),
	on(`{"kind":"DataTableNode","source":{"kind":"InsightVizNode","source":`+oneSeries+`}}`, `{"name":"N"}`),
	on(`{"kind":"HogQLQuery","query":"SELECT 1"}`, otherKind("HogQLQuery")),
	on(`{"kind":"DataVisualizationNode","source":{"kind":"HogQLQuery","query":"SELECT 1"}}`, otherKind("HogQLQuery")),
	on(`{"kind":"InsightVizNode","source":{"kind":"StickinessQuery","series":[]}}`, otherKind("StickinessQuery")),
	on(`{"kind":"SavedInsightNode","source":`+oneSeries+`}`, otherKind("SavedInsightNode")),
	on(`{"kind":"InsightVizNode"}`, noAlertsHere),
	on(`null`, noAlertsHere),
	on(`{}`, noAlertsHere),
	on(`{"kind":"TrendsQuery"}`, `400 invalid_input config series_index 0 is out of range (query has 0 series)`),
	on(`{"kind":"TrendsQuery","series":{}}`, `400 invalid_input config series_index 0 is out of range (query has 0 series)`),
)

// displayRows are about relative conditions, which need a display with time.
func displayRows() (out []ruletest.Row) {
	for display, timed := range map[string]bool{
		"BoldNumber": false, "ActionsPie": false, "ActionsBarValue": false, "ActionsTable": false, "WorldMap": false,
		"ActionsLineGraph": true, "ActionsBar": true, "ActionsAreaGraph": true, "ActionsLineGraphCumulative": true, "ActionsStackedBar": true,
	} {
		want := `{"name":"N"}`
		if !timed {
			want = `400 invalid_input condition Relative alert condition 'relative_decrease' is not compatible with non time series trends`
		}
		out = append(out,
			ruletest.Row{"clients.md §9.3", "bob", "insight A", trends(fmt.Sprintf(`,"trendsFilter":{"display":%q}`, display)), `{"tags":[]}`},
			ruletest.Row{"clients.md §9.2 " + display, "bob", "make", alertOn("relative_decrease", anUpperBound, firstSeries), want},
			ruletest.Row{"clients.md §9.3 absolute conditions " + display, "bob", "make", alertOn("absolute_value", anUpperBound, firstSeries), `{"name":"N"}`})
	}
	return out
}

// With formulas, each of them is a series (insights.md §2.4.3). An empty formula does not count.
var formulaRows = rows(
	[]ruletest.Row{
		{"clients.md §9.2", "bob", "insight A", trends(`,"trendsFilter":{"formulas":["A","","B"]}`), `{"tags":[]}`},
		{"clients.md §9.2", "bob", "make X", alertOn("absolute_value", anUpperBound, firstSeries), `{"name":"N"}`},
		{"clients.md §9.2 the second formula", "bob", "change X", configured(`"series_index":1`), `{"config":{"series_index":1}}`},
		{"clients.md §9.2 of two", "bob", "change X", configured(`"series_index":2`), `400 invalid_input config series_index 2 is out of range (query has 2 series)`},
		{"clients.md §9.2 nodes go before formulas", "bob", "changeinsight A", trends(`,"trendsFilter":{"formulas":["A"],"formulaNodes":[{"formula":"A"},{"formula":"B","custom_name":"x"},{"formula":"A+B"},{"formula":""}]}`), `{"alerts":[{"name":"N"}]}`},
		{"clients.md §9.2 three nodes", "bob", "change X", configured(`"series_index":2`), `{"config":{"series_index":2}}`},
		{"clients.md §9.2 three nodes", "bob", "change X", configured(`"series_index":3`), `400 invalid_input config series_index 3 is out of range (query has 3 series)`},
		{"clients.md §9.2 empty ones are none: two series", "bob", "changeinsight A", trends(`,"trendsFilter":{"formula":"","formulas":[""],"formulaNodes":[]}`), `{"tags":[]}`},
		{"clients.md §9.2 empty ones are none: two series", "bob", "change X", configured(`"series_index":1`), `{"config":{"series_index":1}}`},
		{"clients.md §9.2 empty ones are none: two series", "bob", "change X", configured(`"series_index":2`), `400 invalid_input config series_index 2 is out of range (query has 2 series)`},
	},
)

var alertMoveRows = []ruletest.Row{
	{"clients.md §9.1", "bob", "insight A", trends(""), `{"name":"Sales"}`},
	{"clients.md §9.1", "bob", "insight B", `{"name":"Other","query":` + oneSeries + `}`, `{"name":"Other"}`},
	{"clients.md §9.1", "bob", "make X", alertOn("absolute_value", anUpperBound, firstSeries), `{"insight":{"name":"Sales"}}`},
	{"clients.md §3.1 alerts of an insight", "bob", "changeinsight A", `{}`, `{"alerts":[{"name":"N","subscribed_users":[{"first_name":"bob"}],"created_by":{"first_name":"bob"},"state":"Not firing"}]}`},
	{"clients.md §1.1 by its short id", "bob", "change X", `{"insight":"<B.short_id>"}`, `{"insight":{"name":"Other"}}`},
	{"clients.md §2.2 insight", "bob", "list <A>", ``, `{"count":0}`},
	{"clients.md §2.2 insight", "bob", "list <B>", ``, `{"count":1,"results":[{"name":"N","insight":{"name":"Other"}}]}`},
	{"clients.md §1.1 by its short id", "bob", "list <B.short_id>", ``, `{"count":1}`},
	{"clients.md §3.1 alerts of an insight", "bob", "changeinsight A", `{}`, `{"alerts":[]}`},
	{"clients.md §3.2 a query that is no trend, of another insight", "bob", "changeinsight A", `{"query":{"kind":"FunnelsQuery"}}`, `{"alerts":[]}`},
	{"clients.md §3.2 a query that is no trend, of another insight", "bob", "get X", ``, `{"name":"N"}`},
	{"clients.md §9.2 it must fit the new one", "bob", "change X", `{"insight":<A>}`, otherKind("FunnelsQuery")},
	{"clients.md §3.2 without a query in the body", "bob", "changeinsight B", `{"name":"Another","filters":{"insight":"FUNNELS"}}`, `{"alerts":[{"name":"N"}]}`},
	{"clients.md §3.2 another trend", "bob", "changeinsight B", `{"query":` + oneSeries + `}`, `{"alerts":[{"name":"N"}]}`},
	{"clients.md §9.3 its insight is deleted: it stays", "bob", "changeinsight B", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §9.3 its insight is deleted: it stays", "bob", "list <B>", ``, `{"count":1}`},
	{"clients.md §3.2 no query", "bob", "changeinsight B", `{"deleted":false}`, `{"alerts":[{"name":"N"}]}`},
	{"clients.md §3.2 no query", "bob", "changeinsight B", `{"query":null}`, `{"alerts":[]}`},
	{"clients.md §3.2 no query", "bob", "list", ``, `{"count":0}`},
}

var alertLogRows = []ruletest.Row{
	{"§5.11", "bob", "insight A", trends(""), `{"name":"Sales"}`},
	{"§5.11", "bob", "make X => x", alertOn("absolute_value", anUpperBound, firstSeries), `{"name":"N"}`},
	{"§5.11 created", "bob", "log AlertConfiguration <x>", ``, `{"activity":"created","scope":"AlertConfiguration","item_id":"<x>","user":{"first_name":"bob"},"detail":{"name":"N"}}`},
	{"§5.11 updated", "cyd", "change X", `{"name":"M","enabled":false}`, `{"name":"M"}`},
	{"§5.11 updated", "bob", "log AlertConfiguration <x>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"enabled","before":true,"after":false},{"field":"name","before":"N","after":"M"}]}}`},
	{"§5.11", "gus", "change X", `{"enabled":true,"skip_weekend":true}`, `{"enabled":true}`},
	{"§5.11 a check is no change", "-", "check", ``, `1`},
	{"§5.11 a check is no change", "bob", "log AlertConfiguration <x>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"enabled"},{"field":"skip_weekend","before":false,"after":true}]}}`},
	{"§5.11 with the query of its insight", "ann", "changeinsight A", `{"query":{"kind":"FunnelsQuery"}}`, `{"alerts":[]}`},
	{"§5.11 with the query of its insight", "bob", "log AlertConfiguration <x>", ``, `{"activity":"deleted","user":{"first_name":"ann"},"detail":{"name":"M"}}`},
	{"§5.11", "bob", "insight B", trends(""), `{"name":"Sales"}`},
	{"§5.11", "bob", "make Y => y", `{"name":"Y","insight":"<B>","subscribed_users":[],"threshold":{"configuration":{"type":"absolute"}}}`, `{"name":"Y"}`},
	{"§5.11 deleted", "cyd", "delete Y", ``, `null`},
	{"§5.11 deleted", "bob", "log AlertConfiguration <y>", ``, `{"activity":"deleted","user":{"first_name":"cyd"},"detail":{"name":"Y"}}`},
}

// A change of the condition, the configuration or the insight resets the state, too, and one that
// is snoozed stays so.
var alertStateRows = []ruletest.Row{
	{"clients.md §9.3", "-", "at 2026-01-05T12:00:00Z", ``, `null`},
	{"clients.md §9.3", "bob", "insight A", trends(""), `{"tags":[]}`},
	{"clients.md §9.3", "bob", "insight B", trends(""), `{"tags":[]}`},
	{"clients.md §9.3", "bob", "make X", alertOn("absolute_value", anUpperBound, firstSeries), `{"state":"Not firing"}`},
	{"clients.md §9.3", "-", "rows", `[` + daily("0", "0", "11", "0") + `,{"action":{"order":1},"label":"b","data":[0,0,12,0],"days":["2026-01-02","2026-01-03","2026-01-04","2026-01-05"]}]`, `null`},
	{"clients.md §9.3", "-", "check", ``, `1`},
	{"clients.md §9.3 fires", "bob", "get X", ``, `{"state":"Firing","last_value":11}`},
	{"clients.md §9.3 config", "bob", "change X", configured(`"series_index":1`), `{"state":"Not firing","next_check_at":null,"last_value":11}`},
	{"clients.md §9.3 config", "-", "check", ``, `1`},
	{"clients.md §9.3 condition", "bob", "change X", `{"condition":{"type":"relative_increase"}}`, `{"state":"Not firing","next_check_at":null,"last_value":12}`},
	{"clients.md §9.3 condition", "-", "check", ``, `1`},
	{"clients.md §9.3 insight", "bob", "change X", `{"insight":<B>}`, `{"state":"Not firing","next_check_at":null}`},
	{"clients.md §9.3 insight", "-", "check", ``, `1`},
	{"clients.md §9.3 subscribers and weekends reset nothing", "bob", "change X", `{"subscribed_users":[],"skip_weekend":true}`, `{"state":"Firing","next_check_at":"2026-01-06T01:00:00Z"}`},
	{"clients.md §9.3 nothing is due", "-", "check", ``, `0`},
	{"clients.md §9.3 the interval: the state stays until it is checked", "bob", "change X", `{"calculation_interval":"weekly"}`, `{"state":"Firing","next_check_at":null}`},
	{"clients.md §9.3 snoozed", "bob", "change X", `{"snoozed_until":"2h"}`, `{"state":"Snoozed"}`},
	{"clients.md §9.3 a change of one that is snoozed", "bob", "change X", configured(`"series_index":0`), `{"state":"Snoozed","next_check_at":null}`},
	{"clients.md §9.3 a change of one that is snoozed", "-", "check", ``, `0`},
	{"clients.md §9.3 disabled, it is not snoozed", "bob", "change X", `{"enabled":false}`, `{"state":"Not firing"}`},
	{"clients.md §9.3 enabled, it is again", "bob", "change X", `{"enabled":true}`, `{"state":"Snoozed"}`},
	{"clients.md §9.3 the end of the two hours", "-", "at 2026-01-05T14:00:30Z", ``, `null`},
	{"clients.md §9.3 the end of the two hours", "-", "check", ``, `1`},
	{"clients.md §9.3 weekly: next Monday at 3, at the minute of its creation", "bob", "get X", ``, `{"state":"Firing","snoozed_until":null,"next_check_at":"2026-01-12T03:00:00Z"}`},
}
