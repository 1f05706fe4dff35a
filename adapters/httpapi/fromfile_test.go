package httpapi_test

import (
	"context"
	"testing"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management/organizations"
)

// definitionsFile has an organization, a project and keys (decisions, Definitions file).
const definitionsFile = `{
  "organization": {"id": "0191f0a2-5b1c-7d3e-8f40-0000000000fe", "name": "From a file", "quotas": {"events": 7}},
  "projects": [{"id": 9, "name": "filed", "api_key": "phc_filed", "timezone": "Europe/Oslo",
    "personal_api_keys": [{"key": "phx_filed_0000000000", "scopes": ["*"]}], "secret_api_keys": ["phs_filed0000000000"], "flags": []}]
}`

// Settings from a file are read-only: 409 with the name of the file. Other settings can be changed.
func TestManagement_FromFile(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	file, err := flags.ParseFile([]byte(definitionsFile))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if err := o.store.ApplyFile(ctx, "demo.json", file, []byte(definitionsFile)); err != nil {
		t.Fatal(err)
	}
	if err := o.service.Organizations.Adopt(ctx, organizations.Adoption{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	o.vars["filed"] = "0191f0a2-5b1c-7d3e-8f40-0000000000fe"
	wantReadOnly := func(what string) []any {
		return []any{"server_error", "conflict", "This " + what + " is defined in the file demo.json and can only be changed there."}
	}
	filedKey := map[string]string{"Authorization": "Bearer phx_filed_0000000000"}
	o.walk(t, []manageStep{
		{Request: "GET /api/organizations/{filed}/", Status: 200, Want: []byte(`{"...": 1, "name": "From a file", "membership_level": 15, "projects": [{"...": 1, "id": 9}]}`)},
		{Request: "PATCH /api/organizations/{filed}/", Body: []byte(`{"name": "x"}`), Status: 409, Error: wantReadOnly("organization")},
		{Request: "PATCH /api/organizations/{filed}/", Body: []byte(`{"quotas": {"events": 8}}`), Status: 409, Error: wantReadOnly("organization")},
		{Request: "PATCH /api/organizations/{filed}/", Body: []byte(`{"quotas": {"events": 7}, "members_can_invite": false}`), Status: 200, Want: []byte(`{"...": 1, "members_can_invite": false}`)},
		{Request: "DELETE /api/organizations/{filed}/", Status: 409, Error: wantReadOnly("organization")},
		{Request: "GET /api/projects/9/", Status: 200, Want: []byte(`{"...": 1, "timezone": "Europe/Oslo", "secret_api_token": "phs_...0000"}`)},
		{Request: "PATCH /api/projects/9/", Body: []byte(`{"timezone": "UTC"}`), Status: 409, Error: wantReadOnly("project")},
		{Request: "PATCH /api/projects/9/", Body: []byte(`{"name": "x"}`), Status: 409, Error: wantReadOnly("project")},
		{Request: "PATCH /api/projects/9/", Body: []byte(`{"name": "filed", "timezone": "Europe/Oslo", "surveys_opt_in": true, "anonymize_ips": true}`), Status: 200, Want: []byte(`{"...": 1, "surveys_opt_in": true, "anonymize_ips": true}`)},
		{Request: "DELETE /api/projects/9/", Status: 409, Error: wantReadOnly("project")},
		{Request: "PATCH /api/projects/9/reset_token/", Status: 409, Error: wantReadOnly("project")},
		{Request: "PATCH /api/projects/9/rotate_secret_token/", Status: 409, Error: wantReadOnly("key")},
		{Request: "POST /api/projects/9/change_organization/", Body: []byte(`{"organization_id": "{org}"}`), Status: 409, Error: wantReadOnly("project")},
		{As: "none", Headers: filedKey, Request: "GET /api/projects/9/", Status: 200},
		{As: "none", Headers: filedKey, Request: "GET /api/personal_api_keys/@current/", Status: 200, Want: []byte(`{"...": 1, "value": null, "user_id": 1, "scoped_teams": [9], "scopes": ["*"]}`), Keep: map[string]string{"key": "id"}},
		{Request: "PATCH /api/personal_api_keys/{key}/", Body: []byte(`{"label": "x"}`), Status: 409, Error: wantReadOnly("key")},
		{Request: "POST /api/personal_api_keys/{key}/roll/", Status: 409, Error: wantReadOnly("key")},
		{Request: "DELETE /api/personal_api_keys/{key}/", Status: 409, Error: wantReadOnly("key")},
	})
	// Reading the file a second time does not affect the settings from the API.
	if err := o.store.ApplyFile(ctx, "demo.json", file, []byte(definitionsFile)); err != nil {
		t.Fatal(err)
	}
	o.walk(t, []manageStep{
		{Request: "GET /api/projects/9/", Status: 200, Want: []byte(`{"...": 1, "surveys_opt_in": true, "anonymize_ips": true}`)},
		{Request: "GET /api/organizations/{filed}/", Status: 200, Want: []byte(`{"...": 1, "members_can_invite": false, "member_count": 1}`)},
	})
}
