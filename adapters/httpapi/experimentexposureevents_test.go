package httpapi_test

import (
	"fmt"
	"testing"
)

// Exposures include $experiment_exposure as well as $feature_flag_called: the exposures of a flag
// as calls, as persons and by the minute, those of an experiment, and the time of a flag's last
// call.
func TestExposures_BothEvents(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	key := "Bearer " + o.key(t, "owner")
	var experiment struct {
		ID   int64
		Flag struct{ ID int64 } `json:"feature_flag"`
	}
	w := ask(o.handler, "POST", "/api/projects/1/experiments/", `{"name":"x","feature_flag_key":"new-page"}`, "Authorization", key, "Content-Type", "application/json")
	if decodeJSON(t, w.Body.Bytes(), &experiment); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	call := func(event, id string, second int) string {
		return fmt.Sprintf(`{"event":%q,"distinct_id":%q,"timestamp":"2026-01-01T11:58:%02dZ","properties":{"$feature_flag":"new-page","$feature_flag_response":"test"}}`, event, id, second)
	}
	body := `{"api_key":"phc_1","batch":[` + call("$feature_flag_called", "ann", 1) + "," + call("$experiment_exposure", "ann", 2) + "," + call("$experiment_exposure", "bob", 3) + `]}`
	if w := ask(o.handler, "POST", "/batch/", body); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	flag := fmt.Sprintf("/api/projects/1/feature_flags/%d/exposures/", experiment.Flag.ID)
	for path, want := range map[string]int64{
		flag + "?count=calls":  3,
		flag + "?count=people": 2,
		flag + "?count=people&interval=minute&date_from=2026-01-01T11:00:00Z":   2,
		fmt.Sprintf("/api/projects/1/experiments/%d/exposures/", experiment.ID): 3,
	} {
		var got struct {
			Total int64
			Last  *struct {
				DistinctID string `json:"distinct_id"`
			}
		}
		w := ask(o.handler, "GET", path, "", "Authorization", key)
		if decodeJSON(t, w.Body.Bytes(), &got); w.Code != 200 || got.Total != want || got.Last != nil && got.Last.DistinctID != "bob" {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// experiments.md §3.7: while the exposure is frozen, the people who were exposed keep their variant,
// and others get no variant; clients.md §13: they can be stored as a cohort.
func TestExposures_Frozen(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	key := "Bearer " + o.key(t, "owner")
	call := func(method, path, body string, status int, into any) {
		t.Helper()
		w := ask(o.handler, method, "/api/projects/1/experiments/"+path, body, "Authorization", key, "Content-Type", "application/json")
		if w.Code != status {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if into != nil {
			decodeJSON(t, w.Body.Bytes(), into)
		}
	}
	variant := func(id string) string {
		t.Helper()
		var got struct{ FeatureFlags map[string]any }
		decodeJSON(t, ask(o.handler, "POST", "/flags?v=1", fmt.Sprintf(`{"api_key":"phc_1","distinct_id":%q}`, id)).Body.Bytes(), &got)
		return fmt.Sprint(got.FeatureFlags["new-page"])
	}
	var experiment struct {
		ID     int64
		Status string
	}
	call("POST", "", `{"name":"x","feature_flag_key":"new-page","start_date":"2026-01-01T10:00:00Z","parameters":{"feature_flag_variants":[{"key":"control","split_percent":0},{"key":"test","split_percent":100}]}}`, 201, &experiment)
	path := fmt.Sprintf("%d/", experiment.ID)
	call("POST", path+"freeze_exposure/", `{}`, 400, nil) // nobody has been exposed
	body := `{"api_key":"phc_1","batch":[`
	for i, id := range []string{"ann", "bob"} {
		body += fmt.Sprintf(`{"event":"$feature_flag_called","distinct_id":%q,"timestamp":"2026-01-01T11:58:%02dZ","properties":{"$feature_flag":"new-page","$feature_flag_response":"test"}},`, id, i)
	}
	if w := ask(o.handler, "POST", "/batch/", body+`{"event":"seen","distinct_id":"cyd","timestamp":"2026-01-01T11:58:09Z"}]}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var made struct {
		Cohort struct {
			Count  int
			Static bool `json:"is_static"`
		}
	}
	if call("POST", path+"create_exposure_cohort_for_experiment/", `{}`, 201, &made); made.Cohort.Count != 2 || !made.Cohort.Static {
		t.Errorf("the cohort is %+v", made)
	}
	call("POST", path+"create_exposure_cohort_for_experiment/", `{}`, 400, nil)
	if call("POST", path+"freeze_exposure/", `{}`, 200, &experiment); experiment.Status != "exposure_frozen" {
		t.Errorf("the status is %s", experiment.Status)
	}
	for id, want := range map[string]string{"ann": "test", "bob": "test", "cyd": "false", "dan": "false"} {
		if got := variant(id); got != want {
			t.Errorf("frozen: %s gets %s, want %s", id, got, want)
		}
	}
	if call("POST", path+"unfreeze_exposure/", `{}`, 200, &experiment); experiment.Status != "running" {
		t.Errorf("the status is %s", experiment.Status)
	}
	if got := variant("dan"); got != "test" {
		t.Errorf("unfrozen: dan gets %s", got)
	}
}
