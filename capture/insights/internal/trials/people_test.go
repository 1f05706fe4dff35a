package trials

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// The people of an ExperimentPeopleQuery (experiments.md §1.3, §3.7): everybody with an exposure to
// a variant, whichever it is, and nobody else.
func TestPeople(t *testing.T) {
	for _, c := range []struct{ name, people, members, want string }{
		{"two variants, an event that is no exposure, and a holdout", "c1 x2, t1 x3, c2 buy3, h1 x2", ``, "c1 t1"},
		{"two variants of one person", "c1 x2 y3, t1 x3 x4", ``, "c1 t1"},
		{"before the start and after the end", "c1 x1, c2 x2, t1 x5, t2 x9", `, "start_date": "2020-01-02T00:00:00Z", "end_date": "2020-01-06T00:00:00Z"`, "c2 t1"},
		{"a criterion of its own", "c1 x2 own3, t1 x3", `, "exposure_criteria": {"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "own"}}`, "c1"},
		{"nobody", "c1 buy2", ``, ""},
		{"a draft", "c1 x2", `, "start_date": null`, ""},
	} {
		query := `{"kind": "ExperimentPeopleQuery", "feature_flag": {"key": "page", "filters": {"multivariate": {"variants": [{"key": "control", "rollout_percentage": 50}, {"key": "test", "rollout_percentage": 50}]}}}`
		if !strings.Contains(c.members, "start_date") {
			query += `, "start_date": "2020-01-01T00:00:00Z"`
		}
		result, err := trialSuite(nil).Run(t, peopleOf(c.people), query+c.members+`}`, port.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var got exposedPeople
		if err := json.Unmarshal(result.Extra["evidence"].(json.RawMessage), &got); err != nil {
			t.Fatal(err)
		}
		if want := strings.Fields(c.want); got.People != int64(len(want)) || !slices.Equal(got.IDs, want) || got.WithoutProfile != 0 {
			t.Errorf("%s: %+v, want %v", c.name, got, want)
		}
	}
}

// An experiment about groups has no people.
func TestPeople_OfGroups(t *testing.T) {
	const query = `{"kind": "ExperimentPeopleQuery", "start_date": "2020-01-01T00:00:00Z", "feature_flag": {"key": "page", "filters": {"aggregation_group_type_index": 0, "multivariate": {"variants": [{"key": "control", "rollout_percentage": 100}]}}}}`
	if _, err := trialSuite(nil).Run(t, peopleOf("c1 x2"), query, port.Options{}); err == nil || !strings.Contains(err.Error(), "about groups") {
		t.Errorf("got %v", err)
	}
}
