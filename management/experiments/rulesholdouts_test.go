package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestHoldouts_Rules(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"records": holdoutRecordRows, "filters": holdoutFilterRows, "flags": holdoutFlagRows, "life": holdoutLifeRows, "access": holdoutAccessRows, "the log": holdoutLogRows})
}

// heldOut returns a holdout with a percentage in a request.
func heldOut(percentage string) string {
	return `{"filters":[{"rollout_percentage":` + percentage + `}]}`
}

var holdoutRecordRows = flagtest.Rows(
	[]ruletest.Row{
		{"experiments.md §3.10", "bob", "holdout", `{"name":"H","description":"why",` + tenth + `}`, `{"id":1,"name":"H","description":"why","created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:01Z","user_access_level":"editor"}`},
	},
	flagtest.Each("experiments.md §3.10 name: required, at most 400", "bob", "holdout",
		[2]string{`{` + tenth + `}`, `400 required name This field is required.`},
		[2]string{`{"name":"",` + tenth + `}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":null,` + tenth + `}`, `400 null name This field may not be null.`},
		[2]string{`{"name":` + flagtest.Text(401) + `,` + tenth + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":` + flagtest.Text(400) + `,` + tenth + `}`, `{"id":2}`},
		[2]string{`{"name":"H",` + tenth + `}`, `{"id":3,"name":"H"}`}, // names may repeat
	),
	flagtest.Each("experiments.md §3.10", "bob", "changeholdout 1",
		[2]string{`{"description":null}`, `{"description":""}`},
		[2]string{`{"name":"I","id":9,"created_at":"2000-01-01T00:00:00Z","created_by":null}`, `{"id":1,"name":"I","created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:09Z"}`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"experiments.md §3.10 newest first", "bob", "holdouts", ``, `{"count":3,"results":[{"id":3},{"id":2},{"id":1}]}`},
		{"§1.5 of another project", "dan", "holdouts", ``, `{"count":0,"results":[]}`},
		{"§1.5 of another project", "dan", "changeholdout 1", `{"name":"x"}`, `404 not_found - Not found.`},
		{"§1.5 of another project", "dan", "dropholdout 1", ``, `404 not_found - Not found.`},
		{"experiments.md §3.10 no id", "bob", "getholdout 0", ``, `404 not_found - Not found.`},
		{"experiments.md §3.10 no id", "bob", "getholdout 01", ``, `404 not_found - Not found.`},
		{"experiments.md §3.10 no id", "bob", "dropholdout x", ``, `404 not_found - Not found.`},
		{"experiments.md §3.10 unknown", "bob", "changeholdout 99", heldOut("5"), `404 not_found - Not found.`},
	},
)

const outOfBounds = `400 invalid_input filters Rollout percentage must be between 0 and 100.`

var holdoutFilterRows = flagtest.Rows(
	flagtest.Each("experiments.md §3.10 filters are required", "bob", "holdout",
		[2]string{`{"name":"H"}`, `400 invalid_input filters Filters are required to create an holdout group`},
		[2]string{`{"name":"H","filters":[]}`, `400 invalid_input filters Filters are required to create an holdout group`},
		[2]string{`{"name":"H","filters":null}`, `400 null filters This field may not be null.`},
		[2]string{`{"name":"H","filters":{}}`, `400 not_a_list filters Expected a list of items but got type "dict".`},
		[2]string{`{"name":"H","filters":["10"]}`, `400 invalid_input filters Expected a list of objects.`},
		[2]string{`{"name":"H","filters":[{}]}`, `400 invalid_input filters Rollout percentage must be present.`},
		[2]string{`{"name":"H","filters":[{"rollout_percentage":null}]}`, `400 invalid_input filters Rollout percentage must be present.`},
		[2]string{`{"name":"H",` + tenth + `}`, `{"id":1}`},
	),
	flagtest.Each("experiments.md §3.10 0 to 100, and the server's variant", "bob", "changeholdout 1",
		[2]string{heldOut(`0`), `{"filters":[{"properties":[],"rollout_percentage":0,"variant":"holdout-1"}]}`},
		[2]string{heldOut(`100`), `{"filters":[{"rollout_percentage":100}]}`},
		[2]string{heldOut(`12.5`), `{"filters":[{"rollout_percentage":12.5}]}`},
		[2]string{heldOut(`100.01`), outOfBounds},
		[2]string{heldOut(`-0.01`), outOfBounds},
		[2]string{heldOut(`"10"`), outOfBounds},
		[2]string{heldOut(`true`), outOfBounds},
		[2]string{heldOut(`[10]`), outOfBounds},
		[2]string{`{"filters":[]}`, `400 invalid_input filters Filters are required to create an holdout group`},
		[2]string{`{"filters":[{"rollout_percentage":5},{"rollout_percentage":5}]}`, `400 invalid_input filters A holdout must have one filter, not 2.`},
		[2]string{`{"filters":[{"rollout_percentage":5,"properties":[` + flagtest.Plan + `]}]}`, `400 invalid_input filters A holdout applies to all persons: properties must be empty.`},
		[2]string{`{"filters":[{"rollout_percentage":5,"variant":"holdout-9","other":1}]}`, `{"filters":[{"rollout_percentage":5,"variant":"holdout-1","other":"(absent)"}]}`},
		[2]string{`{"name":"still 5 %"}`, `{"name":"still 5 %","filters":[{"rollout_percentage":5}]}`},
	),
)

// withHoldout returns the filters of a flag with holdout 1.
func withHoldout(percentage string) string {
	return `"filters":{"holdout":{"id":1,"exclusion_percentage":` + percentage + `}}`
}

var holdoutFlagRows = []ruletest.Row{
	{"experiments.md §3.10", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
	{"experiments.md §3.10", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1}`, `{"holdout":{"id":1,"name":"H"},"feature_flag":{"id":1,"version":1,` + withHoldout("10") + `}}`},
	{"experiments.md §3.10", "bob", "experiment", `{"name":"F","feature_flag_key":"f","holdout_id":1,"start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"id":2,` + withHoldout("10") + `}}`},
	{"experiments.md §3.10 a flag that is there gets it", "bob", "create", `{"key":"g","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}],` + variantShares("50", "50") + `}}`, `{"id":3}`},
	{"experiments.md §3.10 a flag that is there gets it", "bob", "experiment", `{"name":"G","feature_flag_key":"g","holdout_id":1}`, `{"feature_flag":{"id":3,"version":2,"filters":{"groups":[{"properties":[{"key":"plan"}]}],"holdout":{"id":1}}}}`},
	{"experiments.md §3.10 a change is a version of each flag, running or not", "cyd", "changeholdout 1", heldOut("20"), `{"id":1}`},
	{"experiments.md §3.10 a change is a version of each flag, running or not", "bob", "get 1", ``, `{"version":2,"last_modified_by":{"first_name":"cyd"},` + withHoldout("20") + `}`},
	{"experiments.md §3.10 a change is a version of each flag, running or not", "bob", "get 2", ``, `{"version":2,` + withHoldout("20") + `}`},
	{"experiments.md §3.10 a change is a version of each flag, running or not", "bob", "get 3", ``, `{"version":3,` + withHoldout("20") + `}`},
	{"experiments.md §3.10 the same percentage is no version", "bob", "changeholdout 1", heldOut("20"), `{"id":1}`},
	{"experiments.md §3.10 a new name is no version", "bob", "changeholdout 1", `{"name":"I"}`, `{"name":"I"}`},
	{"experiments.md §3.10 a new name is no version", "bob", "get 1", ``, `{"version":2}`},
	{"experiments.md §3.10 it is shown", "bob", "getexperiment <E>", ``, `{"holdout":{"id":1,"name":"I","filters":[{"rollout_percentage":20}]}}`},
	{"experiments.md §3.10 another holdout of a draft", "bob", "holdout", `{"name":"J","filters":[{"rollout_percentage":1}]}`, `{"id":2}`},
	{"experiments.md §3.10 another holdout of a draft", "bob", "changeexperiment <E>", `{"holdout_id":2}`, `{"holdout_id":2,"feature_flag":{"version":3,"filters":{"holdout":{"id":2,"exclusion_percentage":1}}}}`},
	{"experiments.md §3.10 the first no longer changes it", "bob", "changeholdout 1", heldOut("30"), `{"id":1}`},
	{"experiments.md §3.10 the first no longer changes it", "bob", "get 1", ``, `{"version":3}`},
	{"experiments.md §3.10 none of a draft", "bob", "changeexperiment <E>", `{"holdout_id":null}`, `{"holdout_id":null,"holdout":null,"feature_flag":{"version":4,"filters":{"holdout":"(absent)"}}}`},
	{"experiments.md §3.6 running", "bob", "changeexperiment <F>", `{"holdout_id":2}`, `400 invalid_input - Can't update holdout on running Experiment`},
	{"experiments.md §3.6 running", "bob", "changeexperiment <F>", `{"holdout_id":null}`, `400 invalid_input - Can't update holdout on running Experiment`},
	{"experiments.md §3.6 running, the same one", "bob", "changeexperiment <F>", `{"holdout_id":1,"description":"x"}`, `{"description":"x","holdout_id":1}`},
	{"experiments.md §3.6 ended", "bob", "life <F> end", ``, `{"status":"stopped"}`},
	{"experiments.md §3.6 ended", "bob", "changeexperiment <F>", `{"holdout_id":2}`, `400 invalid_input - Can't update holdout on running Experiment`},
	{"experiments.md §3.10 a draft of a flag that another experiment runs on", "bob", "experiment", `{"name":"K","feature_flag_key":"g","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running","holdout_id":null}`},
	{"experiments.md §3.10 a draft of a flag that another experiment runs on", "bob", "changeexperiment <G>", `{"holdout_id":2}`, `400 invalid_input - Can't update holdout on running Experiment`},
	{"experiments.md §3.10 refusals change no flag", "bob", "get 3", ``, `{"version":4,` + withHoldout("30") + `}`},
}

var holdoutLifeRows = []ruletest.Row{
	{"experiments.md §3.10", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
	{"experiments.md §3.10", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1,"start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"id":1}}`},
	{"experiments.md §3.10 deleted: the holdout_id is null, and the flag has none", "bob", "dropholdout 1", ``, `null`},
	{"experiments.md §3.10 deleted: the holdout_id is null, and the flag has none", "bob", "getexperiment <E>", ``, `{"holdout_id":null,"holdout":null,"status":"running","feature_flag":{"version":2,"filters":{"holdout":"(absent)"}}}`},
	{"experiments.md §3.10 deleted twice", "bob", "dropholdout 1", ``, `404 not_found - Not found.`},
	{"experiments.md §3.10 not to be used any more", "bob", "experiment", `{"name":"F","feature_flag_key":"f","holdout_id":1}`, `400 does_not_exist holdout_id Invalid pk "1" - object does not exist.`},
	{"experiments.md §3.10 of a deleted experiment", "bob", "holdout", `{"name":"I",` + tenth + `}`, `{"id":2}`},
	{"experiments.md §3.10 of a deleted experiment", "bob", "experiment", `{"name":"G","feature_flag_key":"g","holdout_id":2}`, `{"feature_flag":{"id":2}}`},
	{"experiments.md §3.10 of a deleted experiment", "bob", "changeexperiment <G>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.10 of a deleted experiment", "bob", "dropholdout 2", ``, `null`},
	{"experiments.md §3.10 which comes back without it", "bob", "changeexperiment <G>", `{"deleted":false}`, `{"holdout_id":null,"feature_flag":{"version":2,"filters":{"holdout":"(absent)"}}}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "holdout", `{"name":"J",` + tenth + `}`, `{"id":3}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "experiment", `{"name":"K","feature_flag_key":"k","holdout_id":3}`, `{"feature_flag":{"id":3}}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "changeexperiment <K>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "changeholdout 3", heldOut("50"), `{"id":3}`},
	{"experiments.md §3.10 of a deleted flag", "bob", "dropholdout 3", ``, `null`},
}

// Holdouts have the access rules of experiments; who changes flags by a holdout must be able
// to edit them. cyd may view flag 1.
var holdoutAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1}`, `{"feature_flag":{"id":1}}`},
	{"clients.md §11.3", "ann", "rule feature_flag 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 the flags change", "cyd", "changeholdout 1", heldOut("20"), flagtest.MayNotEdit},
	{"clients.md §11.3 the flags change", "cyd", "dropholdout 1", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 nothing has changed", "cyd", "getholdout 1", ``, `{"filters":[{"rollout_percentage":10}]}`},
	{"clients.md §11.3 the flags stay", "cyd", "changeholdout 1", `{"name":"I"}`, `{"name":"I"}`},
	{"clients.md §11.3 a draft's new holdout changes its flag", "cyd", "changeexperiment <E>", `{"holdout_id":null}`, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of experiments", "ann", "rule", `{"access_level":"viewer","resource":"experiment"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of experiments", "cyd", "getholdout 1", ``, `{"name":"I","user_access_level":"viewer"}`},
	{"clients.md §11.3 viewers of experiments", "cyd", "changeholdout 1", `{"name":"J"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of experiments", "cyd", "holdout", `{"name":"J",` + tenth + `}`, flagtest.MayNotEdit},
	{"clients.md §11.3 without access", "ann", "rule", `{"access_level":"none","resource":"experiment"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 without access", "cyd", "getholdout 1", ``, flagtest.MayNotView},
	{"clients.md §11.3 without access", "cyd", "holdouts", ``, `{"count":0,"results":[]}`},
	{"clients.md §11.3 administrators", "gus", "changeholdout 1", heldOut("20"), `{"user_access_level":"manager"}`},
	{"clients.md §11.3 administrators", "gus", "get 1", ``, `{"version":2,` + withHoldout("20") + `}`},
}

var holdoutLogRows = []ruletest.Row{
	{"§5.11", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
	{"§5.11 created", "bob", "log ExperimentHoldout 1", ``, `{"activity":"created","scope":"ExperimentHoldout","item_id":"1","user":{"first_name":"bob"},"detail":{"name":"H"}}`},
	{"§5.11", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1}`, `{"feature_flag":{"id":1}}`},
	{"§5.11 a name, and only that", "cyd", "changeholdout 1", `{"name":"I"}`, `{"name":"I"}`},
	{"§5.11 a name, and only that", "bob", "log ExperimentHoldout 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"name","before":"H","after":"I"}]}}`},
	{"§5.11 the experiment does not change", "bob", "log Experiment <E>", ``, `{"activity":"created"}`},
	{"§5.11 deleted", "ann", "dropholdout 1", ``, `null`},
	{"§5.11 deleted", "bob", "log ExperimentHoldout 1", ``, `{"activity":"deleted","user":{"first_name":"ann"},"detail":{"name":"I"}}`},
	{"§5.11 the experiment loses it", "bob", "log Experiment <E>", ``, `{"activity":"updated","user":{"first_name":"ann"}}`},
	{"§5.11 the flag loses it", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"ann"},"detail":{"changes":[{"field":"filters"}]}}`},
}
