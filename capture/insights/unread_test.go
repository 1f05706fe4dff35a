package insights

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A misspelled member is an error with its place and the likely name (decision 30).
func TestParse_MisspelledMembers(t *testing.T) {
	const series = `"series":[{"kind":"EventsNode","event":"a"}]`
	for query, want := range map[string][2]string{
		`{"kind":"TrendsQuery",` + series + `,"filterTestAcounts":true}`:                                                                                   {"query__filterTestAcounts", `"filterTestAccounts"`},
		`{"kind":"TrendsQuery",` + series + `,"propertys":[{"key":"x","value":1}]}`:                                                                        {"query__propertys", `"properties"`},
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a","propertie":[{"key":"x","value":1}]}]}`:                                          {"query__series__0__propertie", `"properties"`},
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a","mat":"dau"}]}`:                                                                  {"query__series__0__mat", `"math"`},
		`{"kind":"TrendsQuery",` + series + `,"dateRange":{"date_fro":"-7d"}}`:                                                                             {"query__dateRange__date_fro", `"date_from"`},
		`{"kind":"TrendsQuery",` + series + `,"intervall":"week"}`:                                                                                         {"query__intervall", `"interval"`},
		`{"kind":"TrendsQuery","serie":[{"kind":"EventsNode","event":"a"}]}`:                                                                               {"query__serie", `"series"`},
		`{"kind":"InsightVizNode","source":{"kind":"TrendsQuery",` + series + `,"breakdownFilte":{"breakdown":"x"}}}`:                                      {"query__breakdownFilte", `"breakdownFilter"`},
		`{"kind":"TrendsQuery",` + series + `,"properties":[{"key":"x","value":1,"operater":"gt"}]}`:                                                       {"query__properties__0__operater", `"operator"`},
		`{"kind":"TrendsQuery",` + series + `,"properties":{"type":"AND","values":[{"type":"OR","values":[{"key":"x","valeu":1}]}]}}`:                      {"query__properties__values__0__values__0__valeu", `"value"`},
		`{"kind":"HogQLQuery","query":"SELECT 1","filter":{"dateRange":{"date_from":"-7d"}}}`:                                                              {"query__filter", `"filters"`},
		`{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"a"},{"kind":"EventsNode","event":"b"}],"funnelsFilter":{"funnelWindowIntervl":3}}`: {"query__funnelsFilter__funnelWindowIntervl", `"funnelWindowInterval"`},
		`{"kind":"RetentionQuery","retentionFilter":{"totalInterval":3}}`:                                                                                  {"query__retentionFilter__totalInterval", `"totalIntervals"`},
		`{"kind":"ActorsQuery","select":["id"],"serch":"x"}`:                                                                                               {"query__serch", `"search"`},
		`{"kind":"EventsQuery","select":["*"],"wher":["1 = 1"]}`:                                                                                           {"query__wher", `"where"`},
	} {
		_, err := Parse(json.RawMessage(query), &port.Project{})
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != "unknown_key" || fault.Attr != want[0] || !strings.Contains(fault.Detail, want[1]) {
			t.Errorf("%s: %v, want unknown_key at %s with %s", query, err, want[0], want[1])
		}
		if _, err := UnknownMembers("query", []byte(query), "query", &port.Project{}); !errors.As(err, &fault) || fault.Attr != want[0] {
			t.Errorf("%s, saved: %v", query, err)
		}
	}
}

// Other members that no parser reads are listed; members that affect only the display are not.
func TestParse_IgnoredMembers(t *testing.T) {
	for query, want := range map[string][]string{
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a","name":"a","custom_name":"A"}],"trendsFilter":{"showLegend":true,"display":"ActionsBar","yAxisScaleType":"linear"},"version":2,"tags":{"scene":"x"}}`: nil,
		`{"kind":"RetentionQuery","retentionFilter":{"targetEntity":{"id":"a","type":"events","name":"a"},"returningEntity":{"id":"b","type":"events","properties":[{"key":"x","value":1}]}}}`:                                  nil,
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}],"samplingFactor":0.1}`: {
			"query.samplingFactor is not supported and has no effect",
		},
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a","colour":"red"}],"modifiers":{"debug":true}}`: {
			"query.modifiers.debug is not supported and has no effect", "query.series[0].colour is unknown and has no effect",
		},
	} {
		q, err := Parse(json.RawMessage(query), &port.Project{})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		slices.Sort(q.Ignored)
		if !slices.Equal(q.Ignored, want) {
			t.Errorf("%s: %q, want %q", query, q.Ignored, want)
		}
	}
}

