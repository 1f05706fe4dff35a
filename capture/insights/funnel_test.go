package insights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/funnels"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// funnelOf returns a funnel of a, b and c in January 2020 with additional members.
func funnelOf(more string) string {
	return `{"kind": "FunnelsQuery", "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-03"},
		"series": [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": "b", "custom_name": "mine"}, {"kind": "EventsNode", "event": "c"}]` + more + `}`
}

// TestFunnels_Rejected tests the errors of §2.5.1 and their places.
func TestFunnels_Rejected(t *testing.T) {
	filter := func(members string) string { return funnelOf(`, "funnelsFilter": {` + members + `}`) }
	exclusion := func(members string) string {
		return filter(`"exclusions": [{"kind": "EventsNode", ` + members + `}]`)
	}
	for _, c := range []struct{ query, attr, detail string }{
		{exclusion(`"event": "x", "funnelFromStep": 1, "funnelToStep": 1`), "query__funnelsFilter__exclusions__0__funnelToStep", "Exclusion"},
		{exclusion(`"event": "x", "funnelFromStep": 0, "funnelToStep": 3`), "query__funnelsFilter__exclusions__0__funnelToStep", "Exclusion"},
		{exclusion(`"event": "b", "funnelFromStep": 0, "funnelToStep": 1`), "query__funnelsFilter__exclusions__0", "Exclusion"},
		{filter(`"funnelOrderType": "unordered", "exclusions": [{"kind": "EventsNode", "event": "x", "funnelFromStep": 0, "funnelToStep": 1}]`), "query__funnelsFilter__exclusions__0", "Exclusion"},
		{filter(`"funnelVizType": "flow"`), "query__funnelsFilter__funnelVizType", ""},
		{filter(`"funnelFromStep": 2, "funnelToStep": 1`), "query__funnelsFilter__funnelToStep", ""},
		{filter(`"funnelFromStep": 3`), "query__funnelsFilter__funnelFromStep", ""},
		{filter(`"funnelWindowInterval": 0`), "query__funnelsFilter__funnelWindowInterval", ""},
		{filter(`"funnelWindowInterval": 1.5`), "query__funnelsFilter__funnelWindowInterval", ""},
		{filter(`"funnelOrderType": "unordered", "breakdownAttributionType": "step", "breakdownAttributionValue": 1`), "query__funnelsFilter__breakdownAttributionValue", ""},
		{filter(`"breakdownAttributionType": "step", "breakdownAttributionValue": 3`), "query__funnelsFilter__breakdownAttributionValue", ""},
		{funnelOf(`, "breakdownFilter": {"breakdown": "x", "breakdown_histogram_bin_count": 4}`), "query__breakdownFilter__breakdown_histogram_bin_count", ""},
		{funnelOf(`, "breakdownFilter": {"breakdowns": [{"property": "x"}, {"property": "y", "type": "person"}]}`), "query__breakdownFilter__breakdowns__1__type", ""},
		{funnelOf(`, "breakdownFilter": {"breakdown": "x", "breakdown_type": "session"}`), "query__breakdownFilter__breakdown_type", ""},
		{`{"kind": "FunnelsQuery", "series": []}`, "query__series", ""},
		{`{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "a"}], "funnelsFilter": {"funnelVizType": "trends"}}`, "query__funnelsFilter__funnelVizType", ""},
		{`{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "a", "optionalInFunnel": true}]}`, "query__series__0__optionalInFunnel", ""},
		{`{"kind": "RetentionQuery", "retentionFilter": {"timeWindowMode": "24_hour_windows"}}`, "query__retentionFilter__timeWindowMode", ""},
		{`{"kind": "RetentionQuery", "retentionFilter": {"totalIntervals": 101}}`, "query__retentionFilter__totalIntervals", ""},
		{`{"kind": "RetentionQuery", "breakdownFilter": {"breakdown": ["a", "b"]}}`, "query__breakdownFilter__breakdown", ""},
	} {
		_, err := Parse(json.RawMessage(c.query), &port.Project{ID: 1})
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Attr != c.attr || !strings.HasPrefix(fault.Detail, c.detail) {
			t.Errorf("%s: %v, want a fault at %s that begins with %q", c.query, err, c.attr, c.detail)
		}
	}
}

