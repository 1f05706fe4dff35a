package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// queryAttack is a malicious query with its expected response.
type queryAttack struct {
	name, query string
	status      int
	code, attr  string // not checked if ""
	detail      string // part of the detail
}

func hogQL(text string) string {
	return `{"kind":"HogQLQuery","query":` + string(wire.MustEncode(text)) + `}`
}

func trends(more string) string {
	return `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}]` + more + `}`
}

// deeply returns a text nested in n calls.
func deeply(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// queryAttacks test the limits of insights.md §5.4 and the errors of §1.7 and §2.9.8.
var queryAttacks = []queryAttack{
	{"a range without end", hogQL("SELECT range(0, 1000000000)"), 400, "query_too_large", "query__query", "line 1, column 8"},
	{"a range of negative length", hogQL("SELECT range(9, -9223372036854775808)"), 200, "", "", ""},
	{"a range over the widest numbers", hogQL("SELECT range(-9223372036854775808, 9223372036854775807)"), 200, "", "", ""},
	{"lists in lists", hogQL("SELECT arrayMap(a -> arrayMap(b -> arrayMap(c -> range(10000), range(10000)), range(10000)), range(10000))"), 400, "query_too_large", "query__query", "line 1"},
	{"replacing what was replaced", hogQL("SELECT " + deeply("replaceAll(", "'aaaaaaaaaa'", ", 'a', 'aaaaaaaaaa')", 20)), 400, "query_too_large", "query__query", "line 1"},
	{"doubling a text", hogQL("SELECT 'xxxxxxxxxx' AS a0" + doubled("concat(a%[1]d, a%[1]d)", 45)), 400, "query_too_large", "query__query", "line 1"},
	{"parentheses 51 deep", hogQL("SELECT " + deeply("(", "1", ")", 51)), 400, "query_too_large", "query__query", "line 1"},
	{"calls 60 deep", hogQL("SELECT " + deeply("abs(", "1", ")", 60)), 400, "query_too_large", "query__query", "line 1"},
	{"subqueries 60 deep", hogQL(deeply("SELECT * FROM (", "SELECT 1", ")", 60)), 400, "", "query__query", "line 1"},
	{"NOT 10,000 times", hogQL("SELECT " + strings.Repeat("NOT ", 10_000) + "1"), 400, "syntax_error", "query__query", "line 1, column 12"},
	{"10,000 additions", hogQL("SELECT 1" + strings.Repeat(" + 1", 10_000)), 400, "query_too_large", "query__query", ""},
	{"60 columns", hogQL("SELECT 1" + strings.Repeat(", 1", 59)), 200, "", "", ""},
	{"a text of more than 64 KiB", hogQL("SELECT '" + strings.Repeat("x", 66_000) + "'"), 400, "query_too_large", "query__query", ""},
	{"a pattern of 1,001 characters", hogQL("SELECT match('a', '" + strings.Repeat("a", 1001) + "')"), 400, "query_too_large", "query__query", "line 1, column"},
	{"a pattern that repeats repetitions", hogQL("SELECT match('a', '((a{1000}){1000}){1000}')"), 400, "", "query__query", "line 1, column"},
	{"a pattern that backtracks", hogQL("SELECT match('" + strings.Repeat("a", 1000) + "!', '(a+)+$')"), 200, "", "", ""},
	{"a huge number", hogQL("SELECT 1" + strings.Repeat("0", 400)), 400, "syntax_error", "query__query", "line 1, column 8"},
	{"a number of exponent 999999999", hogQL("SELECT 1e999999999"), 400, "syntax_error", "query__query", "line 1, column 8"},
	{"dividing by nothing", hogQL("SELECT intDiv(1, 0)"), 400, "type_error", "query__query", "line 1, column 8"},
	{"the lowest by minus one", hogQL("SELECT intDiv(-9223372036854775808, -1), -9223372036854775808 % -1"), 200, "", "", ""},
	{"a limit beyond all", hogQL("SELECT event FROM events LIMIT 99999999999999999999"), 400, "", "query__query", "line 1"},
	{"two statements", hogQL("SELECT 1; DROP TABLE events"), 400, "syntax_error", "query__query", "line 1, column 11"},
	{"a comment that does not end", hogQL("SELECT 1 /* "), 400, "syntax_error", "query__query", "line 1"},
	{"another table", hogQL("SELECT * FROM sqlite_master"), 400, "unknown_table", "query__query", `"sqlite_master"`},
	{"NUL in the text", hogQL("SELECT '\x00' \x00"), 400, "syntax_error", "query__query", "line 1"},
	{"no UTF-8", `{"kind":"HogQLQuery","query":"SELECT '\ud800'"}`, 200, "", "", ""},

	{"minutes of centuries", trends(`,"interval":"minute","dateRange":{"date_from":"1971-01-01","date_to":"2099-01-01"}`), 400, "query_too_large", "", ""},
	{"seconds of all time", trends(`,"interval":"second","dateRange":{"date_from":"all"}`), 400, "", "", ""},
	{"from the year 1", trends(`,"dateRange":{"date_from":"0001-01-01","date_to":"9999-12-31"}`), 400, "", "", ""},
	{"a date of the year 99999", trends(`,"dateRange":{"date_from":"99999-01-01"}`), 400, "invalid_input", "query__dateRange__date_from", "99999-01-01"},
	{"a million years ago", trends(`,"dateRange":{"date_from":"-1000000y"}`), 400, "invalid_input", "query__dateRange__date_from", "-1000000y"},
	{"backwards", trends(`,"dateRange":{"date_from":"2020-01-03","date_to":"2020-01-01"}`), 200, "", "", ""},
	{"a deep formula", trends(`,"trendsFilter":{"formula":"` + deeply("(", "A", ")", 5000) + `"}`), 400, "", "query__trendsFilter__formula", ""},
	{"a formula of one sign", trends(`,"trendsFilter":{"formula":"` + strings.Repeat("-", 5000) + `A"}`), 400, "", "query__trendsFilter__formula", ""},
	{"a formula by nothing", trends(`,"trendsFilter":{"formula":"A/0"}`), 200, "", "", ""},
	{"a formula of another series", trends(`,"trendsFilter":{"formula":"A+B"}`), 400, "invalid_input", "query__trendsFilter__formula", "B"},
	{"1,000 series", `{"kind":"TrendsQuery","series":[` + strings.TrimSuffix(strings.Repeat(`{"kind":"EventsNode"},`, 1000), ",") + `]}`, 400, "", "query__series", "26"},
	{"no series", `{"kind":"TrendsQuery","series":[]}`, 400, "", "query__series", ""},
	{"a breakdown by no property", trends(`,"breakdownFilter":{"breakdown":[]}`), 400, "invalid_input", "query__breakdownFilter__breakdown", "list"},
	{"a breakdown limit of a million", trends(`,"breakdownFilter":{"breakdown":"a","breakdown_limit":1000000}`), 400, "", "query__breakdownFilter__breakdown_limit", "1000"},
	{"filters 1,000 deep", trends(`,"properties":` + deeply(`{"type":"AND","values":[`, ``, `]}`, 1000)), 400, "parse_error", "", "nested"},
	{"1,000 filters", trends(`,"properties":[` + strings.TrimSuffix(strings.Repeat(`{"key":"a","value":1},`, 1000), ",") + `]`), 400, "", "query__properties", "200"},
	{"a filter's pattern of 1,001 characters", trends(`,"properties":[{"key":"a","operator":"regex","value":"` + strings.Repeat("a", 1001) + `"}]`), 400, "", "query__properties__0__value", ""},
	{"a filter's broken pattern", trends(`,"properties":[{"key":"a","operator":"regex","value":"("}]`), 400, "invalid_input", "query__properties__0__value", "a"},
	{"a cohort that is not there", trends(`,"properties":[{"key":"id","type":"cohort","value":99}]`), 400, "invalid_input", "", "99"},
	{"an action that is not there", `{"kind":"TrendsQuery","series":[{"kind":"ActionsNode","id":99}]}`, 400, "invalid_input", "", "99"},
	{"21 steps", `{"kind":"FunnelsQuery","series":[` + strings.TrimSuffix(strings.Repeat(`{"kind":"EventsNode"},`, 21), ",") + `]}`, 400, "", "query__series", "20"},
	{"a window without end", `{"kind":"FunnelsQuery","series":[{"kind":"EventsNode"},{"kind":"EventsNode"}],"funnelsFilter":{"funnelWindowInterval":9223372036854775807}}`, 400, "invalid_input", "query__funnelsFilter__funnelWindowInterval", "100000"},
	{"a million columns of retention", `{"kind":"RetentionQuery","retentionFilter":{"targetEntity":{"id":"buy","type":"events"},"returningEntity":{"id":"buy","type":"events"},"totalIntervals":1000000}}`, 400, "", "query__retentionFilter__totalIntervals", ""},
	{"51 columns of events", `{"kind":"EventsQuery","select":[` + strings.TrimSuffix(strings.Repeat(`"event",`, 51), ",") + `]}`, 400, "", "query__select", "50"},
	{"an offset beyond all", `{"kind":"EventsQuery","offset":9223372036854775808}`, 400, "", "query__offset", ""},
	{"a query within itself", deeply(`{"kind":"DataTableNode","source":`, trends(""), `}`, 500), 400, "parse_error", "", "nested"},
	{"filters 11 deep", trends(`,"properties":` + deeply(`{"type":"AND","values":[`, `{"key":"a","value":1}`, `]}`, 11)), 400, "query_too_large", "query__properties__values__0__values__0__values__0__values__0__values__0__values__0__values__0__values__0__values__0__values__0__values", "10"},
	{"a query within itself, 60 times", deeply(`{"kind":"DataTableNode","source":`, trends(""), `}`, 60), 400, "invalid_input", "query__kind", "DataTableNode"},
	{"a point of no breakdown value", `{"kind":"ActorsQuery","source":{"kind":"InsightActorsQuery","day":"2020-01-02","breakdown":[],"source":` + trends(`,"dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},"breakdownFilter":{"breakdown":"a"}`) + `}}`, 200, "", "", ""},
	{"the first year and the last one", `{"kind":"EventsQuery","select":["timestamp"],"after":"all","before":"9999-12-31T23:59:59Z"}`, 400, "invalid_input", "query__before", "9999-12-31"},
	{"the first year in SQL", hogQL("SELECT count(), min(timestamp), toStartOfMonth(min(timestamp)), dateDiff('second', min(timestamp), max(timestamp)) FROM events"), 200, "", "", ""},
	{"time beyond the last year", hogQL("SELECT toDateTime('9999-12-31 23:59:59') + INTERVAL 9223372036854775807 YEAR"), 200, "", "", ""},
	{"a kind that is no text", `{"kind":{}}`, 400, "invalid_input", "", ""},
	{"a list", `[]`, 400, "invalid_input", "query", ""},
}

// doubled returns aliases, each of which contains the previous one twice.
func doubled(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ", "+format+" AS a%[2]d", i, i+1)
	}
	return b.String()
}

