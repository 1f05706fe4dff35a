package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestExperiments_Calls(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"steps": stepRows, "refusals": stepRefusalRows, "bodies": stepBodyRows, "shipped variants": shipRows, "the log": stepLogRows, "access": experimentAccessRows, "deleted": stepDeletedRows,
	})
}

const (
	notLaunched = `400 invalid_input - Experiment has not been launched yet.`
	launched    = `400 invalid_input - Experiment has already been launched.`
	ended       = `400 invalid_input - Experiment has already ended.`
)

// Each row of a step has its own second: row n is at 12:00:00 and n seconds.
var stepRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","end_date":"2026-05-01T00:00:00Z"}`, `{"status":"draft","start_date":null,"feature_flag":{"active":false,"version":1}}`},
	{"experiments.md §3.7 launch: now, and the flag is on", "bob", "life <E> launch", ``, `{"status":"running","start_date":"2026-01-02T12:00:02Z","end_date":null,"updated_at":"2026-01-02T12:00:02Z","feature_flag":{"active":true,"version":2}}`},
	{"experiments.md §3.7 pause: the flag is off", "bob", "life <E> pause", ``, `{"status":"paused","start_date":"2026-01-02T12:00:02Z","end_date":null,"feature_flag":{"active":false,"version":3}}`},
	{"experiments.md §3.7 resume: the flag is on", "bob", "life <E> resume", ``, `{"status":"running","feature_flag":{"active":true,"version":4}}`},
	{"experiments.md §3.7 end: now, and the flag stays", "bob", "life <E> end", `{"conclusion":"lost","conclusion_comment":"too slow"}`,
		`{"status":"stopped","end_date":"2026-01-02T12:00:05Z","conclusion":"lost","conclusion_comment":"too slow","feature_flag":{"active":true,"version":4}}`},
	{"experiments.md §3.7 archive", "bob", "life <E> archive", ``, `{"archived":true,"status":"stopped","feature_flag":{"active":true,"version":4}}`},
	{"experiments.md §3.7 unarchive", "bob", "life <E> unarchive", ``, `{"archived":false,"updated_at":"2026-01-02T12:00:07Z"}`},
	{"experiments.md §3.7 archive, with the flag off", "bob", "life <E> archive", `{"disable_feature_flag":true}`, `{"archived":true,"feature_flag":{"active":false,"version":5}}`},
	{"experiments.md §3.7 unarchive leaves the flag", "bob", "life <E> unarchive", ``, `{"archived":false,"feature_flag":{"active":false,"version":5}}`},
	{"experiments.md §3.7 archive once more", "bob", "life <E> archive", `{"disable_feature_flag":false}`, `{"archived":true,"feature_flag":{"version":5}}`},
	{"experiments.md §3.7 reset: the flag stays", "bob", "life <E> reset", ``,
		`{"status":"draft","start_date":null,"end_date":null,"conclusion":null,"conclusion_comment":null,"archived":false,"feature_flag":{"active":false,"version":5}}`},
	{"experiments.md §3.7 launch after a reset", "bob", "life <E> launch", ``, `{"start_date":"2026-01-02T12:00:12Z","feature_flag":{"active":true,"version":6}}`},
	{"experiments.md §3.7 reset of a running one: the flag stays", "bob", "life <E> reset", ``, `{"status":"draft","feature_flag":{"active":true,"version":6}}`},
	{"experiments.md §3.7 launch with a flag that is on", "bob", "life <E> launch", ``, `{"status":"running","feature_flag":{"active":true,"version":6}}`},
	{"experiments.md §3.7 end without a conclusion", "bob", "life <E> end", `{}`, `{"status":"stopped","conclusion":null,"conclusion_comment":null}`},
}

// notByChange proves that a change of archived needs the same permission as the call.
var notByChange = []ruletest.Row{
	{"experiments.md §3.7 nor by a change", "bob", "changeexperiment <E>", `{"archived":true}`, `400 invalid_input - Experiment must be ended before it can be archived.`},
}

