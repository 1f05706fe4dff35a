package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestSavedMetrics(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"saved": savedMetricRows, "the log": savedMetricLogRows})
}

const meanMetric = `{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"e"}}`

var savedMetricRows = []ruletest.Row{
	{"experiments.md §3.9", "bob", "savedmetric", `{"name":"Sales","query":` + meanMetric + `}`, `{"id":1,"name":"Sales","description":"","tags":[],"created_by":{"first_name":"bob"}}`},
	{"experiments.md §3.9 unique in the project alone", "dan", "savedmetric", `{"name":"Sales","query":` + meanMetric + `}`, `{"id":2}`},
	{"experiments.md §3.9 of another project", "dan", "getsavedmetric 1", ``, `404 not_found - Not found.`},
	{"experiments.md §3.9 of another project", "dan", "experiment", `{"name":"D","feature_flag_key":"d","saved_metrics_ids":[{"id":1,"metadata":{"type":"primary"}}]}`, `400 does_not_exist saved_metrics_ids`},
	{"experiments.md §3.9 a new name, and the own one", "bob", "changesavedmetric 1", `{"name":"SALES"}`, `{"name":"SALES"}`},
	{"experiments.md §3.9 links go with it", "bob", "experiment", `{"name":"E","feature_flag_key":"e","saved_metrics_ids":[{"id":1,"metadata":{"type":"primary"}}]}`, `{"saved_metrics_ids":[{"id":1}]}`},
	{"experiments.md §3.9 without metadata it is a primary one", "bob", "experiment", `{"name":"F","feature_flag_key":"f","saved_metrics_ids":[{"id":1}]}`, `{"saved_metrics_ids":[{"id":1,"metadata":{"type":"primary"}}]}`},
	{"experiments.md §3.9 links go with it", "bob", "dropsavedmetric 1", ``, `null`},
	{"experiments.md §3.9 links go with it", "bob", "getexperiment <E>", ``, `{"saved_metrics":[],"saved_metrics_ids":[]}`},
	{"experiments.md §3.9 the name is free", "bob", "savedmetric", `{"name":"sales","query":` + meanMetric + `}`, `{"id":3}`},
}

var savedMetricLogRows = []ruletest.Row{
	{"§5.11", "bob", "savedmetric", `{"name":"Sales","query":` + meanMetric + `}`, `{"id":1}`},
	{"§5.11 created", "bob", "log ExperimentSavedMetric 1", ``, `{"activity":"created","scope":"ExperimentSavedMetric","item_id":"1","detail":{"name":"Sales"}}`},
	{"§5.11", "bob", "experiment", `{"name":"E","feature_flag_key":"e","saved_metrics_ids":[{"id":1}]}`, `{"name":"E"}`},
	{"§5.11", "cyd", "dropsavedmetric 1", ``, `null`},
	{"§5.11 deleted", "bob", "log ExperimentSavedMetric 1", ``, `{"activity":"deleted","user":{"first_name":"cyd"}}`},
	{"§5.11 and what it takes from experiments", "bob", "log Experiment <E>", ``, `{"activity":"updated","user":{"first_name":"cyd"}}`},
}

func TestHoldouts(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"holdouts": heldOutRows})
}

const tenth = `"filters":[{"properties":[],"rollout_percentage":10}]`

var heldOutRows = []ruletest.Row{
	{"experiments.md §3.10", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1,"name":"H","filters":[{"rollout_percentage":10,"variant":"holdout-1"}]}`},
	{"experiments.md §3.10 of another project", "dan", "getholdout 1", ``, `404 not_found - Not found.`},
	{"experiments.md §3.10 of another project", "dan", "experiment", `{"name":"D","feature_flag_key":"d","holdout_id":1}`, `400 does_not_exist holdout_id Invalid pk "1" - object does not exist.`},
	{"experiments.md §3.10", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1}`, `{"holdout_id":1,"feature_flag":{"id":1,"filters":{"holdout":{"id":1,"exclusion_percentage":10}}}}`},
	{"experiments.md §3.10 a deleted experiment's flag follows too", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.10 a deleted experiment's flag follows too", "cyd", "changeholdout 1", `{"filters":[{"rollout_percentage":30}]}`, `{"name":"H"}`},
	{"experiments.md §3.10 a deleted experiment's flag follows too", "bob", "get 1", ``, `{"filters":{"holdout":{"id":1,"exclusion_percentage":30}}}`},
	{"§5.11 updated", "bob", "log ExperimentHoldout 1", ``, `{"activity":"updated","user":{"first_name":"cyd"}}`},
	{"§5.11 and its flag", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"}}`},
	{"experiments.md §3.10 gone", "bob", "dropholdout 1", ``, `null`},
	{"experiments.md §3.10 gone", "bob", "getholdout 1", ``, `404 not_found - Not found.`},
	{"experiments.md §3.10 gone from flags", "bob", "get 1", ``, `{"filters":{"holdout":"(absent)"}}`},
}