// attacked returns a project with a few events, including the first and the last year.
func (o *office) attacked(t *testing.T) *insightFixture {
	return o.insightProject(t, &insightCase{ID: "attacked", Events: json.RawMessage(`[
		["buy","ann","2020-01-02T03:04:05Z",{"a":1,"b":"x"}],["buy","bob","0001-01-01T00:00:00Z",{"a":[1]}],["buy","ann","9999-12-31T23:59:59Z",{"a":{}}],
		["view","bob","2020-01-03T03:04:05Z",{"a":1e308,"b":null}]]`)})
}

// question sends a query, and fails if the response is neither a result nor a proper error.
func (v *insightFixture) question(t *testing.T, query string) (int, map[string]any) {
	t.Helper()
	status, answer := v.send(t, &insightStep{Method: "POST", Path: "/api/projects/{project}/query/", Body: json.RawMessage(`{"query":` + query + `}`)})
	object, _ := answer.(map[string]any)
	detail, _ := object["detail"].(string)
	switch {
	case status == 200 && object["results"] == nil, status == 400 && (object["type"] != "validation_error" && object["code"] != "parse_error" || detail == "" || object["code"] == ""), status != 200 && status != 400:
		t.Errorf("%.300s: %d %.500s", query, status, wire.MustEncode(answer))
	}
	return status, object
}

