package insights

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/sqlquery"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// manyEvents returns events of 3,000 persons: each is exposed to the flag f and then has one event
// view, each in its own session, with its own value v, one per hour; every third person also has an
// exception.
func manyEvents(t *testing.T) *memory {
	t.Helper()
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	var list [][]any
	for i := range 3000 {
		id := fmt.Sprintf("p%04d", i)
		at := func(seconds int) string {
			return begin.Add(time.Duration(i%700)*time.Hour + time.Duration(seconds)*time.Second).Format(time.RFC3339Nano)
		}
		variant := []string{"control", "test"}[i%2]
		list = append(list,
			[]any{"$feature_flag_called", id, at(0), map[string]any{"$feature_flag": "f", "$feature_flag_response": variant, "$feature/f": variant}},
			[]any{"view", id, at(10), map[string]any{
				"v": fmt.Sprintf("value %d of many %s", i, strings.Repeat("x", 50)), "n": i, "$session_id": "session " + id, "$current_url": "https://example.com/" + id,
				"$group_0": "company " + id, "$set": map[string]any{"name": id},
			}},
			[]any{"survey sent", id, at(15), map[string]any{"$survey_id": "s", "$survey_submission_id": id}},
			[]any{"$exception", id, at(20), map[string]any{"kind": "E", "$session_id": "session " + id}},
		)
	}
	slices.SortStableFunc(list, func(a, b []any) int { return strings.Compare(a[2].(string), b[2].(string)) })
	m := eventsOf(t, wire.MustEncode(list))
	m.batch = 500
	return m
}

// manyProject has the experiment and the issue of manyEvents.
func manyProject() *port.Project {
	metric := json.RawMessage(`{"uuid": "m", "kind": "ExperimentMetric", "metric_type": "mean", "source": {"kind": "EventsNode", "event": "view"}}`)
	x := &experiments.Experiment{
		FlagKey: "f", Variants: []experiments.Variant{{Key: "control", Share: 50}, {Key: "test", Share: 50}},
		Start: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), Primary: []json.RawMessage{metric},
	}
	return &port.Project{
		ID: 1, GroupTypes: []string{"company"},
		Experiment: func(int64) (*experiments.Experiment, error) { return x, nil },
		Issues: port.Issues{
			Find:        func(string, string, int) ([]port.Issue, error) { return []port.Issue{{ID: "i", Fingerprint: "E"}}, nil },
			Fingerprint: func(string) string { return "E" },
		},
	}
}

const inMarch = `"dateRange":{"date_from":"2025-03-01","date_to":"2025-03-31"}`

func ofViews(node, more string) string {
	return `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"view"` + node + `}],` + inMarch + more + `}`
}

const (
	perValue = `,"breakdownFilter":{"breakdown":"v"}`
	asTotal  = `,"trendsFilter":{"display":"BoldNumber"}`
	byHours  = `,"interval":"hour"`
	twoSteps = `"series":[{"kind":"EventsNode","event":"$feature_flag_called"},{"kind":"EventsNode","event":"view"}],` + inMarch
	viewing  = `{"id":"view","type":"events"}`
	stepsOf  = `{"kind":"FunnelsQuery",` + twoSteps + `}`
	metricOf = `{"kind":"ExperimentMetric","metric_type":"%s",%s}`
)

