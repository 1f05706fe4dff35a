package httpapi_test

import (
	"encoding/json"
	"testing"
)

// Questions, saved or not, and what holds them: a misspelt member is 400 with its place and
// a suggestion (decision 30); one that has no effect is named in a header.
func TestQuestions_MisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	const series = `"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "a"}]`
	misspelt := func(attr, name, meant string) []any {
		return []any{"validation_error", "unknown_key", name + " is not a member of a query's object, \"" + meant + "\" is most likely meant.", attr}
	}
	unknown := func(name, what, meant string) []any {
		return []any{"validation_error", "unknown_key", name + " is not a member of " + what + ", \"" + meant + "\" is most likely meant", name}
	}
	const unread = "query.samplingFactor is not supported and has no effect"
	o.walk(t, []manageStep{
		{Request: "POST /api/projects/1/query/", Body: json.RawMessage(`{"query": {` + series + `, "intervall": "day"}}`), Status: 400, Error: misspelt("query__intervall", "query.intervall", "interval")},
		{Request: "POST /api/projects/1/query/", Body: json.RawMessage(`{"query": {` + series + `, "samplingFactor": 0.5}}`), Status: 200, WantHeaders: map[string]string{"Bunting-Warning": unread}},
		{Request: "POST /api/projects/1/insights/", Body: json.RawMessage(`{"query": {` + series + `, "filterTestAcounts": true}}`), Status: 400, Error: misspelt("query__filterTestAcounts", "query.filterTestAcounts", "filterTestAccounts")},
		{Request: "POST /api/projects/1/insights/", Body: json.RawMessage(`{"filter": {"insight": "TRENDS"}}`), Status: 400, Error: unknown("filter", "an insight", "filters")},
		{Request: "POST /api/projects/1/insights/", Body: json.RawMessage(`{"query": {` + series + `, "samplingFactor": 0.5}}`), Status: 201, WantHeaders: map[string]string{"Bunting-Warning": unread}, Keep: map[string]string{"id": "id"}},
		{Request: "PATCH /api/projects/1/insights/{id}/", Body: json.RawMessage(`{"query": {` + series + `, "propertys": []}}`), Status: 400, Error: misspelt("query__propertys", "query.propertys", "properties")},
		{Request: "POST /api/projects/1/dashboards/", Body: json.RawMessage(`{"nam": "x"}`), Status: 400, Error: unknown("nam", "a dashboard", "name")},
		{Request: "POST /api/projects/1/dashboards/", Body: json.RawMessage(`{"name": "x", "color_of_all": 1}`), Status: 201, WantHeaders: map[string]string{"Bunting-Warning": "color_of_all is not a member of a dashboard and does nothing"}},
		{Request: "POST /api/projects/1/experiments/", Body: json.RawMessage(`{"name": "x", "feature_flag_kay": "y"}`), Status: 400, Error: unknown("feature_flag_kay", "an experiment", "feature_flag_key")},
		{Request: "POST /api/projects/1/surveys/", Body: json.RawMessage(`{"name": "x", "type": "popover", "qestions": []}`), Status: 400, Error: unknown("qestions", "a survey", "questions")},
		{Request: "POST /api/projects/1/surveys/", Body: json.RawMessage(`{"name": "x", "type": "popover", "questions": [{"type": "open", "question": "?"}], "_create_in_folder": "a"}`), Status: 201, WantHeaders: map[string]string{"Bunting-Warning": "_create_in_folder of a survey has no effect"}},
	})
}