// Retention with brackets of intervals, and sums of a property, computed by hand.
func TestRetention_BracketsAndAmounts(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[
		["a", "p1", "2020-01-01T10:00:00Z", {"n": 10}], ["b", "p1", "2020-01-02T10:00:00Z", {"n": 1}], ["b", "p1", "2020-01-02T11:00:00Z", {"n": 2}], ["b", "p1", "2020-01-04T10:00:00Z", {"n": 5}],
		["b", "p2", "2020-01-01T09:00:00Z", {"n": 100}], ["a", "p2", "2020-01-01T10:00:00Z", {"n": 20}], ["b", "p2", "2020-01-01T11:00:00Z", {"n": 7}], ["b", "p2", "2020-01-03T10:00:00Z", {"n": "3"}], ["b", "p2", "2020-01-03T11:00:00Z", {"n": "x"}]]`))
	for more, want := range map[string]string{
		`"retentionCustomBrackets": [1, 2]`: `[{"count":2,"label":"Day 0"},{"count":1,"label":"Day 1"},{"count":2,"label":"Day 2-3"}]`,
		`"retentionCustomBrackets": [1, 2], "aggregationType": "sum", "aggregationProperty": "n"`:            `[{"count":2,"aggregation_value":37,"label":"Day 0"},{"count":1,"aggregation_value":3,"label":"Day 1"},{"count":2,"aggregation_value":8,"label":"Day 2-3"}]`,
		`"totalIntervals": 3, "aggregationType": "avg", "aggregationProperty": "n"`:                          `[{"count":2,"aggregation_value":18.5,"label":"Day 0"},{"count":1,"aggregation_value":3,"label":"Day 1"},{"count":1,"aggregation_value":3,"label":"Day 2"}]`,
		`"totalIntervals": 3, "minimumOccurrences": 2, "aggregationType": "sum", "aggregationProperty": "n"`: `[{"count":2,"aggregation_value":37,"label":"Day 0"},{"count":1,"aggregation_value":3,"label":"Day 1"},{"count":1,"aggregation_value":3,"label":"Day 2"}]`,
		`"totalIntervals": 2, "aggregationType": "sum"`:                                                      `[{"count":2,"label":"Day 0"},{"count":1,"label":"Day 1"}]`,
		`"retentionCustomBrackets": [2, 5], "cumulative": true`:                                              `[{"count":2,"label":"Day 0"},{"count":2,"label":"Day 1-2"},{"count":1,"label":"Day 3-7"}]`,
	} {
		query := `{"kind": "RetentionQuery", "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-05"}, "retentionFilter": {
			"targetEntity": {"id": "a", "type": "events"}, "returningEntity": {"id": "b", "type": "events"}, ` + more + `}}`
		got, _, err := ask(t, m, query)
		var rows []struct{ Values json.RawMessage }
		if err != nil || json.Unmarshal([]byte(got), &rows) != nil || len(rows) != 5 || string(rows[0].Values) != want {
			t.Errorf("%s: %v %s\nwant %s", more, err, got, want)
		}
	}
	for more, attr := range map[string]string{
		`"retentionCustomBrackets": [0]`:                                           "query__retentionFilter__retentionCustomBrackets__0",
		`"retentionCustomBrackets": 3`:                                             "query__retentionFilter__retentionCustomBrackets",
		`"aggregationType": "median"`:                                              "query__retentionFilter__aggregationType",
		`"aggregationType": "sum", "aggregationProperty": "n", "cumulative": true`: "query__retentionFilter__aggregationType",
	} {
		_, err := Parse(json.RawMessage(`{"kind": "RetentionQuery", "retentionFilter": {`+more+`}}`), &port.Project{})
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Attr != attr {
			t.Errorf("%s: %v, want a fault at %s", more, err, attr)
		}
	}
}
