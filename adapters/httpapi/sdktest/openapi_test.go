package sdktest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The ids and the key of the managed server.
const (
	managedOrg  = "0191f0a2-5b1c-7d3e-8f40-00000000000a"
	managedUser = "0191f0a2-5b1c-7d3e-8f40-000000000001"
	managedKey  = "phx_managed"
)

// managedServer returns a server with a store in memory and an owner of organization A, who has a
// key with all scopes.
func managedServer(t testing.TB) *httptest.Server {
	t.Helper()
	ctx := context.Background()
	s, err := sqlstore.Open(ctx, "sqlite::memory:", sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := s.Management()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	verified := true
	user, err := json.Marshal(management.User{ID: 1, UUID: managedUser, DistinctID: "owner", FirstName: "Owner", Email: "owner@example.com", EmailVerified: &verified, Joined: management.NewStamp(now)})
	if err != nil {
		t.Fatal(err)
	}
	member, err := json.Marshal(management.Membership{ID: managedUser, Organization: managedOrg, User: managedUser, Level: management.Owner, Joined: management.NewStamp(now), Updated: management.NewStamp(now)})
	if err != nil {
		t.Fatal(err)
	}
	err = store.Write(ctx, func(tx rooms.Tx) error {
		for _, do := range []func() error{
			func() error { _, err := tx.Next("user"); return err },
			func() error {
				return tx.PutOrganization(&management.OrganizationRecord{ID: managedOrg, Name: "A", CreatedAt: now})
			},
			func() error {
				return tx.PutProject(&management.ProjectRecord{ID: 1, Organization: managedOrg, Name: "P", APIKey: "phc_1", CreatedAt: now})
			},
			func() error {
				return tx.Put(&management.Record{Kind: "user", ID: managedUser, Sort: fmt.Sprintf("%020d", 1), Unique: "owner@example.com", Data: user})
			},
			func() error {
				return tx.Put(&management.Record{Kind: "member", Parent: managedOrg, ID: managedUser, Other: managedUser, Sort: "1", Data: member})
			},
			func() error {
				return tx.PutKey(&management.KeyRecord{ID: "k", Hash: management.HashKey(managedKey), User: 1, Scopes: []string{"*"}, CreatedAt: now})
			},
		} {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	service, err := rooms.Open(rooms.Config{Store: store, People: store, Events: store, SiteURL: "https://flags.example.com", ExportRows: s.Exports()})
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: s, OnFailure: func(err error) { t.Error(err) }})
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: s.CaptureKeys(), Appender: recorder, Usage: s})
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: s, People: s, Continuity: s, Usage: s})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := queries.New(queries.Config{Source: s, States: s, NewID: rand.Text, Limits: queries.Limits{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(httpapi.Config{Decider: decider, Intake: intake, Queries: runner, History: s, People: &capture.People{History: s, Transactor: recorder, Intake: intake}, Management: service})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		web.Close()
		recorder.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return web
}

// schemaOf returns the API description of a server.
func schemaOf(t testing.TB, s *httptest.Server, version string) []byte {
	t.Helper()
	res, err := http.Get(s.URL + "/api/schema/?version=" + version)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode, err)
	}
	return text
}

// The descriptions are valid OpenAPI 3.1 and 3.0, without keywords that these do not have.
func TestOpenAPI_Strict(t *testing.T) {
	s := managedServer(t)
	for _, version := range []string{"3.1", "3.0"} {
		d, err := openapi3.NewLoader().LoadFromData(schemaOf(t, s, version))
		if err != nil {
			t.Fatal(version, err)
		}
		if err := d.Validate(t.Context()); err != nil {
			t.Error(version, err)
		}
	}
}

