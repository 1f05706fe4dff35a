package httpapi_test

import (
	"encoding/json"
	"testing"
)

// insights.md §1.5, §1.6: cached results, an erasure that invalidates them, an asynchronous run,
// and refused requests.
func TestInsights_1_5_RunsOverHTTP(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	v := o.insightProject(t, &insightCase{ID: "runs", Events: json.RawMessage(`[["buy","ann","2020-01-02T03:04:05Z",{"$set":{"a":1}}],["buy","bob","2020-01-02T03:04:05Z",{"$set":{"a":1}}]]`)})
	const path = "/api/projects/{project}/query/"
	body := func(more string) json.RawMessage {
		return json.RawMessage(`{"query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"buy","math":"dau"}],"dateRange":{"date_from":"2020-01-02","date_to":"2020-01-02"}}` + more + `}`)
	}
	for i, s := range []insightStep{
		{Method: "POST", Path: path, Body: body(``), Status: 200, Expect: json.RawMessage(`{"is_cached":false,"results":[{"data":[2]}]}`)},
		{Method: "POST", Path: path, Body: body(`,"refresh":"async"`), Status: 200, Expect: json.RawMessage(`{"is_cached":true,"query_status":{"$absent":1}}`)},
		{Method: "GET", Path: "/api/projects/{project}/persons/?distinct_id=bob", Status: 200, Save: map[string]string{"bob": "results.0.uuid"}},
		{Method: "DELETE", Path: "/api/projects/{project}/persons/{bob}/?delete_events=true", Status: 202},
		{Method: "POST", Path: path, Body: body(``), Status: 200, Expect: json.RawMessage(`{"is_cached":false,"results":[{"data":[1]}]}`)},
		{Method: "POST", Path: path, Body: body(`,"refresh":"force_async","client_query_id":"mine"`), Status: 202, Expect: json.RawMessage(`{"query_status":{"id":"mine","complete":false,"query_async":true},"results":[{"data":[1]}]}`)},
		{Method: "GET", Path: path + "mine/?show_progress=true", Status: 200, Wait: 5, Expect: json.RawMessage(`{"query_status":{"complete":true,"error":false,"results":{"results":[{"data":[1]}]},"query_progress":{"rows_read":{"$gte":1}}}}`)},
		{Method: "DELETE", Path: path + "mine/", Status: 200, Expect: json.RawMessage(`{"message":"Query already completed"}`)},
		{Method: "DELETE", Path: path + "other/", Status: 200, Expect: json.RawMessage(`{"message":"Query not found"}`)},
		{Method: "GET", Path: path + "other/", Status: 404, Expect: json.RawMessage(`{"code":"not_found","detail":{"$contains":"Query other not found for team"}}`)},
		{Method: "POST", Path: path, Body: body(`,"refresh":"soon"`), Status: 400, Expect: json.RawMessage(`{"code":"invalid_choice","attr":"refresh"}`)},
		{Method: "POST", Path: path + "FunnelsQuery/", Body: body(``), Status: 400, Expect: json.RawMessage(`{"code":"invalid_input","attr":"query__kind"}`)},
		{Method: "POST", Path: path + "TrendsQuery/", Body: body(``), Status: 200},
		{Method: "POST", Path: path, Body: json.RawMessage(`{}`), Status: 400, Expect: json.RawMessage(`{"type":"validation_error","code":"required","attr":"query"}`)},
		{Method: "POST", Path: path, Body: json.RawMessage(`{"query":{"kind":"PathsQuery"}}`), Status: 400, Expect: json.RawMessage(`{"attr":"query__kind"}`)},
		{Method: "POST", Path: path + "upgrade/", Body: json.RawMessage(`{"query":{"a":1}}`), Status: 200, Expect: json.RawMessage(`{"query":{"a":1}}`)},
		{Method: "POST", Path: path + "check_auth_for_async/", Status: 200, Expect: json.RawMessage(`{"user":"ok"}`)},
	} {
		if fault := v.step(t, &s); fault != "" {
			t.Errorf("step %d, %s %s: %s", i, s.Method, s.Path, fault)
		}
	}
}