// A query that is too large is refused with its position (insights.md §1.7, §5.4).
func TestQuery_Attacks(t *testing.T) {
	v := newOffice(t, "sqlite::memory:").attacked(t)
	for _, a := range queryAttacks {
		t.Run(a.name, func(t *testing.T) {
			status, answer := v.question(t, a.query)
			detail, _ := answer["detail"].(string)
			attr, _ := answer["attr"].(string)
			if status != a.status || a.code != "" && answer["code"] != a.code || a.attr != "" && attr != a.attr || !strings.Contains(detail, a.detail) {
				t.Errorf("%d %v %v %.200q; results %.200s", status, answer["code"], attr, detail, wire.MustEncode(answer["results"]))
			}
		})
	}
}

// fullQueries have nearly every member of their kinds.
var fullQueries = []string{
	`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy","name":"x","custom_name":"y","math":"sum","math_property":"a","properties":[{"key":"a","type":"event","operator":"exact","value":["1"]}]}],
		"interval":"day","dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03","explicitDate":true},"filterTestAccounts":false,"properties":{"type":"AND","values":[{"type":"OR","values":[{"key":"b","operator":"is_set"}]}]},
		"breakdownFilter":{"breakdown":"a","breakdown_type":"event","breakdown_limit":3,"breakdown_hide_other_aggregation":true},"compareFilter":{"compare":true,"compare_to":"-1w"},
		"trendsFilter":{"display":"ActionsLineGraph","formula":"A","smoothingIntervals":1},"aggregation_group_type_index":null,"samplingFactor":1,"modifiers":{"personsOnEventsMode":"person_id_override_properties_on_events"}}`,
	`{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"buy"},{"kind":"EventsNode","event":"view","math":"first_time_for_user"}],"interval":"day","dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},
		"funnelsFilter":{"funnelVizType":"steps","funnelOrderType":"ordered","funnelWindowInterval":3,"funnelWindowIntervalUnit":"day","exclusions":[{"kind":"EventsNode","event":"x","funnelFromStep":0,"funnelToStep":1}],
		"breakdownAttributionType":"step","breakdownAttributionValue":0,"binCount":3,"funnelFromStep":0,"funnelToStep":1,"funnelAggregateByHogQL":null},"breakdownFilter":{"breakdown":["a","b"],"breakdown_type":"event"}}`,
	`{"kind":"RetentionQuery","dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},"retentionFilter":{"period":"Day","totalIntervals":3,"retentionType":"retention_first_time","cumulative":true,"minimumOccurrences":1,
		"targetEntity":{"id":"buy","type":"events"},"returningEntity":{"id":"view","type":"events","properties":[]}},"breakdownFilter":{"breakdown":"a","breakdown_limit":3}}`,
	`{"kind":"LifecycleQuery","series":[{"kind":"EventsNode","event":"buy"}],"interval":"day","dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},"lifecycleFilter":{"toggledLifecycles":["new"]}}`,
	`{"kind":"StickinessQuery","series":[{"kind":"EventsNode","event":"buy","math":"dau"}],"interval":"day","intervalCount":1,"dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},
		"stickinessFilter":{"computedAs":"cumulative","stickinessCriteria":{"operator":"gte","value":1}},"compareFilter":{"compare":false}}`,
	`{"kind":"EventsQuery","select":["event","count()"],"where":["event = 'buy'"],"orderBy":["count() DESC"],"event":"buy","events":["buy"],"personId":"x","after":"-1y","before":"2021-01-01","limit":3,"offset":1,
		"properties":[{"key":"a","value":1}],"fixedProperties":[],"filterTestAccounts":true}`,
	`{"kind":"ActorsQuery","select":["person","id"],"search":"a","orderBy":["id"],"limit":3,"offset":1,"properties":[{"key":"a","type":"person","value":1}],
		"source":{"kind":"InsightActorsQuery","day":"2020-01-02","series":0,"breakdown":["1"],"compare":"current","source":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy"}],"dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},"breakdownFilter":{"breakdown":"a"},"compareFilter":{"compare":true}}}}`,
	`{"kind":"ActorsQuery","source":{"kind":"FunnelsActorsQuery","funnelStep":1,"funnelStepBreakdown":["x"],"source":{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"buy"}],"breakdownFilter":{"breakdown":"b"}}}}`,
	`{"kind":"HogQLQuery","query":"SELECT event FROM events WHERE {filters} AND event = {name} AND 1 = {variables.one}","values":{"name":"buy"},"variables":{"1":{"code_name":"one","value":1,"isNull":false}},
		"filters":{"properties":[{"key":"a","value":1}],"dateRange":{"date_from":"2020-01-01","date_to":"2020-01-03"},"filterTestAccounts":false}}`,
}