// TestFunnels_Shapes tests the form of steps (§2.5.3): names, labels of breakdowns, and actors that
// are the values of an expression.
func TestFunnels_Shapes(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[
		["a", "p1", "2020-01-01T01:00:00Z", {"os": "Mac", "v": 1, "$groups": {"org": "x"}, "$session_id": "s1"}],
		["b", "p1", "2020-01-01T02:00:00Z", {"os": "Mac", "v": 1, "$groups": {"org": "x"}, "$session_id": "s2"}],
		["a", "p2", "2020-01-01T02:00:00Z", {"os": "Win/#", "v": 2.0, "$session_id": "s1"}]]`))
	plan, _ := capture.ParseObject(`{"plan": "pro"}`)
	m.groups = map[int][]capture.Group{0: {{GroupID: capture.GroupID{Key: "x"}, Properties: plan}}}
	m.members = map[int64][]capture.UUID{5: {m.owner["p1"]}}
	for _, c := range []struct{ name, query, want string }{
		{"of an order", funnelOf(``), `[{"action_id": "a", "name": "a", "custom_name": null, "order": 0, "people": [], "count": 2, "type": "events", "average_conversion_time": null, "median_conversion_time": null},
			{"action_id": "b", "name": "b", "custom_name": "mine", "order": 1, "people": [], "count": 1, "type": "events", "average_conversion_time": 3600, "median_conversion_time": 3600},
			{"action_id": "c", "name": "c", "custom_name": null, "order": 2, "people": [], "count": 0, "type": "events", "average_conversion_time": null, "median_conversion_time": null}]`},
		{"of any order", funnelOf(`, "funnelsFilter": {"funnelOrderType": "unordered"}`),
			`[{"action_id": null, "name": "Completed 1 step", "count": 2}, {"action_id": null, "name": "Completed 2 steps", "count": 1}, {"name": "Completed 3 steps", "count": 0}]`},
		{"several properties", funnelOf(`, "breakdownFilter": {"breakdown": ["os", "v"]}`),
			`[[{"breakdown": ["Mac", "1"], "breakdown_value": ["Mac", "1"], "count": 1}, {"count": 1}, {"count": 0}], [{"breakdown": ["Win/#", "2"], "count": 1}, {"count": 0}, {"count": 0}]]`},
		{"breakdowns of one type, normalized", funnelOf(`, "breakdownFilter": {"breakdowns": [{"property": "os", "type": "event", "normalize_url": true}]}`),
			`[[{"breakdown": ["Mac"], "count": 1}, {"count": 1}, {"count": 0}], [{"breakdown": ["Win"], "count": 1}, {"count": 0}, {"count": 0}]]`},
		{"of a group: a text", funnelOf(`, "breakdownFilter": {"breakdown": "plan", "breakdown_type": "group", "breakdown_group_type_index": 0}`),
			`[[{"breakdown": "pro", "breakdown_value": "pro", "count": 1}, {"count": 1}, {"count": 0}], [{"breakdown": "", "breakdown_value": "", "count": 1}, {"count": 0}, {"count": 0}]]`},
		{"of a column", funnelOf(`, "breakdownFilter": {"breakdown": "distinct_id", "breakdown_type": "event_metadata"}`),
			`[[{"breakdown": ["p1"], "count": 1}, {"count": 1}, {"count": 0}], [{"breakdown": ["p2"], "count": 1}, {"count": 0}, {"count": 0}]]`},
		{"of an expression", funnelOf(`, "breakdownFilter": {"breakdown": "upper(properties.os)", "breakdown_type": "hogql"}`),
			`[[{"breakdown": ["MAC"], "count": 1}, {"count": 1}, {"count": 0}], [{"breakdown": ["WIN/#"], "count": 1}, {"count": 0}, {"count": 0}]]`},
		{"of cohorts, by their counts", funnelOf(`, "breakdownFilter": {"breakdown": [5, "all"], "breakdown_type": "cohort"}`),
			`[[{"breakdown": "all users", "breakdown_value": 0, "count": 2}, {"count": 1}, {"count": 0}], [{"breakdown": "five", "breakdown_value": 5, "count": 1}, {"count": 1}, {"count": 0}]]`},
		{"actors are sessions", funnelOf(`, "funnelsFilter": {"funnelAggregateByHogQL": "properties.$session_id"}`), `[{"count": 1}, {"count": 0}, {"count": 0}]`},
		{"nobody, by a breakdown", funnelOf(`, "breakdownFilter": {"breakdown": "os"}, "properties": [{"key": "os", "value": "none"}]`), `[]`},
		{"nobody at all (Q5)", funnelOf(`, "properties": [{"key": "os", "value": "none"}]`), `[{"count": 0}, {"count": 0}, {"count": 0}]`},
		{"over time, of which b is the end", funnelOf(`, "funnelsFilter": {"funnelVizType": "trends", "funnelToStep": 1}`),
			`[{"count": 3, "data": [50, 0, 0], "days": ["2020-01-01", "2020-01-02", "2020-01-03"], "labels": ["1-Jan-2020", "2-Jan-2020", "3-Jan-2020"]}]`},
	} {
		project := &port.Project{ID: 1, GroupTypes: []string{"org"}, Definitions: &flags.Definitions{
			Cohorts: map[int64]flags.Cohort{5: {Name: "five", Static: true}}, StaticCohorts: []int64{5},
		}}
		q, err := Parse(json.RawMessage(c.query), project)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		result, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2020, 1, 3, 12, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if fault := findDifference("", wire.Value([]byte(c.want)), wire.Value(wire.MustEncode(result.Results))); fault != "" {
			t.Errorf("%s: %s", c.name, fault)
		}
	}
}

// TestFunnels_Bounds tests that memory is counted (§5.4), and that a canceled query stops.
func TestFunnels_Bounds(t *testing.T) {
	s := benchSource()
	for _, kind := range []string{
		`{"kind": "FunnelsQuery", ` + benchRange + `, "series": [{"kind": "EventsNode"}, {"kind": "EventsNode"}]}`,
		`{"kind": "RetentionQuery", ` + benchRange + `, "retentionFilter": {"targetEntity": {"id": null, "type": "events"}}}`,
	} {
		q, err := Parse(json.RawMessage(kind), &port.Project{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.Run(t.Context(), s, port.Options{Now: time.UnixMicro(s.list[0].Time[0]), Memory: 100_000})
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != "query_too_large" {
			t.Errorf("%s: %v, want query_too_large", kind, err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		_, err = q.Run(ctx, s, port.Options{Now: time.UnixMicro(s.list[0].Time[0]), Progress: func(read int64) {
			if read > 20_000 {
				cancel(stop)
			}
		}})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v, want that it was cancelled", kind, err)
		}
	}
}

// TestFunnels_Windows tests the units of §2.5.1; the end is included.
func TestFunnels_Windows(t *testing.T) {
	start := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for unit, seconds := range map[string]int{"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 31 * 86_400} {
		for late, want := range map[time.Duration]string{0: `[1,1]`, time.Microsecond: `[1,0]`} {
			m := &memory{events: []memoryEvent{
				{name: "a", distinctID: "p", at: start}, {name: "b", distinctID: "p", at: start.Add(2*time.Duration(seconds)*time.Second + late)},
			}}
			query := fmt.Sprintf(`{"kind": "FunnelsQuery", "dateRange": {"date_from": "2020-01-01", "date_to": "2020-12-31"}, "series": [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": "b"}],
				"funnelsFilter": {"funnelWindowInterval": 2, "funnelWindowIntervalUnit": %q}}`, unit)
			_, result, err := ask(t, m, query)
			if err != nil {
				t.Fatal(err)
			}
			steps := result.Results.([]funnels.Step)
			if got := fmt.Sprintf("[%d,%d]", steps[0].Count, steps[1].Count); got != want {
				t.Errorf("2 × %s and %v: %s, want %s", unit, late, got, want)
			}
		}
	}
}
