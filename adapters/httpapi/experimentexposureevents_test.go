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
