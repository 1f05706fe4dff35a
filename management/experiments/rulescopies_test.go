package experiments_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

// secondProject belongs to Organization, too.
const secondProject int64 = 3

// withSecondProject returns a World with secondProject.
func withSecondProject(t *testing.T) *ruletest.World {
	t.Helper()
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.PutProject(&management.ProjectRecord{ID: secondProject, Organization: ruletest.Organization, Name: "S", APIKey: "phc_second", CreatedAt: ruletest.Start})
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExperiments_Copies(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"in the project": copyRows, "in another project": copyToRows} {
		t.Run(name, func(t *testing.T) {
			w := withSecondProject(t)
			w.Keys["one"] = management.KeyRecord{Scopes: []string{"*"}, Projects: []int64{ruletest.Project}}
			w.Run(t, flagtest.RoomCalls(t, w), rows)
		})
	}
}

// metricOf returns a metric that counts an event.
func metricOf(uuid, event string) string {
	return `{"kind":"ExperimentMetric","metric_type":"mean","uuid":"` + uuid + `","source":{"kind":"EventsNode","event":"` + event + `"}}`
}

var copyRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "savedmetric", `{"name":"Sales","query":` + meanMetric + `}`, `{"id":1}`},
	{"experiments.md §3.7", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
	{"experiments.md §3.7", "bob", "cohort", `{"name":"Staff","is_static":true}`, `{"id":1}`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","description":"why","type":"web","holdout_id":1,"exposure_cohort":1,"metrics":[` + metricOf("m1", "a") + `],"saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary"}}],
		"stats_config":{"method":"frequentist"},"only_count_matured_users":true,"parameters":{"minimum_detectable_effect":5}}`, `{"feature_flag":{"id":1}}`},
	{"experiments.md §3.7", "bob", "life <E> launch", ``, `{"status":"running"}`},
	{"experiments.md §3.7", "bob", "life <E> end", `{"conclusion":"won","conclusion_comment":"fine"}`, `{"status":"stopped"}`},
	{"experiments.md §3.7", "bob", "life <E> archive", ``, `{"archived":true}`},
	{"experiments.md §3.7 a draft without dates, holdout and conclusion; it shares the flag", "cyd", "copyexperiment <E>", ``, `{"id":2,"name":"E (Copy)","description":"why","type":"web","status":"draft","start_date":null,"end_date":null,
		"conclusion":null,"conclusion_comment":null,"archived":false,"deleted":false,"holdout_id":null,"holdout":null,"exposure_cohort":null,"created_by":{"first_name":"cyd"},"created_at":"2026-01-02T12:00:08Z","updated_at":"2026-01-02T12:00:08Z",
		"stats_config":{"method":"frequentist"},"only_count_matured_users":true,"parameters":{"minimum_detectable_effect":5},"feature_flag_key":"e","feature_flag":{"id":1,"version":2,"active":true},
		"saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary"}}],"saved_metrics":[{"id":2,"experiment":2,"saved_metric":1,"created_at":"2026-01-02T12:00:08Z"}],"metrics":[{"uuid":"(like) ^0191f0a2-"}]}`},
	{"experiments.md §3.7 the original stays", "bob", "getexperiment <E>", ``, `{"name":"E","status":"stopped","conclusion":"won","archived":true,"holdout_id":1,"exposure_cohort":1,"metrics":[{"uuid":"m1"}],"saved_metrics":[{"id":1}]}`},
	{"experiments.md §3.7 the flag has both", "bob", "get 1", ``, `{"experiment_set":[1,2],"version":2}`},
	{"§5.11 created", "bob", "log Experiment 2", ``, `{"activity":"created","user":{"first_name":"cyd"},"detail":{"name":"E (Copy)"}}`},
	{"experiments.md §3.7 the next name", "bob", "copyexperiment <E>", `{"name":null,"feature_flag_key":null}`, `{"id":3,"name":"E (Copy) 2"}`},
	{"experiments.md §3.7 the next name", "bob", "copyexperiment <E>", `{"feature_flag_key":"e"}`, `{"id":4,"name":"E (Copy) 3","feature_flag":{"id":1}}`},
	{"experiments.md §3.7 a copy of a copy", "bob", "copyexperiment 2", ``, `{"id":5,"name":"E (Copy) (Copy)"}`},
	{"experiments.md §3.7 a name that is free again", "bob", "changeexperiment 3", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.7 a name that is free again", "bob", "copyexperiment <E>", ``, `{"id":6,"name":"E (Copy) 2"}`},
	{"experiments.md §3.7 another name", "bob", "copyexperiment <E>", `{"name":"E"}`, `{"id":7,"name":"E"}`},
	{"experiments.md §3.6 a name has at most 400 characters", "bob", "changeexperiment 7", `{"name":` + flagtest.Text(400) + `}`, `{"id":7}`},
	{"experiments.md §3.6 a name has at most 400 characters: 393 and 7", "bob", "copyexperiment 7", ``, `{"id":8,"name":"` + strings.Repeat("x", 393) + ` (Copy)"}`},
	{"experiments.md §3.6 a name has at most 400 characters: 391 and 9", "bob", "copyexperiment 7", ``, `{"id":9,"name":"` + strings.Repeat("x", 391) + ` (Copy) 2"}`},
	{"experiments.md §3.7 its own key: a new flag with the same variants", "bob", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":10}],"payloads":{"test":"7"},` + variantShares("30", "70") + `}}`, `{"version":3}`},
	{"experiments.md §3.7 its own key: a new flag with the same variants", "cyd", "copyexperiment <E>", `{"feature_flag_key":"own","name":"Own"}`, `{"name":"Own","feature_flag_key":"own","feature_flag":{"id":2,"key":"own","name":"Feature Flag for Experiment Own","active":false,"version":1,
		"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"payloads":{"test":"7"},"holdout":"(absent)",` + variantShares("30", "70") + `}}}`},
	{"experiments.md §3.7 its own key: a new flag", "bob", "get 2", ``, `{"created_by":{"first_name":"cyd"},"experiment_set":[<Own>]}`},
	{"experiments.md §3.7 the key of another flag", "bob", "create", `{"key":"fit","filters":{"groups":[{"properties":[]}],` + variantShares("10", "90") + `}}`, `{"id":3}`},
	{"experiments.md §3.7 the key of another flag", "bob", "copyexperiment <E>", `{"feature_flag_key":"fit","name":"Fit"}`, `{"feature_flag":{"id":3,"active":true,"version":1,"filters":{` + variantShares("10", "90") + `}}}`},
	{"clients.md §13 a flag that does not fit", "bob", "create", `{"key":"boolean"}`, `{"id":4}`},
	{"clients.md §13 a flag that does not fit", "bob", "copyexperiment <E>", `{"feature_flag_key":"boolean"}`, `400 invalid_input feature_flag_key Feature flag is not eligible for experiments.`},
	{"clients.md §13 a flag whose control is second", "bob", "create", `{"key":"second","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"test","rollout_percentage":50},{"key":"control","rollout_percentage":50}]}}}`, `{"id":5}`},
	{"clients.md §13 a flag whose control is second", "bob", "copyexperiment <E>", `{"feature_flag_key":"second"}`, `400 invalid_input feature_flag_key Feature flag must have control as the first variant.`},
	{"§5.1.1 a key of another form", "bob", "copyexperiment <E>", `{"feature_flag_key":"a b"}`, `400 invalid_key feature_flag_key`},
	{"§2.2 a name of another form", "bob", "copyexperiment <E>", `{"name":` + flagtest.Text(401) + `}`, `400 max_length name`},
	{"§1.5 of another project", "dan", "copyexperiment <E>", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 of a deleted one", "bob", "copyexperiment 3", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 refusals create no flag", "bob", "keys", ``, `["second","boolean","fit","own","e"]`},
	{"experiments.md §3.7 about groups", "bob", "experiment", `{"name":"G","feature_flag_key":"g","parameters":{"aggregation_group_type_index":1}}`, `{"name":"G"}`},
	{"experiments.md §3.7 about groups", "bob", "copyexperiment <G>", `{"feature_flag_key":"g2"}`, `{"feature_flag":{"filters":{"aggregation_group_type_index":1}}}`},
}