// memoryAttacks are queries, by kind, that need memory for each of many persons, events, sessions
// or values. Kinds without an entry need no memory that grows with the events.
var memoryAttacks = map[string][]string{
	"TrendsQuery": {
		ofViews("", perValue+asTotal), ofViews("", perValue), ofViews(`,"math":"avg","math_property":"n"`, perValue+asTotal), ofViews(`,"math":"p90","math_property":"n"`, asTotal),
		ofViews(`,"math":"dau"`, ""), ofViews(`,"math":"weekly_active"`, ""), ofViews(`,"math":"unique_session"`, ""), ofViews(`,"math":"unique_group","math_group_type_index":0`, ""),
		ofViews(`,"math":"median","math_property":"$session_duration"`, ""), ofViews(`,"math":"p95_count_per_actor"`, ""), ofViews(`,"math":"first_time_for_user"`, ""),
		ofViews(`,"math":"first_matching_event_for_user"`, perValue+asTotal), ofViews(`,"math":"hogql","math_hogql":"count(distinct properties.v)"`, asTotal),
		ofViews(`,"math":"dau"`, `,"trendsFilter":{"display":"ActionsLineGraphCumulative"}`),
		ofViews("", `,"trendsFilter":{"formula":"A+1"},"breakdownFilter":{"breakdown":"v","breakdown_limit":1000}`),
		ofViews("", `,"breakdownFilter":{"breakdown":"$entry_current_url","breakdown_type":"session"}`+asTotal),
		ofViews("", `,"properties":[{"key":"name","type":"person","operator":"icontains","value":"p1"}],"modifiers":{"personsOnEventsMode":"person_id_override_properties_joined"}`),
		ofViews(`,"math":"dau"`, `,"modifiers":{"personsOnEventsMode":"person_id_no_override_properties_on_events"}`),
	},
	"LifecycleQuery":  {`{"kind":"LifecycleQuery","series":[{"kind":"EventsNode","event":"view"}],` + inMarch + `}`},
	"StickinessQuery": {`{"kind":"StickinessQuery","series":[{"kind":"EventsNode","event":"view"}],` + inMarch + `}`, `{"kind":"StickinessQuery","series":[{"kind":"EventsNode","event":"view","math":"hogql","math_hogql":"properties.v"}],` + inMarch + `}`},
	"RetentionQuery": {
		`{"kind":"RetentionQuery","retentionFilter":{"targetEntity":` + viewing + `,"returningEntity":` + viewing + `},` + inMarch + `}`,
		`{"kind":"RetentionQuery","retentionFilter":{"targetEntity":` + viewing + `,"returningEntity":` + viewing + `},` + inMarch + `,"breakdownFilter":{"breakdown":"v"}}`,
	},
	"FunnelsQuery": {
		stepsOf, `{"kind":"FunnelsQuery",` + twoSteps + `,"funnelsFilter":{"funnelVizType":"time_to_convert"}}`, `{"kind":"FunnelsQuery",` + twoSteps + `,"funnelsFilter":{"funnelVizType":"trends"}}`,
		`{"kind":"FunnelsQuery",` + twoSteps + `,"breakdownFilter":{"breakdown":"v"}}`, `{"kind":"FunnelsQuery",` + twoSteps + `,"funnelsFilter":{"funnelOrderType":"unordered"}}`,
		`{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"$feature_flag_called","math":"first_time_for_user"},{"kind":"EventsNode","event":"view"}],` + inMarch + `}`,
	},
	"EventsQuery": {
		`{"kind":"EventsQuery","select":["*"],"event":"view","after":"2025-03-01","before":"2025-04-01","limit":3000}`, `{"kind":"EventsQuery","select":["properties.v","count()"],"after":"2025-03-01","before":"2025-04-01"}`,
		`{"kind":"EventsQuery","select":["uuid"],"after":"2025-03-01","before":"2025-04-01","source":{"kind":"InsightActorsQuery","source":` + ofViews("", asTotal) + `}}`,
	},
	"HogQLQuery": {
		`{"kind":"HogQLQuery","query":"SELECT properties.v, count() FROM events GROUP BY properties.v"}`, `{"kind":"HogQLQuery","query":"SELECT groupArray(properties.v) FROM events"}`,
		`{"kind":"HogQLQuery","query":"SELECT DISTINCT properties.v FROM events LIMIT 10000"}`, `{"kind":"HogQLQuery","query":"SELECT uniq(distinct_id), quantile(0.9)(properties.n) FROM events"}`,
	},
	"HogQLMetadata":             nil,
	"ActorsQuery":               {`{"kind":"ActorsQuery","limit":3000}`, `{"kind":"ActorsQuery","source":{"kind":"InsightActorsQuery","source":` + ofViews("", asTotal) + `}}`},
	"PersonsNode":               {`{"kind":"PersonsNode","limit":3000}`},
	"InsightActorsQuery":        {`{"kind":"InsightActorsQuery","source":` + ofViews("", asTotal) + `}`, `{"kind":"InsightActorsQuery","source":` + ofViews(`,"math":"first_time_for_user"`, asTotal) + `}`},
	"FunnelsActorsQuery":        {`{"kind":"FunnelsActorsQuery","funnelStep":1,"source":` + stepsOf + `}`},
	"InsightActorsQueryOptions": {`{"kind":"InsightActorsQueryOptions","source":{"kind":"InsightActorsQuery","source":` + ofViews("", perValue+asTotal) + `}}`},
	"ErrorTrackingQuery":        {`{"kind":"ErrorTrackingQuery",` + inMarch + `}`},
	"SurveyStatsQuery":          {`{"kind":"SurveyStatsQuery","surveys":[{"id":"s","from":"2025-03-01T00:00:00Z","to":"2025-04-01T00:00:00Z"}]}`},
	"ExperimentQuery": {
		`{"kind":"ExperimentQuery","experiment_id":1,"metric":` + fmt.Sprintf(metricOf, "mean", `"source":{"kind":"EventsNode","event":"view","math":"unique_session"}`) + `}`,
		`{"kind":"ExperimentQuery","experiment_id":1,"metric":` + fmt.Sprintf(metricOf, "funnel", `"series":[{"kind":"EventsNode","event":"view"}]`) + `}`,
		`{"kind":"ExperimentQuery","experiment_id":1,"metric":` + fmt.Sprintf(metricOf, "ratio", `"numerator":{"kind":"EventsNode","event":"view"},"denominator":{"kind":"EventsNode","event":"$exception"}`) + `}`,
	},
	"ExperimentExposureQuery":   {`{"kind":"ExperimentExposureQuery","experiment_id":1,"feature_flag":{"key":"f"}}`},
	"ExperimentPeopleQuery":     {`{"kind":"ExperimentPeopleQuery","experiment_id":1,"feature_flag":{"key":"f"}}`},
	"ExperimentResultsQuery":    {`{"kind":"ExperimentResultsQuery","experiment_id":1}`},
	"ExperimentTimeseriesQuery": {`{"kind":"ExperimentTimeseriesQuery","experiment_id":1,"metric_uuid":"m"}`},
	"GuardedRolloutQuery": {`{"kind":"GuardedRolloutQuery","flag_key":"f","arms":["test","control"],"border":0.5,"since":"2025-03-01T00:00:00Z","settled_at":"2025-03-01T00:00:00Z","as_of":"2025-04-01T00:00:00Z",
		"metrics":[` + fmt.Sprintf(metricOf, "mean", `"source":{"kind":"EventsNode","event":"view"},"conversion_window":1,"conversion_window_unit":"hour"`) + `]}`},
}

