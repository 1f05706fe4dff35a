package experiments_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// askExposed runs the rows of each table in a World. The call "exposed" sets the result of its
// queries, and "lastquery" returns the last query.
func askExposed(t *testing.T, tables map[string][]ruletest.Row) {
	t.Helper()
	for name, rows := range tables {
		t.Run(name, func(t *testing.T) {
			answer, lastQuery := json.RawMessage(`{}`), json.RawMessage(`null`)
			store := memstore.New(memstore.ExternalData{GroupTypes: map[int64]map[int]string{ruletest.Project: {0: "company"}}, Persons: map[int64][][]string{ruletest.Project: {{"una"}, {"vic", "vic2"}}}})
			w := ruletest.New(t, store, func(c *rooms.Config) {
				c.People = flagtest.SomePeople()
				c.Measure = func(_ context.Context, _ *management.ProjectRecord, query json.RawMessage) (json.RawMessage, error) {
					lastQuery = query
					return answer, nil
				}
			})
			calls := flagtest.RoomCalls(t, w)
			maps.Copy(calls, ruletest.Calls{
				"exposed":   func(_ flagtest.Scope, _, b string) (any, error) { answer = json.RawMessage(b); return nil, nil },
				"lastquery": func(flagtest.Scope, string, string) (any, error) { return lastQuery, nil },
				"exposurecohort": func(scope flagtest.Scope, id, _ string) (any, error) {
					return w.Experiments.CreateExposureCohort(t.Context(), scope, id)
				},
			})
			w.Run(t, calls, rows)
		})
	}
}

func TestExperiments_Exposed(t *testing.T) {
	askExposed(t, map[string][]ruletest.Row{
		"freeze": freezeRows, "refused": freezeRefusalRows, "bounds": freezeBoundRows, "two": freezeTwiceRows, "access": freezeAccessRows, "cohort": exposedCohortRows,
	})
}

const two = `{"people":2,"without_profile":0,"distinct_ids":["una","vic","vic2"]}`

