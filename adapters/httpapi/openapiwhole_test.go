package httpapi_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// WithoutBody are the writes without a request body, by the end of their paths.
var withoutBody = []string{
	"alerts/simulate", "backfills/{}/cancel", "runs/{}/cancel", "runs/{}/retry", "batch_exports/{}/pause", "sharing/refresh",
	"delete_secret_token_backup", "rotate_secret_token", "reset_token", "feature_flags/{}/archive", "feature_flags/{}/unarchive",
	"feature_flags/{}/enable", "feature_flags/{}/dashboard", "feature_flags/{}/enrich_usage_dashboard", "feature_flags/{}/disable", "feature_flags/{}/create_static_cohort_for_flag", "insights/{}/duplicate", "insights/{}/viewed",
	"persons/{}/delete_events", "cohorts/{}/duplicate_as_static_cohort",
	"experiments/{}/launch", "experiments/{}/pause", "experiments/{}/freeze_exposure", "experiments/{}/unfreeze_exposure", "experiments/{}/create_exposure_cohort_for_experiment", "experiments/{}/reset", "experiments/{}/resume", "experiments/{}/unarchive",
	"query/check_auth_for_async", "change_requests/{}/apply", "change_requests/{}/withdraw", "instance/backup", "passkeys/options", "surveys/{}/launch", "surveys/{}/stop", "session/passkey", "domains/{}/verify", "personal_api_keys/{}/roll",
	"feature_flags/{}/follow", "feature_flags/{}/unfollow",
}

// withoutAnswer are the writes without a response body (decision 18; management.md §5.3; clients.md
// §3.2).
var withoutAnswer = []string{
	"session/mail",
	"insights/{}/viewed", "persons/{}", "persons/bulk_delete", "persons/{}/update_property", "persons/{}/delete_events",
}

// freeAnswers are responses of free JSON: the description itself, payloads, configuration for
// browsers, flags as a file.
var freeAnswers = []string{"api/schema", "feature_flags/{}/remote_config", "array/{}/config", "feature_flags/export"}

// spec/clients.md §15: every write describes its body and every success its response, in types;
// exceptions are listed above, and every listed exception is needed.
func TestOpenAPI_Complete(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	for version := range describedVersions {
		d := o.description(t, version)
		seen := map[string]bool{}
		listed := func(list []string, path string) bool {
			path = strings.Trim(nameOfPart.ReplaceAllString(path, "{}"), "/")
			i := slices.IndexFunc(list, func(end string) bool { return path == end || strings.HasSuffix(path, "/"+end) })
			if i >= 0 {
				seen[list[i]] = true
			}
			return i >= 0
		}
		d.each(func(where, path string, op *operation) {
			write := regexp.MustCompile(`^(post|put|patch) `).MatchString(where)
			if bare := write && listed(withoutBody, path); write == (op.RequestBody == nil) && !bare {
				t.Errorf("%s %s: does it have a body? %t", version, where, op.RequestBody != nil)
			}
			if op.RequestBody != nil {
				for kind, c := range op.RequestBody.Content {
					if d.describe(c.Schema) == "nothing" {
						t.Errorf("%s %s: nothing is said of its body (%s): %v", version, where, kind, c.Schema)
					}
				}
			}
			for status, r := range op.Responses {
				if status[0] != '2' || status == "204" {
					continue
				}
				if len(r.Content) == 0 && !listed(withoutAnswer, path) {
					t.Errorf("%s %s: nothing is said of %s", version, where, status)
				}
				for kind, c := range r.Content {
					if d.describe(c.Schema) == "nothing" && !listed(freeAnswers, path) {
						t.Errorf("%s %s: nothing is said of %s (%s): %v", version, where, status, kind, c.Schema)
					}
				}
			}
		})
		for _, end := range slices.Concat(withoutBody, withoutAnswer, freeAnswers) {
			if !seen[end] {
				t.Errorf("%s: %s is listed for nothing", version, end)
			}
		}
	}
}

// describe returns the type of a resolved schema, "nothing" if it allows any value.
func (d *description) describe(s map[string]any) string {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		if d.Components.Schemas[name] == nil {
			return "nothing"
		}
		return d.describe(d.Components.Schemas[name])
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		if list, _ := s[word].([]any); len(list) > 0 {
			return word
		}
	}
	properties, _ := s["properties"].(map[string]any)
	free, _ := json.Marshal(s["additionalProperties"])
	items, _ := s["items"].(map[string]any)
	switch kind := fmt.Sprint(s["type"]); {
	case len(properties) > 0 || s["type"] != nil && !strings.Contains(kind, "object") && !strings.Contains(kind, "array"):
		return kind
	case items != nil:
		return d.describe(items)
	case s["additionalProperties"] != nil && string(free) != "{}" && string(free) != "true":
		return "a map"
	}
	return "nothing"
}
