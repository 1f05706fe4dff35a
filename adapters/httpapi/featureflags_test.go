package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// officeKeys are the keys of an office for definitions.
type officeKeys struct{ store *sqlstore.Store }

func (k officeKeys) Key(ctx context.Context, text string) (httpapi.Key, error) {
	found, err := k.store.Key(ctx, text)
	if errors.Is(err, flags.ErrUnknownKey) {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	key := httpapi.Key{Secret: found.Secret, Scopes: found.Scopes}
	for _, p := range found.Projects {
		key.Projects = append(key.Projects, p.APIKey)
	}
	return key, err
}

func step(request string, status int, body string) manageStep {
	s := manageStep{Request: request, Status: status}
	if body != "" {
		s.Body = json.RawMessage(body)
	}
	return s
}

// The error lists five dependent flags and the number of further flags (§5.1.3).
func TestFeatureFlags_ManyDependants(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	first := step("POST /api/projects/1/feature_flags/", 201, `{"key": "base"}`)
	first.Keep = map[string]string{"base": "id"}
	steps := []manageStep{first}
	names := ""
	for i := range 7 {
		s := step("POST /api/projects/1/feature_flags/", 201, fmt.Sprintf(
			`{"key": "d%d", "filters": {"groups": [{"properties": [{"key": "{base}", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}`, i))
		s.Keep = map[string]string{fmt.Sprint("d", i): "id"}
		steps = append(steps, s)
		if i < 5 {
			names += fmt.Sprintf("d%d (ID: {d%d}), ", i, i)
		}
	}
	rejection := step("PATCH /api/projects/1/feature_flags/{base}/", 400, `{"deleted": true}`)
	o.walk(t, steps)
	rejection.Error = []any{"validation_error", "invalid_input", o.fill("Cannot delete this feature flag because other flags depend on it: " + names + "and 2 more. Please update or disable the dependent flags first.")}
	o.walk(t, []manageStep{rejection})
}

// Definitions from a file are read-only, and the error includes the file's name (decisions).
func TestFeatureFlags_FromAFile(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		return tx.PutDefinition(management.FlagDefinition, 1, &management.Definition{
			ID: 77, Key: "filed", Origin: "flags.json",
			Record: json.RawMessage(`{"id": 77, "key": "filed", "active": true, "filters": {"groups": [{"properties": [{"key": "by_key", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}`),
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	const readOnly = `The feature flag "filed" is defined in the file flags.json and can only be changed there.`
	conflict := func(request, body, text string) manageStep {
		s := step(request, 409, body)
		s.Error = []any{"server_error", "conflict", text}
		return s
	}
	created := step("POST /api/projects/1/feature_flags/", 201, `{"key": "by_key"}`)
	created.Keep = map[string]string{"id": "id"}
	show := step("GET /api/projects/1/feature_flags/77/", 200, "")
	show.Want = json.RawMessage(`{"...": 1, "key": "filed", "can_edit": false, "created_by": null, "version": 0}`)
	dependents := step("GET /api/projects/1/feature_flags/{id}/dependents/", 200, "")
	dependents.Want = json.RawMessage(`[{"id": 77, "key": "filed", "name": "", "active": true}]`)
	o.walk(t, []manageStep{
		show,
		conflict("PATCH /api/projects/1/feature_flags/77/", `{"name": "x"}`, readOnly),
		conflict("PATCH /api/projects/1/feature_flags/77/", `{"deleted": true}`, readOnly),
		created,
		dependents,
		conflict("PATCH /api/projects/1/feature_flags/{id}/", `{"key": "other"}`, `The feature flag "filed" of the file flags.json depends on the key "by_key".`),
	})
}

// Definitions are served below a project's path for personal and secret keys (§5.1.3).
func TestFeatureFlags_LocalEvaluation(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	err := o.store.Management().Write(context.Background(), func(tx rooms.Tx) error {
		return tx.PutKey(&management.KeyRecord{ID: "secret", Hash: management.HashKey("phs_secret_key_of_project_1"), Secret: true, Projects: []int64{1}})
	})
	if err != nil {
		t.Fatal(err)
	}
	served := json.RawMessage(`{"...": 1, "cohorts": {}, "group_type_mapping": {}, "flags": [{"...": 1, "key": "a", "active": false}, {"...": 1, "key": "b", "active": true}]}`)
	get := func(as, path string, status int, want json.RawMessage) manageStep {
		s := step("GET "+path, status, "")
		s.As, s.Want = as, want
		return s
	}
	secret := get("none", "/api/projects/1/feature_flags/local_evaluation?send_cohorts", 200, served)
	secret.Headers = map[string]string{"Authorization": "Bearer phs_secret_key_of_project_1"}
	listed := get("none", "/api/projects/1/feature_flags/", 401, nil)
	listed.Headers = secret.Headers
	listed.Error = []any{"authentication_error", "authentication_failed", "Personal API key found in request Authorization header is invalid. Keys that begin with phs_ are secret project keys for flag definitions. Send a personal API key, which begins with phx_."}
	o.walk(t, []manageStep{
		step("POST /api/projects/1/feature_flags/", 201, `{"key": "b"}`),
		step("POST /api/projects/1/feature_flags/", 201, `{"key": "a", "active": false}`),
		get("owner projects=1", "/api/projects/1/feature_flags/local_evaluation/", 200, served),
		get("owner projects=1 feature_flag:read", "/api/environments/1/feature_flags/local_evaluation/", 200, served),
		secret,
		listed,
		get("owner projects=1 dashboard:read", "/api/projects/1/feature_flags/local_evaluation/", 403, nil),
		get("none", "/api/projects/1/feature_flags/local_evaluation/", 401, nil),
		// A key without restrictions has the access of its user, and no more.
		get("owner", "/flags/definitions?token=phc_1", 200, served),
		get("owner", "/flags/definitions?token=phc_3", 403, nil),
		get("owner", "/api/projects/3/feature_flags/local_evaluation/", 403, nil),
		get("owner", "/api/projects/1/feature_flags/local_evaluation/?token=phc_3", 403, nil),
		get("owner", "/api/projects/3/feature_flags/b/remote_config/", 403, nil),
		get("owner", "/api/projects/1/feature_flags/b/remote_config/", 404, nil),
	})
	r, err := http.NewRequest(http.MethodHead, o.URL+"/api/projects/1/feature_flags/local_evaluation", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+o.key(t, "owner"))
	res, err := o.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Error(res.StatusCode, err)
	}
}