// The rows are numbered by the seconds of their time.
var freezeRows = []ruletest.Row{
	{"experiments.md §3.7", "-", "exposed", two, `null`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z","exposure_criteria":{"filterTestAccounts":false}}`, `{"status":"running"}`},
	{"experiments.md §3.7 with conditions of its own", "bob", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":10},{"properties":[]}],` + variantShares("50", "50") + `}}`, `{"version":2}`},
	{"experiments.md §3.7 freeze: a static cohort is added to every condition", "bob", "life <E> freeze_exposure", ``, `{"status":"exposure_frozen","updated_at":"2026-01-02T12:00:04Z","end_date":null,"exposure_cohort":null,
		"feature_flag":{"version":3,"active":true,"filters":{"groups":[
			{"properties":[{"key":"plan"},{"key":"id","type":"cohort","operator":"in","value":1}],"rollout_percentage":10,"exposure_frozen":true,"exposure_frozen_cohort":1},
			{"properties":[{"key":"id","type":"cohort","operator":"in","value":1}],"exposure_frozen":true,"exposure_frozen_cohort":1}]}}}`},
	{"experiments.md §1.3, §1.5 whom the query asks for", "-", "lastquery", ``, `{"kind":"ExperimentPeopleQuery","start_date":"2026-01-01T00:00:00Z","end_date":null,"exposure_criteria":{"filterTestAccounts":false},"feature_flag":{"key":"e"}}`},
	{"experiments.md §3.7 of the exposed people", "bob", "getcohort 1", ``, `{"is_static":true,"count":2,"name":"Frozen exposure of experiment \"E\"","deleted":false}`},
	{"experiments.md §3.7 already frozen", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - Experiment exposure is already frozen.`},
	{"clients.md §3 status", "bob", "experiments", `{"Status":"exposure_frozen"}`, `{"count":1}`},
	{"clients.md §3 status", "bob", "experiments", `{"Status":"running"}`, `{"count":0}`},
	{"experiments.md §3.6 paused: the flag is off", "bob", "life <E> pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.6 and on again", "bob", "life <E> resume", ``, `{"status":"exposure_frozen"}`},
	{"experiments.md §3.7 a copy is not frozen", "bob", "copyexperiment <E>", `{"feature_flag_key":"e2"}`, `{"status":"draft","feature_flag":{"filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}}`},
	{"experiments.md §3.7 unfreeze: out of the conditions", "bob", "life <E> unfreeze_exposure", ``, `{"status":"running","feature_flag":{"active":true,"filters":{"groups":[{"properties":[{"key":"plan"}],"rollout_percentage":10},{"properties":[]}]}}}`},
	{"experiments.md §3.7 and deleted", "bob", "getcohort 1", ``, `{"deleted":true}`},
	{"experiments.md §3.7 not frozen", "bob", "life <E> unfreeze_exposure", ``, `400 invalid_input - Experiment exposure is not frozen.`},
	{"experiments.md §3.7 frozen once more, by another cohort", "bob", "life <E> freeze_exposure", ``, `{"status":"exposure_frozen","feature_flag":{"filters":{"groups":[{"exposure_frozen_cohort":2},{"exposure_frozen_cohort":2}]}}}`},
	{"experiments.md §3.7 another flag uses the cohort", "bob", "create", `{"key":"other","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"in","value":2}]}]}}`, `{"key":"other"}`},
	{"§5.2 used by active flags", "bob", "life <E> unfreeze_exposure", ``, `400 invalid_input - This cohort is used in 1 active feature flag(s): other. Please remove the cohort from these feature flags before deleting it.`},
	{"§5.2 nothing has changed", "bob", "getexperiment <E>", ``, `{"status":"exposure_frozen","feature_flag":{"filters":{"groups":[{"exposure_frozen_cohort":2},{"exposure_frozen_cohort":2}]}}}`},
	{"experiments.md §3.7 the end", "bob", "life <E> end", ``, `{"status":"stopped"}`},
	{"experiments.md §3.7 an ended one", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - Experiment has already ended.`},
}

var freezeRefusalRows = []ruletest.Row{
	{"experiments.md §3.7", "-", "exposed", two, `null`},
	{"experiments.md §3.10", "bob", "holdout", `{"name":"H","filters":[{"properties":[],"rollout_percentage":10}]}`, `{"id":1}`},
	{"experiments.md §3.7 a draft", "bob", "experiment", `{"name":"E","feature_flag_key":"e","holdout_id":1}`, `{"status":"draft"}`},
	{"experiments.md §3.7 a draft", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - Experiment has not been launched yet.`},
	{"experiments.md §3.7 no holdout", "bob", "life <E> launch", ``, `{"status":"running"}`},
	{"experiments.md §3.7 no holdout", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - The exposure of an experiment with a holdout cannot be frozen.`},
	{"experiments.md §3.7 not paused", "bob", "life <E> pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.7 not paused", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - Experiment is paused: resume it before you freeze its exposure.`},
	{"experiments.md §3.7 not about groups", "bob", "experiment", `{"name":"G","feature_flag_key":"g","parameters":{"aggregation_group_type_index":0},"start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"experiments.md §3.7 not about groups", "bob", "life <G> freeze_exposure", ``, `400 invalid_input - The exposure of an experiment about groups cannot be frozen.`},
	{"experiments.md §3.7 the queries are not asked", "-", "lastquery", ``, `null`},
}

var freezeBoundRows = []ruletest.Row{
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"experiments.md §3.7 ≥ 1 exposure", "-", "exposed", `{"people":0,"without_profile":0,"distinct_ids":[]}`, `null`},
	{"experiments.md §3.7 ≥ 1 exposure", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - Nobody has been exposed to the experiment yet.`},
	{"experiments.md §3.7 ≤ 100,000 people", "-", "exposed", `{"people":100001,"without_profile":0,"distinct_ids":[]}`, `null`},
	{"experiments.md §3.7 ≤ 100,000 people", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - 100001 people have been exposed to the experiment: a cohort of them may have at most 100000.`},
	{"experiments.md §3.7 < 1 % without a profile", "-", "exposed", `{"people":200,"without_profile":2,"distinct_ids":["una"]}`, `null`},
	{"experiments.md §3.7 < 1 % without a profile", "bob", "life <E> freeze_exposure", ``, `400 invalid_input - 2 of 200 exposed people have no profile, so they would lose their variant: this must be less than 1 percent of them.`},
	{"experiments.md §3.7 < 1 % without a profile", "-", "exposed", `{"people":201,"without_profile":2,"distinct_ids":["una"]}`, `null`},
	{"experiments.md §3.7 < 1 % without a profile", "bob", "life <E> freeze_exposure", ``, `{"status":"exposure_frozen"}`},
}

// Two experiments may share a flag.
var freezeTwiceRows = []ruletest.Row{
	{"experiments.md §3.7", "-", "exposed", two, `null`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"F","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"experiments.md §3.7", "bob", "life <E> freeze_exposure", ``, `{"feature_flag":{"filters":{"groups":[{"exposure_frozen_cohort":1}]}}}`},
	{"experiments.md §3.7", "bob", "life <F> freeze_exposure", ``, `{"feature_flag":{"filters":{"groups":[{"properties":[{"value":1},{"value":2}],"exposure_frozen_cohort":2}]}}}`},
	{"experiments.md §3.7 each its own cohort", "bob", "life <E> unfreeze_exposure", ``, `{"status":"running","feature_flag":{"filters":{"groups":[{"properties":[{"value":2}],"exposure_frozen":true,"exposure_frozen_cohort":2}]}}}`},
	{"experiments.md §3.7 each its own cohort", "bob", "life <F> unfreeze_exposure", ``, `{"status":"running","feature_flag":{"filters":{"groups":[{"properties":[]}]}}}`},
}

var freezeAccessRows = []ruletest.Row{
	{"experiments.md §3.7", "-", "exposed", two, `null`},
	{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"clients.md §11.1", "ann", "rule feature_flag 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.1 the flag changes, too", "cyd", "life <E> freeze_exposure", ``, `403 permission_denied`},
	{"clients.md §11.1 and no cohort is left", "bob", "getcohort 1", ``, `404 not_found`},
	{"clients.md §11.1", "ann", "rule experiment 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.1 a viewer", "cyd", "exposurecohort <E>", ``, `403 permission_denied`},
}

var exposedCohortRows = []ruletest.Row{
	{"clients.md §13", "-", "exposed", two, `null`},
	{"clients.md §13", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"status":"draft"}`},
	{"clients.md §13 a draft", "bob", "exposurecohort <E>", ``, `400 invalid_input - Experiment does not have a start date`},
	{"clients.md §13", "bob", "life <E> launch", ``, `{"status":"running"}`},
	{"clients.md §13", "bob", "exposurecohort <E>", ``, `{"cohort":{"id":1,"is_static":true,"count":2,"name":"Users exposed to experiment \"E\"","experiment_set":[1]}}`},
	{"clients.md §13 exposure_cohort", "bob", "getexperiment <E>", ``, `{"exposure_cohort":1,"status":"running"}`},
	{"clients.md §13 once", "bob", "exposurecohort <E>", ``, `400 invalid_input - Experiment already has an exposure cohort`},
	{"clients.md §13 the flag stays", "bob", "get 1", ``, `{"version":2,"filters":{"groups":[{"properties":[]}]}}`},
	{"clients.md §13 nobody yet", "-", "exposed", `{"people":0,"without_profile":0,"distinct_ids":[]}`, `null`},
	{"clients.md §13 nobody yet", "bob", "experiment", `{"name":"F","feature_flag_key":"f","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
	{"clients.md §13 nobody yet", "bob", "exposurecohort <F>", ``, `{"cohort":{"id":2,"count":0}}`},
	{"clients.md §13 there is none", "bob", "exposurecohort 99", ``, `404 not_found`},
}

// Without queries, there are no exposed people.
func TestExperiments_ExposedWithoutQueries(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"freeze": {
		{"experiments.md §3.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"status":"running"}`},
		{"experiments.md §3.7", "bob", "life <E> freeze_exposure", ``, `503 unavailable`},
	}})
}