// wrongValues replace every member, one after the other.
var wrongValues = []any{nil, true, json.Number("-1"), "\x00x", []any{[]any{}}, map[string]any{"kind": []any{}}}

// If a member of a query has a value of a different type, the query returns a result or an error
// with the position in the query (insights.md §1.7).
func TestQuery_WrongTypes(t *testing.T) {
	v := newOffice(t, "sqlite::memory:").attacked(t)
	total, rejections := 0, 0
	for _, text := range fullQueries {
		query := wire.Value([]byte(text))
		if status, answer := v.question(t, text); status != 200 {
			t.Fatalf("%.100s: %.300s", text, wire.MustEncode(answer))
		}
		eachValue(query, func(set func(any)) {
			for _, wrong := range wrongValues {
				set(wrong)
				status, answer := v.question(t, string(wire.MustEncode(query)))
				if total++; status == 200 {
					continue
				}
				rejections++
				if attr, _ := answer["attr"].(string); !strings.HasPrefix(attr, "query") {
					t.Errorf("%s is refused at %q: %v", wire.MustEncode(query), attr, answer["detail"])
				}
			}
		})
	}
	if rejections < total/3 {
		t.Errorf("only %d of %d are refused", rejections, total)
	}
}

// eachValue calls do for every value in a value, with a function that replaces it, and then
// restores it.
func eachValue(value any, do func(set func(any))) {
	check := func(old any, set func(any)) {
		do(set)
		set(old)
		eachValue(old, do)
	}
	switch value := value.(type) {
	case []any:
		for i, old := range value {
			check(old, func(x any) { value[i] = x })
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			check(value[name], func(x any) { value[name] = x })
		}
	}
}