// insights.md §5.4: memory for each person, session, value or event is counted for every kind of
// query, and a query that exceeds its limit is an error with a code.
func TestRun_EveryKindIsBounded(t *testing.T) {
	m := manyEvents(t)
	for _, kind := range kindNames() {
		queries, exists := memoryAttacks[kind]
		if !exists {
			alike := slices.ContainsFunc(sqlquery.ActorsKinds, func(name string) bool { return name == kind })
			if !alike {
				t.Errorf("%s: no attack", kind)
			}
			continue
		}
		for _, query := range queries {
			q, err := Parse(json.RawMessage(query), manyProject())
			if err != nil {
				t.Errorf("%s: %v", query, err)
				continue
			}
			now := time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)
			if _, err := q.Run(t.Context(), m, port.Options{Now: now}); err != nil {
				t.Errorf("%s: with 256 MiB: %v", query, err)
			}
			var fault *port.Error
			if _, err := q.Run(t.Context(), m, port.Options{Now: now, Memory: 16 << 10}); !errors.As(err, &fault) || fault.Code != document.TooLarge {
				t.Errorf("%s: with 16 KiB: %v", query, err)
			}
		}
	}
}

// 3,000 values in 744 hours are 2.2 million cells, more than a result may have. The query fails at
// the 1,345th value, not at the end.
func TestTrends_TooManyCellsEndAtOnce(t *testing.T) {
	m := manyEvents(t)
	for _, node := range []string{"", `,"math":"avg","math_property":"n"`, `,"math":"dau"`, `,"math":"hogql","math_hogql":"count()"`} {
		q, err := Parse(json.RawMessage(ofViews(node, perValue+byHours)), manyProject())
		if err != nil {
			t.Fatal(err)
		}
		read := int64(0)
		_, err = q.Run(t.Context(), m, port.Options{Now: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), Progress: func(n int64) { read = n }})
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != document.TooLarge || !strings.Contains(fault.Detail, "1000000 cells") {
			t.Errorf("%s: %v", node, err)
		}
		if read > 1345+500 {
			t.Errorf("%s: refused after %d events", node, read)
		}
	}
}

// The memory of a metric is available for the next metric: ten metrics need as much as two.
func TestExperiments_MetricsShareMemory(t *testing.T) {
	m := manyEvents(t)
	enough := func(metrics int, memory int64) bool {
		p := manyProject()
		x, _ := p.Experiment(1)
		for len(x.Primary) < metrics {
			x.Primary = append(x.Primary, json.RawMessage(strings.Replace(string(x.Primary[0]), `"m"`, fmt.Sprintf(`"m%d"`, len(x.Primary)), 1)))
		}
		q, err := Parse(json.RawMessage(`{"kind":"ExperimentResultsQuery","experiment_id":1}`), p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), Memory: memory})
		if err != nil {
			return false
		}
		list := got.Extra["primary"].([]any)
		return list[len(list)-1].(map[string]any)["error"] == nil
	}
	least := int64(64 << 10)
	for !enough(1, least) {
		least += 16 << 10
	}
	if !enough(10, least+16<<10) {
		t.Errorf("one metric is computed with %d bytes, ten are not", least)
	}
}

// A session's URLs are stored once, however many events the session has.
func TestSessions_URLsAreCountedOnce(t *testing.T) {
	var list [][]any
	begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range 5000 {
		list = append(list, []any{"view", "p", begin.Add(time.Duration(i) * time.Second).Format(time.RFC3339Nano), map[string]any{"$session_id": "s", "$current_url": "https://example.com/" + strings.Repeat("x", 1000)}})
	}
	q, err := Parse(json.RawMessage(ofViews("", `,"breakdownFilter":{"breakdown":"$entry_current_url","breakdown_type":"session"}`+asTotal)), manyProject())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Run(t.Context(), eventsOf(t, wire.MustEncode(list)), port.Options{Now: begin.AddDate(0, 1, 0), Memory: 64 << 10}); err != nil {
		t.Errorf("one session of 5,000 events with a URL of a kilobyte: %v", err)
	}
}
