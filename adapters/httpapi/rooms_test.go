package httpapi_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management/rooms"
)

// A nil service has no routes and no part in the description; the routes of the other services
// work, and none of them fails because of the missing service.
func TestNew_NilServiceHasNoRoutes(t *testing.T) {
	tests := map[string]struct {
		shut       func(*rooms.Rooms)
		gone, left string
	}{
		"feature flags":  {func(r *rooms.Rooms) { r.FeatureFlags = nil }, "/api/projects/1/feature_flags/", "/api/projects/1/dashboards/"},
		"cohorts":        {func(r *rooms.Rooms) { r.Cohorts = nil }, "/api/projects/1/cohorts/", "/api/projects/1/feature_flags/"},
		"changes":        {func(r *rooms.Rooms) { r.Changes = nil }, "/api/projects/1/scheduled_changes/", "/api/projects/1/feature_flags/"},
		"early access":   {func(r *rooms.Rooms) { r.EarlyAccess = nil }, "/api/projects/1/early_access_feature/", "/api/projects/1/feature_flags/"},
		"experiments":    {func(r *rooms.Rooms) { r.Experiments = nil }, "/api/projects/1/experiments/", "/api/projects/1/feature_flags/"},
		"rollouts":       {func(r *rooms.Rooms) { r.Rollouts = nil }, "/api/projects/1/guarded_rollouts/", "/api/projects/1/experiments/"},
		"surveys":        {func(r *rooms.Rooms) { r.Surveys = nil }, "/api/projects/1/surveys/", "/api/projects/1/experiments/"},
		"organizations":  {func(r *rooms.Rooms) { r.Organizations = nil }, "/api/organizations/", "/api/projects/1/feature_flags/"},
		"dashboards":     {func(r *rooms.Rooms) { r.Dashboards = nil }, "/api/projects/1/dashboards/", "/api/projects/1/error_tracking/assignment_rules/"},
		"error tracking": {func(r *rooms.Rooms) { r.ErrorTracking = nil }, "/api/projects/1/error_tracking/assignment_rules/", "/api/projects/1/batch_exports/"},
		"batch exports":  {func(r *rooms.Rooms) { r.BatchExports = nil }, "/api/projects/1/batch_exports/", "/api/organizations/"},
		"every room": {func(r *rooms.Rooms) { *r = rooms.Rooms{Service: r.Service} },
			"/api/projects/1/feature_flags/", "/api/projects/1/activity_log/"},
	}
	o := newOffice(t, "sqlite::memory:")
	bearer := "Bearer " + o.key(t, "owner")
	part := regexp.MustCompile(`\{[^}]*\}`)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			some := *o.service
			test.shut(&some)
			o.serve(t, func(c *httpapi.Config) { c.Management = &some })
			get := func(path string) (int, string) {
				method := http.MethodGet
				if strings.Contains(path, "/events/live/") || strings.Contains(path, "/changes/stream/") {
					method = http.MethodHead // they have no end
				}
				w := ask(o.handler, method, path, "", "Authorization", bearer)
				return w.Code, w.Body.String()
			}
			if status, body := get(test.gone); status != http.StatusNotFound || !strings.Contains(body, "Endpoint not found.") {
				t.Error(test.gone, status, body)
			}
			if status, body := get(test.left); status != http.StatusOK {
				t.Error(test.left, status, body)
			}
			var described struct{ Paths map[string]any }
			if _, text := get("/api/schema/"); json.Unmarshal([]byte(text), &described) != nil {
				t.Fatal(text)
			}
			patterns := map[string]bool{} // with any names of parameters
			for path := range described.Paths {
				patterns[part.ReplaceAllString(path, "{}")] = true
			}
			for path := range httpapi.ManagementRoutesForTest() {
				status, body := get(part.ReplaceAllString(path, "1") + "/?cohort=1")
				if status >= http.StatusInternalServerError {
					t.Error(path, status, body)
				}
				pattern := part.ReplaceAllString(path, "{}")
				// persons/cohorts belongs to flags; without them the path matches a person's id
				byID := pattern[:strings.LastIndexByte(pattern, '/')] + "/{}/"
				if !patterns[pattern+"/"] && status != http.StatusNotFound && (!patterns[byID] || status != http.StatusBadRequest) {
					t.Error(path, "is not described and answers", status, body)
				}
			}
			for path, want := range map[string]string{"/api/surveys/?token=phc_1": `"surveys":[]`, "/api/early_access_features/?token=phc_1": `"earlyAccessFeatures":[]`} {
				if status, body := get(path); status != http.StatusOK || !strings.Contains(body, want) {
					t.Error(path, status, body)
				}
			}
		})
	}
	if _, err := httpapi.New(httpapi.Config{Decider: o.config.Decider, Management: &rooms.Rooms{FeatureFlags: o.service.FeatureFlags}}); err == nil {
		t.Error("nobody would let callers in, and nobody says so")
	}
}
