package queries

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/flags/wire"
)

func sameJSON(t *testing.T, what, want string, got json.RawMessage) {
	t.Helper()
	if diff := cmp.Diff(wire.Value([]byte(want)), wire.Value(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// §1.9: the table of overrides, from the strongest to the weakest.
func TestInsights_1_9_Overrides(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		by    []string
		want  string
	}{
		"dates are both replaced": {`{"kind":"TrendsQuery","dateRange":{"date_from":"-7d","date_to":"-1d"}}`, []string{`{"date_from":"-30d"}`},
			`{"kind":"TrendsQuery","dateRange":{"date_from":"-30d","date_to":null}}`},
		"the strongest that has a member": {`{"kind":"TrendsQuery"}`, []string{`{"interval":"week","properties":null}`, `{}`, `null`, `{"interval":"day","date_from":"-1d"}`},
			`{"kind":"TrendsQuery","interval":"week","dateRange":{"date_from":"-1d","date_to":null}}`},
		"all switches comparison off": {`{"kind":"TrendsQuery","compareFilter":{"compare":true}}`, []string{`{"date_from":"all"}`},
			`{"kind":"TrendsQuery","dateRange":{"date_from":"all","date_to":null}}`},
		"properties are added": {`{"kind":"InsightVizNode","source":{"kind":"FunnelsQuery","properties":[{"key":"a"}]}}`, []string{`{"properties":[{"key":"b"}]}`},
			`{"kind":"FunnelsQuery","properties":{"type":"AND","values":[{"type":"AND","values":[{"key":"a"}]},{"type":"AND","values":[{"key":"b"}]}]}}`},
		"breakdowns are replaced": {`{"kind":"TrendsQuery","breakdownFilter":{"breakdown":"a"}}`, []string{`{"breakdown_filter":{"breakdown":"b"}}`},
			`{"kind":"TrendsQuery","breakdownFilter":{"breakdown":"b"}}`},
		"events": {`{"kind":"EventsQuery","properties":[{"key":"a"}]}`, []string{`{"date_from":"-1d","properties":[{"key":"b"}],"interval":"day"}`},
			`{"kind":"EventsQuery","properties":[{"key":"a"},{"key":"b"}],"after":"-1d","before":null}`},
		"HogQL": {`{"kind":"HogQLQuery","query":"x"}`, []string{`{"date_to":"2020-01-01","properties":[{"key":"b"}]}`},
			`{"kind":"HogQLQuery","query":"x","filters":{"dateRange":{"date_from":null,"date_to":"2020-01-01"},"properties":[{"key":"b"}]}}`},
		"others stay": {`{"kind":"ActorsQuery"}`, []string{`{"date_from":"-1d","interval":"day"}`}, `{"kind":"ActorsQuery"}`},
	} {
		var o Overrides
		for _, by := range c.by {
			o.Filters = append(o.Filters, json.RawMessage(by))
		}
		got, err := Prepare(json.RawMessage(c.query), o, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sameJSON(t, name, c.want, got)
	}
}

// §1.3: a saved insight is put in the place of its short id.
func TestInsights_1_3_SavedInsight(t *testing.T) {
	saved := func(short string) (json.RawMessage, error) {
		if short != "abc" {
			return nil, errors.New("unknown")
		}
		return json.RawMessage(`{"kind":"InsightVizNode","source":{"kind":"HogQLQuery","query":"1"}}`), nil
	}
	got, err := Prepare(json.RawMessage(`{"kind":"SavedInsightNode","shortId":"abc"}`), Overrides{Variables: json.RawMessage(`{"v":{"value":1}}`)}, saved)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "found", `{"kind":"HogQLQuery","query":"1","variables":{"v":{"value":1}}}`, got)
	if _, err := Prepare(json.RawMessage(`{"kind":"SavedInsightNode","shortId":"x"}`), Overrides{}, saved); err == nil {
		t.Error("an unknown insight is found")
	}
}

// §2.10: members of the older form, and what has no query.
func TestInsights_2_10_OlderForm(t *testing.T) {
	for name, c := range map[string]struct{ filters, want string }{
		"order, actions first, oldest properties, minutes": {
			`{"events":"[{\"id\":\"b\",\"order\":1,\"math\":\"dau\"},\"x\",{\"id\":null}]","actions":[{"id":3,"order":1}],"interval":"minute","properties":{"a__icontains":"v","b":1},"display":"Unknown","compare":true}`,
			`{"kind":"TrendsQuery","interval":"hour","series":[{"kind":"EventsNode","event":null},{"kind":"ActionsNode","id":3},{"kind":"EventsNode","event":"b","math":"dau"}],
				"properties":[{"type":"event","key":"a","operator":"icontains","value":"v"},{"type":"event","key":"b","operator":"exact","value":1}],"trendsFilter":{},"compareFilter":{"compare":true}}`},
		"stickiness counts people": {`[{"insight":"STICKINESS","events":[{"id":"a","math":"total"},{"id":"b","math":"weekly_active"}]}]`,
			`{"kind":"StickinessQuery","series":[{"kind":"EventsNode","event":"a","math":"dau"},{"kind":"EventsNode","event":"b","math":"weekly_active"}]}`},
		"a funnel's window in days": {`{"insight":"FUNNELS","events":[{"id":"a","math":"dau"}],"funnel_window_days":5,"display":"ActionsLineGraph","exclusions":[{"id":"x","type":"events","funnel_from_step":0,"funnel_to_step":1}]}`,
			`{"kind":"FunnelsQuery","series":[{"kind":"EventsNode","event":"a"}],"funnelsFilter":{"funnelWindowInterval":5,"funnelWindowIntervalUnit":"day","funnelVizType":"trends","exclusions":[{"kind":"EventsNode","event":"x","funnelFromStep":0,"funnelToStep":1}]}}`},
		"a breakdown": {`{"events":[],"breakdown":"$browser","breakdown_type":"events"}`,
			`{"kind":"TrendsQuery","series":[],"breakdownFilter":{"breakdown":"$browser","breakdown_type":"event"},"trendsFilter":{}}`},
	} {
		got, err := FromFilters(json.RawMessage(c.filters))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sameJSON(t, name, c.want, got)
	}
	for _, filters := range []string{`{"insight":"PATHS"}`, `{"breakdowns":[{"property":"a"},{"property":"b"}]}`} {
		var fault *insights.Error
		if _, err := FromFilters(json.RawMessage(filters)); !errors.As(err, &fault) || fault.Code != "not_supported" {
			t.Errorf("%s: %v", filters, err)
		}
	}
}