// inCohort is a filter on cohort 1, and onPath one on a property of events.
const inCohort, onPath = `{"type":"cohort","key":"id","value":1,"operator":"in"}`, `{"key":"path","type":"event","value":"/x","operator":"exact"}`

// filteredMetric returns a metric with filters.
func filteredMetric(filters string) string {
	return `{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"e","properties":[` + filters + `]}}`
}

var copyToRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "cohort", `{"name":"Staff","is_static":true}`, `{"id":1}`},
	{"experiments.md §3.7", "bob", "savedmetric", `{"name":"Sales","query":` + filteredMetric(inCohort) + `}`, `{"id":1}`},
	{"experiments.md §3.7", "bob", "savedmetric", `{"name":"Visits","query":{"kind":"ExperimentMetric","name":"its own","metric_type":"mean","source":{"kind":"EventsNode","event":"v"}}}`, `{"id":2}`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","exposure_cohort":1,"metrics":[` + filteredMetric(onPath+`,`+inCohort) + `,{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"ActionsNode","id":7}}],
		"saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary"}},{"id":2}],"exposure_criteria":{"exposure_config":{"kind":"ExperimentEventExposureConfig","event":"seen","properties":[` + inCohort + `]}},"start_date":"2026-01-01T00:00:00Z"}`, `{"id":1}`},
	{"experiments.md §3.7 which project", "bob", "copyto <E>", `{}`, `400 required target_team_id This field is required.`},
	{"experiments.md §3.7 which project", "bob", "copyto <E>", `{"target_team_id":null}`, `400 null target_team_id This field may not be null.`},
	{"experiments.md §3.7 no project", "bob", "copyto <E>", `{"target_team_id":99}`, `400 invalid_input target_team_id Project not found.`},
	{"experiments.md §3.7 of another organization", "bob", "copyto <E>", `{"target_team_id":2}`, `400 invalid_input target_team_id Project not found.`},
	{"experiments.md §3.7 cohorts dropped and named in warnings", "bob", "copyto <E>", `{"target_team_id":3}`, `{"id":2,"name":"E (Copy)","status":"draft","exposure_cohort":null,"saved_metrics":[],"saved_metrics_ids":[],"feature_flag":{"id":2,"team_id":3,"active":false,"version":1},
		"metrics":[{"source":{"event":"e","properties":[` + onPath + `]}},{"source":{"kind":"ActionsNode","id":7}},{"name":"its own","source":{"event":"v"}}],"metrics_secondary":[{"name":"Sales","source":{"event":"e","properties":[]}}],
		"exposure_criteria":{"exposure_config":{"kind":"ExperimentEventExposureConfig","event":"seen","properties":[]}},
		"warnings":["Filters on the cohort \"Staff\" (1) were left out: it belongs to the source project.","The action 7 belongs to the source project: choose another one."]}`},
	{"experiments.md §3.7 it is not in the first project", "bob", "getexperiment 2", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 the first one stays", "bob", "getexperiment <E>", ``, `{"id":1,"metrics":[{"source":{"properties":[` + onPath + `,` + inCohort + `]}},{"source":{"kind":"ActionsNode"}}],"saved_metrics":[{"saved_metric":1},{"saved_metric":2}]}`},
	{"experiments.md §3.7 the flags of both", "bob", "places e", ``, `[{"team_id":1,"flag_id":1},{"team_id":3,"flag_id":2}]`},
	{"experiments.md §3.7 the flag that is there", "bob", "copyto <E>", `{"target_team_id":3,"name":"Again"}`, `{"id":3,"name":"Again","feature_flag":{"id":2,"version":1}}`},
	{"experiments.md §3.7 names of the other project", "bob", "copyto <E>", `{"target_team_id":3,"feature_flag_key":"e2"}`, `{"id":4,"name":"E (Copy) 2","feature_flag_key":"e2","feature_flag":{"id":3,"team_id":3}}`},
	{"experiments.md §3.7 the same project: nothing is left out", "bob", "copyto <E>", `{"target_team_id":1}`, `{"id":5,"name":"E (Copy)","feature_flag":{"id":1},"metrics":[{"source":{"properties":[` + onPath + `,` + inCohort + `]}},{"source":{"kind":"ActionsNode"}}],
		"saved_metrics_ids":[{"id":1},{"id":2}],"exposure_cohort":null,"warnings":[]}`},
	{"clients.md §11.3 the name of a hidden cohort", "ann", "rule cohort 1", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 the name of a hidden cohort", "cyd", "copyto <E>", `{"target_team_id":3}`, `{"warnings":["Filters on the cohort 1 were left out: it belongs to the source project.","The action 7 belongs to the source project: choose another one."]}`},
	{"§1.6 a key of one project", "bob/one", "copyto <E>", `{"target_team_id":3}`, `400 invalid_input target_team_id Project not found.`},
}

// A copy has metrics of its own: each has a new uuid, and the orders of display follow
// (experiments.md §3.7). Fingerprints do not depend on uuids, but on the start date (§3.6).
func TestExperiments_CopiedMetrics(t *testing.T) {
	w := flagtest.New(t)
	calls := flagtest.RoomCalls(t, w)
	w.Run(t, calls, []ruletest.Row{{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","metrics":[` + metricOf("m1", "a") + `,` + metricOf("m2", "b") + `],"metrics_secondary":[` + metricOf("m3", "c") + `],
		"primary_metrics_ordered_uuids":["m2","m1","unknown"],"secondary_metrics_ordered_uuids":["m3"]}`, `{"id":1}`}})
	type metric struct{ UUID, Fingerprint string }
	type copied struct {
		Metrics   []metric
		Secondary []metric `json:"metrics_secondary"`
		Order     []string `json:"primary_metrics_ordered_uuids"`
		Last      []string `json:"secondary_metrics_ordered_uuids"`
	}
	read := func(call, body string) (out copied) {
		t.Helper()
		got, err := calls[call](w.Scope(t, "bob"), "1", body)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(storage.Encode(got), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	original, draft := read("getexperiment", ``), read("copyexperiment", ``)
	uuids := []string{"m1", "m2", "m3", draft.Metrics[0].UUID, draft.Metrics[1].UUID, draft.Secondary[0].UUID}
	slices.Sort(uuids)
	if n := len(slices.Compact(uuids)); n != 6 {
		t.Errorf("%d different uuids, want 6: %v", n, uuids)
	}
	want := copied{original.Metrics, original.Secondary, []string{draft.Metrics[1].UUID, draft.Metrics[0].UUID, "unknown"}, []string{draft.Secondary[0].UUID}}
	for i := range want.Metrics {
		want.Metrics[i].UUID = draft.Metrics[i].UUID
	}
	want.Secondary[0].UUID = draft.Secondary[0].UUID
	if diff := cmp.Diff(want, draft); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	w.Run(t, calls, []ruletest.Row{{"experiments.md §3.7", "bob", "life 1 launch", ``, `{"status":"running"}`}})
	if running := read("getexperiment", ``); running.Metrics[0].Fingerprint == original.Metrics[0].Fingerprint {
		t.Error("the fingerprint is the same after the start date has changed")
	}
	if draft := read("copyexperiment", ``); draft.Metrics[0].Fingerprint != original.Metrics[0].Fingerprint {
		t.Error("the copy of a running experiment has another fingerprint than a draft")
	}
}