// sdkWalk are requests as SDKs send them, with the given headers.
var sdkWalk = []struct{ request, body, header string }{
	{"POST /flags/?v=2", `{"token": "phc_1", "distinct_id": "u", "person_properties": {"plan": "pro"}, "groups": null}`, ""},
	{"POST /flags/?v=1", `{"token": "phc_1", "distinct_id": "u"}`, ""},
	{"POST /flags/?v=2&config=true", `{"token": "phc_1", "distinct_id": "u"}`, ""},
	{"POST /decide/?v=2", `{"token": "phc_1", "distinct_id": "u"}`, ""},
	{"POST /flags/?v=2", `{"token": "phc_unknown", "distinct_id": "u"}`, ""},
	{"GET /flags/?v=2", "", ""},
	{"GET /flags/definitions/?token=phc_1", "", "Authorization: Bearer " + managedKey},
	{"GET /api/projects/1/feature_flags/local_evaluation/", "", "Authorization: Bearer " + managedKey},
	{"GET /flags/definitions/?token=phc_1", "", ""},
	{"POST /ofrep/v1/evaluate/flags/", `{"context": {"targetingKey": "u", "plan": "pro"}}`, "Authorization: Bearer phc_1"},
	{"POST /ofrep/v1/evaluate/flags/a/", `{"context": {"targetingKey": "u", "plan": "pro"}}`, "X-API-Key: phc_1"},
	{"POST /ofrep/v1/evaluate/flags/none/", `{"context": {"targetingKey": "u"}}`, "X-API-Key: phc_1"},
	{"POST /ofrep/v1/evaluate/flags/", `{"context": {"targetingKey": "u"}}`, "Authorization: Bearer phc_unknown"},
	{"GET /ofrep/v1/configuration/", "", "X-API-Key: phc_1"},
	{"POST /batch/", `{"api_key": "phc_1", "batch": [{"event": "e", "distinct_id": "u", "properties": {"$set": {"plan": "pro"}}}]}`, ""},
	{"POST /i/v0/e/", `{"api_key": "phc_1", "event": "e", "distinct_id": 7}`, ""},
	{"POST /e/", `[{"token": "phc_1", "event": "e", "distinct_id": "u"}]`, ""},
	{"POST /capture/", `{"event": "e", "distinct_id": "u"}`, ""},
	{"POST /i/v1/analytics/events/", `{"created_at": "2026-01-01T00:00:00Z", "batch": [{"event": "e", "uuid": "0191f0a2-5b1c-7d3e-8f40-000000000001", "distinct_id": "u", "timestamp": "2026-01-01T00:00:00Z", "properties": {}}]}`,
		"Authorization: Bearer phc_1"},
	{"POST /i/v1/analytics/events/", `{"created_at": "2026-01-01T00:00:00Z", "batch": []}`, "Authorization: Bearer phc_1"},
	{"GET /array/phc_1/config/", "", ""},
	{"GET /api/surveys/?token=phc_1", "", ""},
	{"GET /api/early_access_features/?token=phc_1", "", ""},
	{"GET /_liveness/", "", ""},
}

