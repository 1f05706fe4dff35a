package httpapi_test

import (
	"encoding/json"
	"testing"
)

// Queries, saved or not, and the objects that contain them: a misspelt member is 400 with its
// position and a suggestion (decision 30); a member without effect is reported in a header.
func TestQueries_MisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	const series = `"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "a"}]`
	misspelt := func(attr, name, suggestion string) []any {
		return []any{"validation_error", "unknown_key", name + " is not a member of a query's object, \"" + suggestion + "\" is most likely meant.", attr}
	}
	unknown := func(name, what, suggestion string) []any {
		return []any{"validation_error", "unknown_key", name + " is not a member of " + what + ", \"" + suggestion + "\" is most likely meant", name}
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

// unknownIn returns the error for a member in a query, which ends with a full stop.
func unknownIn(attr, place, what, meant string) []any {
	return []any{"validation_error", "unknown_key", place + " is not a member of " + what + ", \"" + meant + "\" is most likely meant.", attr}
}

// Overrides of a query: in POST query/, in the parameters of insights and dashboards, in dashboards
// and in their tiles (insights.md §1.3, §1.9).
func TestQuestions_OverridesMisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	const series = `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "a"}]}`
	const laid = "filters that are laid over queries"
	body := func(text string) json.RawMessage { return json.RawMessage(text) }
	noEffect := func(text string) map[string]string { return map[string]string{"Bunting-Warning": text} }
	const query, board, insight = "POST /api/projects/1/query/", "PATCH /api/projects/1/dashboards/{board}/", "GET /api/projects/1/insights/{insight}/"
	o.walk(t, []manageStep{
		{Request: query, Body: body(`{"query": ` + series + `, "refrsh": "async"}`), Status: 400, Error: unknownOf("refrsh", "refrsh", "a request for a query", "refresh")},
		{Request: query, Body: body(`{"query": ` + series + `, "filter_override": {}}`), Status: 400, Error: unknownOf("filter_override", "filter_override", "a request for a query", "filters_override")},
		{Request: "POST /api/projects/1/query/upgrade/", Body: body(`{"querry": ` + series + `}`), Status: 400, Error: unknownOf("querry", "querry", "a request for a query", "query")},
		{Request: query, Body: body(`{"query": ` + series + `, "limit_context": "posthog_ai"}`), Status: 200, WantHeaders: noEffect("limit_context of a request for a query has no effect")},
		{Request: query, Body: body(`{"query": ` + series + `, "refresh": "blocking", "async": false, "client_query_id": "mine", "name": "n", "filters_override": null, "variables_override": null, "personal_api_key": null}`), Status: 200, WantHeaders: noEffect("")},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": {"date_fro": "-7d"}}`), Status: 400, Error: unknownIn("filters_override__date_fro", "filters_override.date_fro", laid, "date_from")},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": {"properties": [{"key": "a", "valeu": 1}]}}`), Status: 400, Error: unknownIn("filters_override__properties__0__valeu", "filters_override.properties[0].valeu", laid, "value")},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": {"breakdown_filter": {"breakdwn": "a"}}}`), Status: 400, Error: unknownIn("filters_override__breakdown_filter__breakdwn", "filters_override.breakdown_filter.breakdwn", laid, "breakdown")},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": "all"}`), Status: 400, Error: []any{"validation_error", "invalid_input", "Expected a JSON object.", "filters_override"}},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": {"date_from": "-7d", "date_to": null, "explicitDate": true, "interval": "day", "properties": [], "breakdown_filter": null, "filterTestAccounts": false}}`), Status: 200, WantHeaders: noEffect("")},
		{Request: query, Body: body(`{"query": ` + series + `, "filters_override": {"compare": true}}`), Status: 200, WantHeaders: noEffect("filters_override.compare is not supported and has no effect")},
		{Request: query, Body: body(`{"query": ` + series + `, "variables_override": {"0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60": {"code_nam": "a", "value": 1}}}`), Status: 400, Error: unknownIn("variables_override__0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60__code_nam", "variables_override.0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60.code_nam", "a variable", "code_name")},
		{Request: query, Body: body(`{"query": ` + series + `, "variables_override": {"0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60": {"code_name": "a", "variableId": "1", "value": 1, "isNull": false}}}`), Status: 200, WantHeaders: noEffect("")},

		{Request: "POST /api/projects/1/dashboards/", Body: body(`{"filters": {"propertie": []}}`), Status: 400, Error: unknownIn("filters__propertie", "filters.propertie", laid, "properties")},
		{Request: "POST /api/projects/1/dashboards/", Body: body(`{"filters": {"date_from": "-7d"}}`), Status: 201, WantHeaders: noEffect(""), Keep: map[string]string{"board": "id"}},
		{Request: "POST /api/projects/1/insights/", Body: body(`{"query": ` + series + `, "dashboards": [{board}]}`), Status: 201, Keep: map[string]string{"insight": "id", "tile": "dashboard_tiles.0.id"}},
		{Request: board, Body: body(`{"filters": {"intervall": "day"}}`), Status: 400, Error: unknownIn("filters__intervall", "filters.intervall", laid, "interval")},
		{Request: board, Body: body(`{"variables": {"0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60": {"vlaue": 1}}}`), Status: 400, Error: unknownIn("variables__0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60__vlaue", "variables.0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60.vlaue", "a variable", "value")},
		{Request: board, Body: body(`{"tiles": [{"id": {tile}, "filters_overrides": {"date_form": "-7d"}}]}`), Status: 400, Error: unknownIn("tiles__0__filters_overrides__date_form", "tiles[0].filters_overrides.date_form", laid, "date_from")},
		{Request: board, Body: body(`{"tiles": [{"id": {tile}, "filter_overrides": {}}]}`), Status: 400, Error: unknownOf("tiles__0__filter_overrides", "tiles[0].filter_overrides", "a tile", "filters_overrides")},
		{Request: board, Body: body(`{"tiles": [{"text": {"bdy": "x"}}]}`), Status: 400, Error: unknownOf("tiles__0__text__bdy", "tiles[0].text.bdy", "a text", "body")},
		{Request: board, Body: body(`{"tiles": [{"id": {tile}, "transparent_background": true}]}`), Status: 200, WantHeaders: noEffect("tiles[0].transparent_background of a tile has no effect")},
		{Request: board, Body: body(`{"tiles": [{"id": {tile}, "layouts": {"sm": {"x": 0, "y": 0, "w": 6, "h": 5, "i": "1", "minW": 2, "minH": 2, "moved": false, "static": false}, "xs": {"x": 0, "y": 0, "w": 1, "h": 5}}, "color": null,
			"order": 0, "insight": {"id": 1}, "last_refresh": null, "is_cached": false, "show_description": null}]}`), Status: 200, WantHeaders: noEffect("")},

		{Request: insight + `?filters_override={"date_fro":"-7d"}`, Status: 400, Error: unknownIn("filters_override__date_fro", "filters_override.date_fro", laid, "date_from")},
		{Request: insight + `?filters_override={"colour":"red"}`, Status: 200, WantHeaders: noEffect("filters_override.colour is unknown and has no effect")},
		{Request: insight + `?variables_override={"0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60":{"isNul":true}}`, Status: 400, Error: unknownIn("variables_override__0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60__isNul", "variables_override.0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60.isNul", "a variable", "isNull")},
		{Request: `GET /api/projects/1/insights/?filters_override={"date_fro":"-7d"}`, Status: 400, Error: unknownIn("filters_override__date_fro", "filters_override.date_fro", laid, "date_from")},
		{Request: `GET /api/projects/1/dashboards/{board}/?filters_override={"date_fro":"-7d"}`, Status: 400, Error: unknownIn("filters_override__date_fro", "filters_override.date_fro", laid, "date_from")},
		{Request: `GET /api/projects/1/dashboards/{board}/run_insights/?filters_override={"date_fro":"-7d"}`, Status: 400, Error: unknownIn("filters_override__date_fro", "filters_override.date_fro", laid, "date_from")},
		{Request: "POST /api/projects/1/dashboards/create_from_template_json/", Body: body(`{"template_name": "a", "dashboard_description": "", "dashboard_filters": {"date_fro": "-7d"}, "tiles": []}`), Status: 400, Error: unknownIn("dashboard_filters__date_fro", "dashboard_filters.date_fro", laid, "date_from")},
	})
}

// The legacy form of insights is checked when it is written.
func TestQuestions_FiltersMisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	body := func(text string) json.RawMessage { return json.RawMessage(text) }
	o.walk(t, []manageStep{
		{Request: "POST /api/projects/1/insights/", Body: body(`{"filters": {"insight": "TRENDS", "event": [{"id": "a"}], "intervall": "day"}}`), Status: 400, Error: unknownIn("filters__intervall", "filters.intervall", "filters", "interval")},
		{Request: "POST /api/projects/1/insights/", Body: body(`{"filters": {"insight": "PATHS", "step_limit": 5}}`), Status: 201, WantHeaders: map[string]string{"Bunting-Warning": "filters.step_limit is not supported and has no effect"}, Keep: map[string]string{"id": "id"}},
		{Request: "PATCH /api/projects/1/insights/{id}/", Body: body(`{"filters": {"events": [{"id": "a", "propertys": []}]}}`), Status: 400, Error: unknownIn("filters__events__0__propertys", "filters.events[0].propertys", "filters", "properties")},
		{Request: "PATCH /api/projects/1/insights/{id}/", Body: body(`{"filters": {"insight": "RETENTION", "retention_type": "retention_first_time", "period": "Week", "total_intervals": 3, "target_entity": {"id": "a", "type": "events", "order": 0, "uuid": "b"}, "display": "ActionsTable", "show_mean": true}}`), Status: 200},
	})
}