// Keys that are not personal keys, or have access to another project, cannot query (insights.md
// §1.1, management.md §1.5).
func TestQuery_KeysOfOtherKinds(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	v := o.attacked(t)
	for name, row := range map[string]struct {
		key, code string
		status    int
	}{
		"none":                       {"", "not_authenticated", 401},
		"the project's":              {"{token}", "authentication_failed", 401},
		"a secret one":               {"phs_000000000000000000000000000000000000", "authentication_failed", 401},
		"an unknown one":             {"phx_000000000000000000000000000000000000", "authentication_failed", 401},
		"of another scope":           {o.key(t, "owner insight:read"), "permission_denied", 403},
		"of another project":         {o.key(t, "owner projects=1"), "permission_denied", 403},
		"of another organization":    {o.key(t, "foreign"), "permission_denied", 403},
		"of the scope for questions": {o.key(t, "owner query:read"), "", 200},
	} {
		for _, path := range []string{"query/", "query/TrendsQuery/"} {
			status, answer := v.send(t, &insightStep{Method: "POST", Path: "/api/projects/{project}/" + path, Key: &row.key, Body: json.RawMessage(`{"query":` + trends("") + `}`)})
			object, _ := answer.(map[string]any)
			if code, _ := object["code"].(string); status != row.status || code != row.code {
				t.Errorf("a key %s: %d %.200s, want %d %s", name, status, wire.MustEncode(answer), row.status, row.code)
			}
		}
	}
}
