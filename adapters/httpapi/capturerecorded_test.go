package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// capturedRequest is a recorded capture request, from testdata/http/recorded/capture.
type capturedRequest struct {
	recording
	Scenario string          `json:"scenario"`
	N        int             `json:"n"`
	Decoded  json.RawMessage `json:"body_decoded"`
	Answer   struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	} `json:"recorder_response"`
}

// capturedBody is a body of events as decoded by the recorder.
type capturedBody struct {
	SentAt     *time.Time      `json:"sent_at"`
	CreatedAt  *time.Time      `json:"created_at"` // protocol v1 only
	Historical bool            `json:"historical_migration"`
	Batch      []capturedEvent `json:"batch"`
}

type capturedEvent struct {
	Event      string                     `json:"event"`
	UUID       string                     `json:"uuid"`
	DistinctID string                     `json:"distinct_id"`
	Timestamp  time.Time                  `json:"timestamp"`
	Properties map[string]json.RawMessage `json:"properties"`
	Options    map[string]json.RawMessage `json:"options"`
	Set        map[string]json.RawMessage `json:"$set"`
	SetOnce    map[string]json.RawMessage `json:"$set_once"`
}

// capturedScenario is an entry of testdata/capture/recorded.json.
type capturedScenario struct {
	// Scenarios are an SDK and the scenario that it ran, "sdk/scenario".
	Scenarios []string `json:"scenarios"`
	Source    string   `json:"source"`
	// Bodies are the bodies that the recorder could not decode, by the number of the request.
	Bodies map[string]json.RawMessage `json:"bodies"`
	labState
}

// captured returns the recorded requests by scenario, in the order in which they were sent.
func captured(t testing.TB) map[string][]capturedRequest {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/http/recorded/capture/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recorded requests", err)
	}
	out := map[string][]capturedRequest{}
	for _, path := range paths {
		var r capturedRequest
		decodeJSON(t, read(t, "recorded/capture/"+filepath.Base(path)), &r)
		name := r.SDK + "/" + r.Scenario
		out[name] = append(out[name], r)
	}
	for _, list := range out {
		slices.SortFunc(list, func(a, b capturedRequest) int { return a.N - b.N })
	}
	return out
}

func capturedScenarios(t testing.TB) map[string]capturedScenario {
	t.Helper()
	data, err := os.ReadFile("../../testdata/capture/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []capturedScenario
	decodeJSON(t, data, &list)
	out := map[string]capturedScenario{}
	for _, s := range list {
		for _, name := range s.Scenarios {
			out[name] = s
		}
	}
	return out
}

// Every recorded capture request gets the response that the recorder sent, which the SDK accepted.
// The stored events are the same that the recorder's own decoders found in the body, and the persons
// and groups are those of recorded.json. Sending everything a second time changes no stored data
// (§19.1).
func TestCapture_19_1_RecordedRequests(t *testing.T) {
	scenarios := capturedScenarios(t)
	for name, requests := range captured(t) {
		t.Run(name, func(t *testing.T) {
			want, ok := scenarios[name]
			if !ok {
				t.Fatal("recorded.json does not say what comes of it")
			}
			want.check(t, newLab(t, "{}"), requests)
		})
		delete(scenarios, name)
	}
	for name := range scenarios {
		t.Errorf("there is no recording %s", name)
	}
}

// check sends the requests of a scenario, two times, and checks the responses and the stored data.
func (want *capturedScenario) check(t *testing.T, l *lab, requests []capturedRequest) {
	t.Helper()
	want.Project = 7
	for i := range requests {
		r := &requests[i]
		if body := want.Bodies[fmt.Sprint(r.N)]; body != nil {
			r.Decoded = body
		}
		want.Events = append(want.Events, r.send(t, l)...)
		stored, err := l.store.Ledger(context.Background(), 7, 0, 5000)
		if err != nil || len(stored) != len(want.Events) {
			t.Fatalf("%d events after request %d, want %d: %v", len(stored), r.N, len(want.Events), err)
		}
	}
	for _, d := range l.differences(&want.labState) {
		t.Error(d)
	}
	before := snapshotOf(t, l, 7)
	for i := range requests {
		requests[i].send(t, l)
	}
	if diff := cmp.Diff(before, snapshotOf(t, l, 7)); diff != "" {
		t.Errorf("a second delivery changes (-before +after)\n%s", diff)
	}
	if inUse := l.handler.Stats().BudgetInUse; inUse != 0 {
		t.Errorf("%d bytes of the budget were not given back", inUse)
	}
}

// send replays a request with the clock at its recorded time, so that its timestamps need no
// correction, and returns the events that must be stored.
func (r *capturedRequest) send(t *testing.T, l *lab) []labEvent {
	t.Helper()
	var body capturedBody
	if strings.HasPrefix(string(r.Decoded), "{") {
		decodeJSON(t, r.Decoded, &body)
	}
	now := labStart
	for _, e := range body.Batch {
		if e.Timestamp.After(now) {
			now = e.Timestamp
		}
	}
	v1 := body.CreatedAt != nil
	switch {
	case v1:
		sentAt, err := time.Parse(time.RFC3339, r.Headers["posthog-request-timestamp"])
		if err != nil {
			t.Fatal(err)
		}
		now = sentAt
	case body.SentAt != nil:
		now = *body.SentAt
	}
	l.setClock(now)
	got := replay(t, l.Server, &r.recording)
	r.checkAnswer(t, got.Code, got.Header(), got.Body.Bytes(), v1, &body)

	var events []labEvent
	for i := range body.Batch {
		events = append(events, body.Batch[i].stored(&body, now, v1))
	}
	return events
}

func (r *capturedRequest) checkAnswer(t *testing.T, status int, header http.Header, got []byte, v1 bool, body *capturedBody) {
	t.Helper()
	answer := r.Answer.Body
	if v1 { // the recorder could not respond to bodies that it could not decode
		results := map[string]map[string]string{}
		for _, e := range body.Batch {
			results[e.UUID] = map[string]string{"result": "ok"}
		}
		text, err := json.Marshal(map[string]any{"results": results})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Answer.Body) > len(`{"results":{}}`) && cmp.Diff(value(t, []byte(answer)), value(t, text)) != "" {
			t.Fatalf("the recorder answered %s", answer)
		}
		answer = string(text)
	}
	if status != r.Answer.Status || cmp.Diff(value(t, []byte(answer)), value(t, got)) != "" || header.Get("Content-Type") != "application/json" {
		t.Errorf("request %d, %s %s: %d %s, want %d %s", r.N, r.Method, r.URL, status, truncate(got), r.Answer.Status, answer)
	}
	if header.Get("Content-Encoding") != "" || header.Get("Location") != "" {
		t.Errorf("request %d: %v", r.N, header)
	}
	credentials := ""
	if r.Headers["origin"] != "" {
		credentials = "true"
	}
	for name, v := range map[string]string{
		"Access-Control-Allow-Origin":      r.Headers["origin"],
		"Access-Control-Allow-Credentials": credentials,
		"Access-Control-Allow-Headers":     r.Headers["access-control-request-headers"],
	} {
		if v != header.Get(name) && (r.Method == http.MethodOptions || name != "Access-Control-Allow-Headers") {
			t.Errorf("request %d: %s is %q, want %q", r.N, name, header.Get(name), v)
		}
	}
}

