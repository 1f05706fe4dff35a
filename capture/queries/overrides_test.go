package queries

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

func sameJSON(t *testing.T, what, want string, got json.RawMessage) {
	t.Helper()
	if diff := cmp.Diff(wire.Value([]byte(want)), wire.Value(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// §1.9: the table of overrides, from the highest to the lowest precedence.
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
		"test accounts, also switched off": {`{"kind":"TrendsQuery","filterTestAccounts":true}`, []string{`{"filterTestAccounts":false}`, `{"filterTestAccounts":true}`},
			`{"kind":"TrendsQuery","filterTestAccounts":false}`},
		"test accounts of events": {`{"kind":"EventsQuery"}`, []string{`{"filterTestAccounts":true}`}, `{"kind":"EventsQuery","filterTestAccounts":true}`},
		"test accounts of HogQL":  {`{"kind":"HogQLQuery"}`, []string{`{"filterTestAccounts":true}`}, `{"kind":"HogQLQuery","filters":{"filterTestAccounts":true}}`},
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

// §1.3: the query of a saved insight replaces its short ID.
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