// Requests of SDKs and their responses match the descriptions, errors too.
func TestOpenAPI_SDKs(t *testing.T) {
	s := managedServer(t)
	createReq, err := http.NewRequest(http.MethodPost, s.URL+"/api/projects/1/feature_flags/", strings.NewReader(
		`{"key": "a", "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}], "rollout_percentage": 100}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	createReq.Header = http.Header{"Authorization": {"Bearer " + managedKey}, "Content-Type": {"application/json"}}
	if res, err := s.Client().Do(createReq); err != nil || res.Body.Close() != nil || res.StatusCode != http.StatusCreated {
		t.Fatal(err)
	}
	described := described(t, s)
	for _, step := range sdkWalk {
		method, path, _ := strings.Cut(step.request, " ")
		ask := func(url string) *http.Request {
			req, err := http.NewRequest(method, url+path, strings.NewReader(step.body))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{
				"PostHog-Sdk-Info": "walk/1", "PostHog-Attempt": "1", "PostHog-Request-Timestamp": "2026-01-01T00:00:00Z",
				"PostHog-Request-Id": "0191f0a2-5b1c-7d3e-8f40-000000000002", "User-Agent": "walk/1",
			} {
				req.Header.Set(name, value)
			}
			if name, value, ok := strings.Cut(step.header, ": "); ok {
				req.Header.Set(name, value)
			}
			if step.body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			return req
		}
		described.ask(t, s, ask)
	}
}

// describedWalk has a request for each resource: method and path, a body, and the name under which
// the id in the response is saved.
var describedWalk = []struct{ request, body, keep string }{
	{"GET /api/users/@me/", "", ""},
	{"GET /api/organizations/", "", ""},
	{"GET /api/organizations/{org}/", "", ""},
	{"GET /api/projects/", "", ""},
	{"GET /api/projects/1/", "", ""},
	{"PATCH /api/projects/1/", `{"name": "Q"}`, ""},
	{"POST /api/projects/1/feature_flags/", `{"key": "a", "name": "A", "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "rollout_percentage": 50}]}}`, "flag"},
	{"GET /api/projects/1/feature_flags/", "", ""},
	{"GET /api/projects/1/feature_flags/{flag}/", "", ""},
	{"PATCH /api/projects/1/feature_flags/{flag}/", `{"active": false}`, ""},
	{"GET /api/projects/1/feature_flags/{flag}/status/", "", ""},
	{"GET /api/projects/1/feature_flags/{flag}/activity/", "", ""},
	{"GET /api/projects/1/feature_flags/{flag}/dependent_flags/", "", ""},
	{"POST /api/projects/1/cohorts/", `{"name": "C", "filters": {"properties": {"type": "OR", "values": [{"type": "AND", "values": [{"type": "person", "key": "plan", "operator": "exact", "value": "pro"}]}]}}}`, "cohort"},
	{"GET /api/projects/1/cohorts/", "", ""},
	{"GET /api/projects/1/cohorts/{cohort}/", "", ""},
	{"GET /api/projects/1/cohorts/{cohort}/persons/", "", ""},
	{"POST /api/environments/1/dashboards/", `{"name": "D", "tags": ["x"]}`, "dashboard"},
	{"PATCH /api/environments/1/dashboards/{dashboard}/", `{"tiles": [{"text": {"body": "T"}}]}`, ""},
	{"POST /api/projects/1/insights/", `{"name": "I", "dashboards": [{dashboard}]}`, "insight"},
	{"GET /api/projects/1/insights/", "", ""},
	{"GET /api/environments/1/dashboards/", "", ""},
	{"GET /api/environments/1/dashboards/{dashboard}/", "", ""},
	{"GET /api/environments/1/dashboards/{dashboard}/sharing/", "", ""},
	{"PATCH /api/environments/1/dashboards/{dashboard}/sharing/", `{"enabled": true}`, ""},
	{"GET /api/environments/1/dashboards/{dashboard}/collaborators/", "", ""},
	{"POST /api/environments/1/dashboards/create_from_template_json/", `{"name": "E"}`, ""},
	{"DELETE /api/environments/1/dashboards/{dashboard}/", "", ""},
	{"GET /api/organizations/{org}/members/", "", ""},
	{"POST /api/organizations/{org}/invites/", `{"target_email": "new@example.com"}`, "invite"},
	{"GET /api/organizations/{org}/invites/", "", ""},
	{"POST /api/organizations/{org}/invites/bulk/", `[{"target_email": "b@example.com"}]`, ""},
	{"DELETE /api/organizations/{org}/invites/{invite}/", "", ""},
	{"POST /api/organizations/{org}/domains/", `{"domain": "example.com"}`, "domain"},
	{"GET /api/organizations/{org}/domains/", "", ""},
	{"GET /api/organizations/{org}/domains/{domain}/", "", ""},
	{"POST /api/organizations/{org}/roles/", `{"name": "R"}`, "role"},
	{"GET /api/organizations/{org}/roles/", "", ""},
	{"GET /api/organizations/{org}/usage/", "", ""},
	{"POST /api/environments/1/error_tracking/assignment_rules/", `{"filters": {"type": "AND", "values": []}}`, "rule"},
	{"GET /api/environments/1/error_tracking/assignment_rules/", "", ""},
	{"GET /api/environments/1/error_tracking/issues/", "", ""},
	{"POST /api/projects/1/batch_exports/", `{"name": "x", "destination": {"type": "Files", "config": {"path": "p"}}, "interval": "hour"}`, "export"},
	{"GET /api/projects/1/batch_exports/", "", ""},
	{"GET /api/projects/1/batch_exports/{export}/", "", ""},
	{"GET /api/projects/1/batch_exports/{export}/runs/", "", ""},
	{"GET /api/projects/1/batch_exports/{export}/backfills/", "", ""},
	{"POST /api/organizations/{org}/batch_exports/{export}/pause/", "", ""},
	{"POST /api/projects/1/surveys/", `{"name": "S", "type": "popover", "questions": [{"type": "open", "question": "Why?"}]}`, "survey"},
	{"GET /api/projects/1/surveys/", "", ""},
	{"POST /api/projects/1/early_access_feature/", `{"name": "F", "stage": "beta"}`, ""},
	{"GET /api/projects/1/early_access_feature/", "", ""},
	{"POST /api/projects/1/experiments/", `{"name": "X", "feature_flag_key": "exp"}`, ""},
	{"GET /api/projects/1/experiments/", "", ""},
	{"POST /api/projects/1/scheduled_changes/", `{"record_id": {flag}, "model_name": "FeatureFlag", "payload": {"operation": "update_status", "value": true}, "scheduled_at": "2099-01-01T00:00:00Z"}`, ""},
	{"GET /api/projects/1/scheduled_changes/", "", ""},
	{"GET /api/personal_api_keys/", "", ""},
	{"POST /api/personal_api_keys/", `{"label": "k", "scopes": ["dashboard:read"], "scoped_teams": [], "scoped_organizations": []}`, ""},
	{"POST /batch/", `{"api_key": "phc_1", "batch": [{"event": "$identify", "distinct_id": "u", "properties": {"$anon_distinct_id": "a", "$set": {"plan": "pro"}}},
		{"event": "$groupidentify", "distinct_id": "u", "properties": {"$group_type": "company", "$group_key": "acme"}},
		{"event": "$create_alias", "distinct_id": "u", "properties": {"alias": ""}}, {"event": "seen", "distinct_id": "v"}]}`, ""},
	{"GET /api/projects/1/groups_types/", "", ""},
	{"PATCH /api/projects/1/groups_types/update_metadata/", `[{"group_type_index": 0, "name_singular": "Company"}]`, ""},
	{"GET /api/projects/1/groups/?group_type_index=0", "", ""},
	{"POST /api/projects/1/groups/", `{"group_type_index": 0, "group_key": "blue", "group_properties": {"size": 1}}`, ""},
	{"GET /api/projects/1/groups/find/?group_type_index=0&group_key=blue", "", ""},
	{"POST /api/projects/1/groups/update_property/?group_type_index=0&group_key=blue", `{"key": "size", "value": 2}`, ""},
	{"POST /api/projects/1/groups/delete_property/?group_type_index=0&group_key=blue", `{"$unset": "size"}`, ""},
	{"GET /api/projects/1/persons/?include_total=1", "", ""},
	{"GET /api/projects/1/persons/values/?key=plan", "", ""},
	{"GET /api/projects/1/persons/1/", "", ""},
	{"PATCH /api/projects/1/persons/1/", `{"properties": {"n": 1}}`, ""},
	{"POST /api/projects/1/persons/1/update_property/", `{"key": "n", "value": [2]}`, ""},
	{"POST /api/projects/1/persons/1/delete_property/", `{"$unset": "n"}`, ""},
	{"POST /api/projects/1/persons/1/split/", `{"main_distinct_id": "u"}`, ""},
	{"POST /api/projects/1/persons/1/delete_events/", "", ""},
	{"POST /api/projects/1/persons/bulk_delete/", `{"distinct_ids": ["v"], "delete_events": true}`, ""},
	{"DELETE /api/projects/1/persons/1/", "", ""},
	{"GET /api/projects/1/events/", "", ""},
	{"GET /api/projects/1/event_definitions/", "", ""},
	{"GET /api/projects/1/property_definitions/", "", ""},
	{"GET /api/projects/1/ingestion_warnings/", "", ""},
	{"POST /api/projects/1/query/", `{"query": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "seen"}]}}`, ""},
	{"POST /api/projects/1/query/HogQLQuery/", `{"query": {"kind": "HogQLQuery", "query": "SELECT event, count() FROM events GROUP BY event"}}`, ""},
	{"POST /api/projects/1/query/", `{"query": {"kind": "EventsQuery", "select": ["event"]}, "refresh": "async", "client_query_id": "run"}`, ""},
	{"POST /api/projects/1/query/upgrade/", `{"query": {"kind": "EventsQuery", "select": ["event"]}}`, ""},
	{"POST /api/projects/1/query/check_auth_for_async/", "", ""},
}

// Requests and responses match the description: the documented ones, and those with the body that
// Prefer requests.
func TestOpenAPI_Answers(t *testing.T) {
	s := managedServer(t)
	described := described(t, s)
	replacements := []string{"{org}", managedOrg}
	for _, step := range describedWalk {
		fill := strings.NewReplacer(replacements...)
		method, path, _ := strings.Cut(fill.Replace(step.request), " ")
		sent := fill.Replace(step.body)
		ask := func(url string) *http.Request {
			req, err := http.NewRequest(method, url+path, strings.NewReader(sent))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+managedKey)
			req.Header.Set("Prefer", "return=representation")
			if sent != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			return req
		}
		if status, body := described.ask(t, s, ask); status >= 400 && status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d %s", method, path, status, body)
		} else if step.keep != "" {
			var created struct{ ID any }
			if err := json.Unmarshal(body, &created); err != nil || created.ID == nil {
				t.Fatalf("%s %s: no id: %s", method, path, body)
			}
			replacements = append(replacements, "{"+step.keep+"}", fmt.Sprint(created.ID))
		}
	}
}