var stepRefusalRows = flagtest.Rows(
	[]ruletest.Row{{"experiments.md §3.7 a draft", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E"}`}},
	stepsOf("a draft", map[string]string{
		"pause": notLaunched, "resume": notLaunched, "end": notLaunched, "ship_variant": notLaunched, "reset": `400 invalid_input - Experiment is already in draft state.`,
		"archive": `400 invalid_input - Experiment must be ended before it can be archived.`, "unarchive": `400 invalid_input - Experiment is not archived.`,
	}),
	notByChange,
	[]ruletest.Row{{"experiments.md §3.7 running", "bob", "life <E> launch", ``, `{"status":"running"}`}},
	stepsOf("running", map[string]string{
		"launch": launched, "resume": `400 invalid_input - Experiment is not paused.`,
		"archive": `400 invalid_input - Experiment must be ended before it can be archived.`, "unarchive": `400 invalid_input - Experiment is not archived.`,
	}),
	notByChange,
	[]ruletest.Row{{"experiments.md §3.7 paused", "bob", "life <E> pause", ``, `{"status":"paused"}`}},
	stepsOf("paused", map[string]string{"launch": launched, "pause": `400 invalid_input - Experiment is already paused.`, "archive": `400 invalid_input - Experiment must be ended before it can be archived.`}),
	[]ruletest.Row{{"experiments.md §3.7 a paused one ends", "bob", "life <E> end", ``, `{"status":"stopped","feature_flag":{"active":false}}`}},
	stepsOf("ended", map[string]string{"launch": launched, "pause": ended, "resume": ended, "end": ended, "unarchive": `400 invalid_input - Experiment is not archived.`}),
	[]ruletest.Row{{"experiments.md §3.7 archived", "bob", "changeexperiment <E>", `{"archived":true}`, `{"archived":true}`}},
	stepsOf("archived", map[string]string{"launch": launched, "pause": ended, "end": ended, "archive": `400 invalid_input - Experiment is already archived.`}),
	[]ruletest.Row{{"experiments.md §3.7 refusals change nothing", "bob", "getexperiment <E>", ``, `{"status":"stopped","archived":true,"conclusion":null,"feature_flag":{"version":3,"active":false}}`}},
)

// stepsOf returns a row for each refused step of an experiment in a state.
func stepsOf(state string, refusals map[string]string) (out []ruletest.Row) {
	for step, want := range refusals {
		body := ``
		if step == "ship_variant" {
			body = `{"variant_key":"test"}`
		}
		out = append(out, ruletest.Row{"experiments.md §3.7 " + state, "bob", "life <E> " + step, body, want})
	}
	return out
}

var stepBodyRows = flagtest.Rows(
	[]ruletest.Row{{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`}},
	flagtest.Each("experiments.md §3.7 end", "bob", "life <E> end",
		[2]string{`{"conclusion":"draw"}`, `400 invalid_choice conclusion "draw" is not a valid choice.`},
		[2]string{`{"conclusion":""}`, `400 invalid_choice conclusion`},
		[2]string{`{"conclusion_comment":` + flagtest.Text(4001) + `}`, `400 max_length conclusion_comment Ensure this field has no more than 4000 characters.`},
		[2]string{`{"conclusion_comment":7.5,"conclusion":[]}`, `400 * conclusion`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	flagtest.Each("experiments.md §3.7 ship_variant", "bob", "life <E> ship_variant",
		[2]string{`{}`, `400 required variant_key This field is required.`},
		[2]string{`{"variant_key":null}`, `400 null variant_key This field may not be null.`},
		[2]string{`{"variant_key":""}`, `400 blank variant_key This field may not be blank.`},
		[2]string{`{"variant_key":"Test"}`, `400 invalid_input - Variant 'Test' not found on feature flag.`},
		[2]string{`{"variant_key":"test","release_to_everyone":"maybe"}`, `400 invalid_input release_to_everyone Must be a valid boolean.`},
		[2]string{`{"variant_key":"test","conclusion":"draw"}`, `400 invalid_choice conclusion`},
	),
	flagtest.Each("experiments.md §3.7 archive", "bob", "life <E> archive", [2]string{`{"disable_feature_flag":"maybe"}`, `400 invalid_input disable_feature_flag Must be a valid boolean.`}),
	[]ruletest.Row{
		{"experiments.md §3.7 all conclusions", "bob", "life <E> end", `{"conclusion":"inconclusive","conclusion_comment":` + flagtest.Text(4000) + `}`, `{"conclusion":"inconclusive"}`},
		{"experiments.md §3.7 all conclusions", "bob", "changeexperiment <E>", `{"conclusion":"stopped_early"}`, `{"conclusion":"stopped_early"}`},
		{"experiments.md §3.7 all conclusions", "bob", "changeexperiment <E>", `{"conclusion":"invalid","conclusion_comment":""}`, `{"conclusion":"invalid","conclusion_comment":""}`},
		{"experiments.md §3.7 all conclusions", "bob", "changeexperiment <E>", `{"conclusion":"won"}`, `{"conclusion":"won","conclusion_comment":""}`},
		{"clients.md §13 a restart", "bob", "changeexperiment <E>", `{"end_date":null,"conclusion":null,"conclusion_comment":null}`, `{"status":"running","end_date":null,"conclusion":null,"conclusion_comment":null}`},
	},
	flagtest.Each("clients.md §13 End date must be after start date", "bob", "changeexperiment <E>",
		[2]string{`{"end_date":"2026-01-01T00:00:00Z"}`, `400 invalid_input - End date must be after start date`},
		[2]string{`{"end_date":"2025-12-31T00:00:00Z"}`, `400 invalid_input - End date must be after start date`},
		[2]string{`{"end_date":"2026-01-01T00:00:01Z"}`, `{"status":"stopped"}`},
		[2]string{`{"start_date":"2026-01-01T00:00:01Z"}`, `400 invalid_input - End date must be after start date`},
		[2]string{`{"description":"other fields do not matter"}`, `{"status":"stopped"}`},
	),
)

// variantShares returns the variants control and test of a flag in a response.
func variantShares(control, test string) string {
	return `"multivariate":{"variants":[{"key":"control","rollout_percentage":` + control + `},{"key":"test","rollout_percentage":` + test + `}]}`
}

var shipRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"id":1}}`},
	{"experiments.md §3.7 with conditions of its own", "bob", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":10}],"payloads":{"test":"7"},` + variantShares("50", "50") + `}}`, `{"version":2}`},
	{"experiments.md §3.7 that variant 100 %, and the end", "bob", "life <E> ship_variant", `{"variant_key":"test","conclusion":"won"}`, `{"status":"stopped","end_date":"2026-01-02T12:00:03Z","conclusion":"won","conclusion_comment":null,
		"feature_flag":{"version":3,"active":true,"filters":{"groups":[{"properties":[{"key":"plan"}],"rollout_percentage":10}],"payloads":{"test":"7"},` + variantShares("0", "100") + `}}}`},
	{"experiments.md §3.7 an ended one may still ship; its end stays", "bob", "life <E> ship_variant", `{"variant_key":"control"}`, `{"end_date":"2026-01-02T12:00:03Z","conclusion":"won","feature_flag":{"version":4,"filters":{` + variantShares("100", "0") + `}}}`},
	{"experiments.md §3.7 to everyone: a first condition", "bob", "life <E> ship_variant", `{"variant_key":"test","release_to_everyone":true,"conclusion":null}`, `{"conclusion":null,"feature_flag":{"version":5,"filters":{"groups":[
		{"properties":[],"rollout_percentage":100,"description":"Added automatically when the experiment was ended to keep only one variant."},{"properties":[{"key":"plan"}],"rollout_percentage":10}],` + variantShares("0", "100") + `}}}`},
	{"experiments.md §3.7 a paused one ends", "bob", "experiment", `{"name":"F","feature_flag_key":"f","start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"id":2}}`},
	{"experiments.md §3.7 a paused one ends", "bob", "life <F> pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.7 a paused one ends, and its flag stays off", "bob", "life <F> ship_variant", `{"variant_key":"test"}`, `{"status":"stopped","feature_flag":{"active":false,"version":3,"filters":{` + variantShares("0", "100") + `}}}`},
	{"experiments.md §3.7 once more changes nothing of the flag", "bob", "life <F> ship_variant", `{"variant_key":"test"}`, `{"feature_flag":{"version":3}}`},
}

var stepLogRows = []ruletest.Row{
	{"§5.11", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E"}`},
	{"§5.11 the experiment", "cyd", "life <E> launch", ``, `{"status":"running"}`},
	{"§5.11 the experiment", "bob", "log Experiment <E>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"E","changes":[{"field":"feature_flag"},{"field":"start_date","after":"2026-01-02T12:00:02Z"},{"field":"status","before":"draft","after":"running"}]}}`},
	{"§5.11 its flag", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"e","changes":[{"field":"active","before":false,"after":true}]}}`},
	{"§5.11 an end", "ann", "life <E> end", `{"conclusion":"won"}`, `{"status":"stopped"}`},
	{"§5.11 an end", "bob", "log Experiment <E>", ``, `{"user":{"first_name":"ann"},"detail":{"changes":[{"field":"conclusion","after":"won"},{"field":"end_date"},{"field":"status","before":"running","after":"stopped"}]}}`},
	{"§5.11 which leaves the flag", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 a shipped variant is a version", "gus", "life <E> ship_variant", `{"variant_key":"test"}`, `{"feature_flag":{"version":3}}`},
	{"§5.11 a shipped variant is a version", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"filters"}]}}`},
	{"§5.11 a refused step", "gus", "life <E> end", ``, ended},
	{"§5.11 a refused step", "bob", "log Experiment <E>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"feature_flag"}]}}`},
}

// cyd may edit experiment E but not its flag, and view experiment F.
var experimentAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"id":1,"user_access_level":"manager","feature_flag":{"id":1}}`},
	{"clients.md §11.3", "bob", "experiment", `{"name":"F","feature_flag_key":"f"}`, `{"id":2,"feature_flag":{"id":2}}`},
	{"clients.md §11.3", "bob", "experiment", `{"name":"G","feature_flag_key":"g"}`, `{"id":3,"feature_flag":{"id":3}}`},
	{"clients.md §11.3", "ann", "rule feature_flag 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3", "ann", "rule experiment 2", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3", "ann", "rule experiment 3", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 flags: a launch changes the flag", "cyd", "life <E> launch", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 flags: a launch by PATCH does too", "cyd", "changeexperiment <E>", `{"start_date":"2026-01-02T00:00:00Z"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 flags: variants are the flag's", "cyd", "changeexperiment <E>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":10},{"key":"test","rollout_percentage":90}]}}`, flagtest.MayNotEdit},
	{"clients.md §11.3 nothing has changed", "cyd", "getexperiment <E>", ``, `{"status":"draft","user_access_level":"editor","feature_flag":{"active":false,"version":1}}`},
	{"clients.md §11.3 a new name is not the flag's", "cyd", "changeexperiment <E>", `{"name":"E2"}`, `{"name":"E2"}`},
	{"clients.md §11.3 a new name is not the flag's", "bob", "get 1", ``, `{"version":1,"experiment_set":[<E2>]}`},
	{"clients.md §11.3 its author launches it", "bob", "life <E> launch", ``, `{"status":"running"}`},
	{"clients.md §11.3 flags: so does a pause", "cyd", "life <E> pause", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 flags: so does a variant for everybody", "cyd", "life <E> ship_variant", `{"variant_key":"test"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 an end leaves the flag", "cyd", "life <E> end", ``, `{"status":"stopped"}`},
	{"clients.md §11.3 flags: an archive that leaves it", "cyd", "life <E> archive", `{"disable_feature_flag":true}`, flagtest.MayNotEdit},
	{"clients.md §11.3 flags: an archive that leaves it", "cyd", "life <E> archive", ``, `{"archived":true}`},
	{"clients.md §11.3 a viewer of the experiment", "cyd", "getexperiment <F>", ``, `{"user_access_level":"viewer"}`},
	{"clients.md §11.3 a viewer of the experiment", "cyd", "life <F> launch", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer of the experiment", "cyd", "changeexperiment <F>", `{"name":7}`, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer of the experiment", "cyd", "exposures <F>", ``, `{"feature_flag_key":"f"}`},
	{"clients.md §11.3 a viewer of the experiment", "cyd", "copyexperiment <F>", ``, `{"name":"F (Copy)"}`},
	{"clients.md §11.3 a hidden experiment", "cyd", "getexperiment <G>", ``, flagtest.MayNotView},
	{"clients.md §11.3 a hidden experiment", "cyd", "exposures <G>", ``, flagtest.MayNotView},
	{"clients.md §11.3 a hidden experiment", "cyd", "copyexperiment <G>", ``, flagtest.MayNotView},
	{"clients.md §11.3 a hidden experiment", "cyd", "life <G> launch", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 a hidden experiment", "cyd", "analysis 3", ``, `null`},
	{"clients.md §11.3 a hidden experiment", "bob", "analysis 3", ``, `{"FlagKey":"g"}`},
	{"clients.md §11.3 a hidden experiment", "cyd", "experiments", ``, `{"count":2,"results":[{"name":"F (Copy)"},{"name":"F"}]}`},
	{"clients.md §11.3 a hidden flag", "ann", "rule feature_flag 2", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden flag: neither its key nor its variants", "cyd", "getexperiment <F>", ``, `{"feature_flag":null,"feature_flag_key":"","parameters":null}`},
	{"clients.md §11.3 a hidden flag: not its key", "cyd", "exposures <F>", ``, `{"feature_flag_key":"","total":0}`},
	{"clients.md §11.3 a hidden flag is not copied", "cyd", "copyexperiment <F>", ``, flagtest.MayNotView},
	{"clients.md §11.3 viewers of experiments create none", "ann", "rule", `{"access_level":"viewer","resource":"experiment"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of experiments create none", "cyd", "experiment", `{"name":"H","feature_flag_key":"h"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 nor their flags", "bob", "id h", ``, `0`},
	{"clients.md §11.3 viewers of flags create no experiment with a new flag", "ann", "rule", `{"access_level":"editor","resource":"experiment"}`, `{"access_level":"editor"}`},
	{"clients.md §11.3 viewers of flags create no experiment with a new flag", "ann", "rule", `{"access_level":"viewer","resource":"feature_flag"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of flags create no experiment with a new flag", "cyd", "experiment", `{"name":"H","feature_flag_key":"h"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 but a draft with a flag that exists", "cyd", "experiment", `{"name":"H","feature_flag_key":"g"}`, `{"status":"draft","feature_flag":{"id":3,"version":1}}`},
}

var stepDeletedRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"id":1}}`},
	{"§1.5 of another project", "dan", "life <E> end", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 no experiment", "bob", "life 99 end", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 no id", "bob", "life x end", ``, `404 not_found - Not found.`},
	{"experiments.md §3.7 a deleted one", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.7 a deleted one", "bob", "life <E> end", ``, `404 not_found - Not found.`},
	{"experiments.md §3.6 a deleted one comes back", "bob", "changeexperiment <E>", `{"deleted":false}`, `{"deleted":false,"status":"running"}`},
	{"experiments.md §3.6 a restored one is listed", "bob", "experiments", ``, `{"count":1}`},
	{"experiments.md §3.6 not of a deleted flag", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.6 not of a deleted flag", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.6 not of a deleted flag", "bob", "changeexperiment <E>", `{"deleted":false}`,
		`400 invalid_input - Cannot restore experiment: the linked feature flag has been deleted. Restore the feature flag first, then restore the experiment.`},
	{"experiments.md §3.6 nothing has changed", "bob", "experiments", ``, `{"count":0}`},
	{"experiments.md §3.6 of a flag that is back", "bob", "change 1", `{"deleted":false}`, `{"deleted":false,"key":"e"}`},
	{"experiments.md §3.6 of a flag that is back", "bob", "changeexperiment <E>", `{"deleted":false}`, `{"deleted":false,"feature_flag":{"id":1}}`},
	{"experiments.md §3.6 of a flag that is back", "bob", "get 1", ``, `{"experiment_set":[<E>]}`},
}

// A step is one transaction with its flag (experiments.md §3.7): after a failure of any call to the
// store neither the experiment nor the flag has changed.
func TestExperiments_StepsAreAtomic(t *testing.T) {
	faulty := &memstore.Faulty{After: -1}
	w := flagtest.FaultyWorld(t, faulty)
	w.RunFaulty(t, flagtest.RoomCalls(t, w), flagtest.Rows(stepRows[:9], []ruletest.Row{
		{"a shipped variant", "bob", "life <E> ship_variant", `{"variant_key":"test","release_to_everyone":true}`, `{"feature_flag":{"version":6}}`},
		{"a copy", "bob", "copyexperiment <E>", `{"feature_flag_key":"copy"}`, `{"name":"E (Copy)","feature_flag":{"key":"copy","version":1}}`},
		{"a holdout", "bob", "holdout", `{"name":"H",` + tenth + `}`, `{"id":1}`},
		{"a draft with it", "bob", "changeexperiment <E (Copy)>", `{"holdout_id":1}`, `{"holdout_id":1}`},
		{"a changed holdout, its flags and their versions", "bob", "changeholdout 1", `{"filters":[{"rollout_percentage":20}]}`, `{"filters":[{"rollout_percentage":20}]}`},
		{"a deleted holdout", "bob", "dropholdout 1", ``, `null`},
		{"a deleted holdout", "bob", "getexperiment <E (Copy)>", ``, `{"holdout_id":null,"feature_flag":{"version":4,"filters":{"holdout":"(absent)"}}}`},
	}), memstore.ErrDisk, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	})
}