// changed are properties that are not stored as they were sent: §8.2, §9.1.
var changed = []string{"$process_person_profile", "$elements_chain", "$elements", "$set", "$set_once", "$os_name"}

// stored returns the expected stored form of an event.
func (e *capturedEvent) stored(body *capturedBody, now time.Time, v1 bool) labEvent {
	timestamp := e.Timestamp.UTC().Truncate(time.Microsecond)
	out := labEvent{Event: e.Event, UUID: e.UUID, DistinctID: e.DistinctID, Timestamp: &timestamp, Mode: "full", Properties: map[string]json.RawMessage{}}
	var text string
	if out.DistinctID == "" && json.Unmarshal(e.Properties["distinct_id"], &text) == nil {
		out.DistinctID = text
	}
	if json.Unmarshal(e.Properties["$elements_chain"], &text) == nil {
		out.Elements = text
	}
	out.Historical = ptr(body.Historical && now.Sub(e.Timestamp) >= 48*time.Hour)
	for name, v := range e.Properties {
		if !slices.Contains(changed, name) {
			out.Properties[name] = v
		}
	}
	for name, top := range map[string]map[string]json.RawMessage{"$set": e.Set, "$set_once": e.SetOnce} {
		switch inside := e.Properties[name]; {
		case len(top) > 0 && inside == nil:
			out.Properties[name], _ = json.Marshal(top) // of raw JSON
		case inside != nil:
			out.Properties[name] = inside
		default:
			out.Absent = append(out.Absent, name)
		}
	}
	if v1 {
		out.Properties["$lib_version"] = json.RawMessage(`"` + map[bool]string{true: "1.23.1", false: "5.70.0"}[e.Properties["$go_version"] != nil] + `"`)
	}
	if string(e.Properties["$process_person_profile"]) == "false" || string(e.Options["process_person_profile"]) == "false" {
		out.Mode, out.Person = "propertyless", out.DistinctID
		out.Properties["$process_person_profile"] = json.RawMessage("false")
	} else {
		out.Absent = append(out.Absent, "$process_person_profile")
	}
	var groups map[string]json.RawMessage
	if json.Unmarshal(e.Properties["$groups"], &groups) == nil && groups["company"] != nil && out.Mode == "full" {
		out.Properties["$group_0"] = groups["company"]
	}
	return out
}

// snapshotOf returns all stored data of a project as strings.
func snapshotOf(t *testing.T, l *lab, project int64) []string {
	t.Helper()
	ctx := context.Background()
	events, err := l.store.Ledger(ctx, project, 0, 5000)
	if err != nil {
		t.Fatal(err)
	}
	people, _, err := l.store.People(ctx, project, capture.PersonQuery{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	types, err := l.store.GroupTypes(ctx, project)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{fmt.Sprint(types)}
	for number := range types {
		groups, _, err := l.store.Groups(ctx, project, number, "", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprint(groups))
	}
	for _, e := range events {
		out = append(out, fmt.Sprint(e))
	}
	for _, p := range people {
		out = append(out, fmt.Sprint(p))
	}
	return out
}
