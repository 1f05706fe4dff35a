package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The results of background work are logged and counted in the metrics: scheduled changes that
// succeeded or failed, and merges of persons that were refused.
func TestServe_JobsReportResults(t *testing.T) {
	s := serve(t, time.Minute)
	keys := regexp.MustCompile(`ph[cx]_\w+`).FindAllString(s.stdout.String(), -1)
	var public, personal string
	for _, key := range keys {
		if strings.HasPrefix(key, "phc_") {
			public = key
		} else {
			personal = key
		}
	}
	post := func(path, body string, want int) string {
		t.Helper()
		r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+personal)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Prefer", "return=representation")
		code, text := do(t, r)
		if code != want {
			t.Fatalf("%s: %d %s", path, code, text)
		}
		return text
	}
	for _, id := range []string{"ana", "bob"} {
		post("/capture/", fmt.Sprintf(`{"api_key":%q,"event":"$identify","distinct_id":%q,"properties":{"$anon_distinct_id":"anon-%s"}}`, public, id, id), 200)
	}
	// §10.3 of capture: a person who is identified is not merged into another.
	post("/capture/", fmt.Sprintf(`{"api_key":%q,"event":"$identify","distinct_id":"ana","properties":{"$anon_distinct_id":"bob"}}`, public), 200)

	var flag struct{ ID int64 }
	if err := json.Unmarshal([]byte(post("/api/projects/1/feature_flags/", `{"key":"later","active":false,"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, 201)), &flag); err != nil {
		t.Fatal(err)
	}
	change := `{"record_id":"%d","model_name":"FeatureFlag","payload":{"operation":"update_status","value":true},"scheduled_at":%q}`
	post("/api/projects/1/scheduled_changes/", fmt.Sprintf(change, flag.ID, time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano)), 201)

	s.logged(`msg="scheduled change done" project=1`)
	_, text := s.get("/metrics", "")
	for _, line := range []string{
		"bunting_capture_merges_refused_total 1",
		`bunting_job_results_total{job="schedules",result="done"} 1`,
		`bunting_job_results_total{job="schedules",result="failed"} 0`,
		`bunting_http_request_duration_seconds_count{route="/capture",status="2xx"} 3`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no %q in the metrics", line)
		}
	}
	for _, name := range []string{"storage_database_bytes", "storage_free_bytes", "job_last_success_timestamp_seconds"} {
		if !strings.Contains(text, "\nbunting_"+name) {
			t.Errorf("no bunting_%s in the metrics", name)
		}
	}
}
